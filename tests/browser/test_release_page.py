"""The page of a release in a real browser: the table, its links, order and filters, on narrow screens and large."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.features.report.release.numbers import Reported, release_table
from mm_eval.features.report.release.page import write_release_page
from mm_eval.results.recorded import RecordedRun

ODD = "</script><script>window.attacked=1</script>|7B"


@pytest.fixture(scope="session")
def release(base, perfect, worse, dummy_run) -> Path:
    runs = [RecordedRun.read(perfect, "good"), RecordedRun.read(worse, ODD), RecordedRun.read(dummy_run, "dummy")]
    reported = [Reported("good", "mme", "mme_perception_score", 1880.0, 30.0, "arXiv:1")]
    return write_release_page(base / "release.html", release_table(runs, reported, {"lost": "it was interrupted"}))


def cells(browser) -> list[list[str]]:
    script = (
        "return [...document.querySelectorAll('table.heat tbody tr')].map(r => [...r.children].map(c => c.innerText))"
    )
    return browser.execute_script(script)


def test_the_table_has_every_model_and_its_hole(opened, release: Path) -> None:
    browser = opened(release)
    heads = browser.execute_script("return [...document.querySelectorAll('table.heat thead th')].map(h => h.innerText)")
    assert [head.split("✕")[0].strip() for head in heads] == ["benchmark", "good", ODD, "dummy", "lost"]
    rows = cells(browser)
    assert rows[0][0].startswith("▸mme") and rows[0][-1] == "–", "one row a benchmark; its other numbers open below it"
    assert "#1" in rows[0][1] and "matches" in rows[0][1] or "off by" in rows[0][1]
    assert browser.execute_script("return window.attacked") is None
    notes = browser.find_element("id", "notes").text
    assert "it was interrupted" in notes and "Sample data" in browser.find_element("id", "top").text


def test_a_number_opens_the_samples_behind_it(opened, release: Path) -> None:
    browser = opened(release)
    links = browser.execute_script(
        "return [...document.querySelectorAll('table.heat td a')].map(a => a.getAttribute('href'))"
    )
    assert links and not any(link.startswith(("http", "/", "file:")) for link in links)
    assert "perfect/report.html#?task=mme" in links
    page, _, hash_ = next(link for link in links if "dummy" in link and "seedbench" in link).partition("#")
    opened(release.parent / page, f"#{hash_}")
    assert browser.execute_script("return document.getElementById('f-task').value") == "seedbench"
    count, every = browser.find_element("id", "count").text.split(" of ")
    assert int(count) < int(every)


def test_a_categorys_number_opens_its_samples(opened, release: Path) -> None:
    browser = opened(release, "#?parts=1")
    script = "return [...document.querySelectorAll('table.heat tr.part td a')].map(a => a.getAttribute('href'))"
    link = next(each for each in browser.execute_script(script) if "Scene" in each)
    page, _, hash_ = link.partition("#")
    opened(release.parent / page, f"#{hash_}")
    assert browser.execute_script("return document.getElementById('f-category').value") == "Scene Understanding"
    assert browser.execute_script("return document.querySelectorAll('#list .row').length") > 0


def test_order_filter_hide_and_the_address_that_keeps_them(opened, release: Path) -> None:
    browser = opened(release)
    before = cells(browser)
    browser.execute_script(
        "const t = document.getElementById('c-text'); t.value = 'seed'; t.dispatchEvent(new Event('input'))"
    )
    assert 0 < len(cells(browser)) < len(before) and all(row[0].startswith(("seed", "▸")) for row in cells(browser))
    browser.execute_script("document.querySelector('table.heat thead button').click()")
    assert len(cells(browser)[0]) == len(before[0]) - 1
    kept = browser.execute_script("return location.hash")
    opened(release, kept)
    assert len(cells(browser)[0]) == len(before[0]) - 1 and len(cells(browser)) < len(before)
    browser.execute_script(
        "const c = document.getElementById('c-columns'); c.selectedIndex = 1; c.dispatchEvent(new Event('change'))"
    )
    assert len(cells(browser)[0]) == len(before[0])


def test_columns_in_the_order_of_a_row(opened, release: Path) -> None:
    browser = opened(release)
    browser.execute_script("document.querySelector('table.heat tbody button[aria-pressed]').click()")
    numbers = "[...document.querySelector('table.heat tbody tr').querySelectorAll('.value')]"
    values = browser.execute_script(f"return {numbers}.map(value => Number(value.textContent))")
    assert len(values) == 3
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off(opened, release: Path, width: int, dark: bool) -> None:
    browser = opened(release, "#?parts=1", width, dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    cut = (
        "[...document.querySelectorAll('table.heat td, table.heat th')].filter(c => c.scrollWidth > c.clientWidth + 1)"
    )
    assert browser.execute_script(f"return {cut}.length") == 0


def test_six_models_by_thirty_benchmarks_load_and_filter_quickly(opened, base, perfect) -> None:
    run = RecordedRun.read(perfect)
    table = release_table([run])
    [numbers] = [found for row, found in table.rows.items() if row[1] == "mme_perception_score"]
    [one] = numbers.values()
    table.columns = [f"model {n}" for n in range(6)]
    table.rows = {(f"task_{n}", "acc"): {name: replace(one) for name in table.columns} for n in range(30)}
    table.headlines = set(table.rows)
    table.categories = {
        row: {("level", f"part {n}"): dict(found) for n in range(30)} for row, found in table.rows.items()
    }
    browser = opened(write_release_page(base / "large.html", table), "#?parts=1")
    assert len(cells(browser)) == 30 * 31
    assert int(browser.execute_script("return document.documentElement.dataset.ready")) < 2000
    script = (
        "const field = document.getElementById('c-text'), before = performance.now(); field.value = 'task_7';"
        "field.dispatchEvent(new Event('input')); return performance.now() - before"
    )
    assert min(browser.execute_script(script) for _ in range(5)) < 200, "the least of five: other processes run, too"


def test_the_data_in_the_page_is_strict_json_and_names_no_server(release: Path) -> None:
    text = release.read_text()
    data = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    json.loads(data, parse_constant=lambda name: pytest.fail(name))
    assert 'src="http' not in text and 'href="http' not in text


@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_charts_are_readable_at_each_width(opened, release: Path, width: int) -> None:
    """Their text keeps its size, and no name stands on another one or beyond the frame."""
    browser = opened(release, width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    scales = browser.execute_script(
        "return [...document.querySelectorAll('#drawings svg:not(.radar)')]"
        ".map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    )
    assert len(scales) == 2 and min(scales) > 0.85
    overlaps = browser.execute_script(
        """const names = [...document.querySelectorAll('#drawings svg')].flatMap(s => [...s.querySelectorAll('text')]
          .map(t => t.getBoundingClientRect()).flatMap((a, at, all) => all.slice(at + 1).filter(b =>
            a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)));
        return names.length"""
    )
    assert overlaps == 0


def test_the_scatter_begins_with_what_the_runs_recorded(opened, release: Path) -> None:
    browser = opened(release)
    assert browser.execute_script("return document.getElementById('h-axis').value") == "seconds"
    assert "No run recorded this" not in browser.find_element("id", "drawings").text
