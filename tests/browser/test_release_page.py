"""The page of a release in a real browser: the table, its links, order and filters, on narrow screens and large."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.report.release import average
from mm_eval.verbs.report.release.numbers import Reported, release_table
from mm_eval.verbs.report.release.page import write_release_page
from tests.sets import few

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
    assert "it was interrupted" in notes and "sample data" in browser.find_element("id", "top").text


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


def test_numbers_come_first_and_all_shares_have_one_scale(opened, base, perfect, worse, dummy_run) -> None:
    """Without a significant difference no cell has a colour, and no mark that is not there is explained."""
    runs = [RecordedRun.read(dummy_run, "a"), RecordedRun.read(dummy_run, "b")]
    browser = opened(write_release_page(base / "equal.html", release_table(runs)))
    drawn = browser.execute_script(
        """const cells = [...document.querySelectorAll('table.heat td')];
        return cells.filter((td) => td.querySelector('.whisker')).map((td) => {
          const [line, mark] = ['.track', '.whisker'].map((one) => td.querySelector(one).getBoundingClientRect());
          const ends = [mark.left, mark.right].map((x) => 100 * (x - line.left) / line.width);
          const name = td.closest('tr').firstChild.innerText.trim();
          return [name, td.querySelector('.interval small').textContent, ...ends]; })"""
    )
    assert any(name.startswith("▸seedbench") for name, *_ in drawn)
    for name, text, low, high in drawn:
        ends = [float(end) for end in text.split(" – ")]
        most = 100 if "seedbench" in name else 2000
        assert low == pytest.approx(100 * ends[0] / most, abs=2.5) and high == pytest.approx(
            100 * ends[1] / most, abs=2.5
        )
    style = "[...document.querySelectorAll('table.heat td')].map((td) => td.style.backgroundColor)"
    assert set(browser.execute_script(f"return {style}")) == {""}
    legend = browser.find_element("id", "legend").text
    assert "Grey" in legend and not any(mark in legend for mark in ("Blue", "#1=", "Hatched", "⚠", "¶", "§", "*"))
    runs = [RecordedRun.read(perfect, "good"), RecordedRun.read(worse, "bad")]
    browser = opened(write_release_page(base / "ranked.html", release_table(runs)))
    colours = browser.execute_script(f"return {style}")
    assert [bool(colour) for colour in colours[:2]] == [True, False]
    assert "Blue" in browser.find_element("id", "legend").text


def test_models_in_order_by_size_and_by_ability(opened, base, perfect, worse, dummy_run, monkeypatch) -> None:
    """The lists order and filter the models, the address keeps both, and colours stay with their models."""
    runs = [RecordedRun.read(dummy_run, name) for name in ("b", "a", "c")]
    runs[1].results.run.facts["parameters"] = 7_000_000_000
    runs[2].results.run.facts["parameters"] = 2_000_000_000
    table = release_table(runs)
    [row] = [row for row in table.shown() if row[0] == "seedbench"]
    table.rows[("other", "acc")] = others = {name: replace(found) for name, found in table.rows[row].items()}
    tags = {id(found): ["general", "ocr", "chart"] for found in others.values()}
    monkeypatch.setattr(average, "_tags", lambda found: tags.get(id(found), ["general", "counting"]))
    table.headlines.add(("other", "acc"))
    for place, column in enumerate(("b", "a", "c")):
        table.rows["mme", "mme_perception_score"][column].rank = place + 1
    browser = opened(write_release_page(base / "orders.html", table))
    names = "return [...document.querySelectorAll('table.heat thead .head')].map(h => h.innerText.split(/[ \\n✕]/)[0])"
    dots = "return [...document.querySelectorAll('#every .dots .lanes')][0].innerHTML.match(/rgb[^;]*/g)"
    given = browser.execute_script(dots)
    choose = "byId(arguments[0]).value = arguments[1]; byId(arguments[0]).dispatchEvent(new Event('change'))"
    for by, expected in (("name", "abc"), ("size", "cab"), ("rank", "bac"), ("", "bac")):
        browser.execute_script(choose, "c-models", by)
        assert browser.execute_script(names) == list(expected), by
    browser.execute_script(choose, "c-models", "name")
    assert browser.execute_script(dots) == [given[1], given[0], given[2]], "a colour is a model's own in every order"
    browser.execute_script(choose, "c-size", "middle")
    assert browser.execute_script(names) == ["a"]
    opened(base / "orders.html", browser.execute_script("return location.hash"))
    assert browser.execute_script(names) == ["a"]
    ranks = browser.find_elements("css selector", "tr.ranks td")
    assert [rank.text for rank in ranks] == ["1.33"]
    opened(base / "orders.html")
    labels = browser.find_elements("css selector", ".abilities > span[title]")
    assert [one.text.split("\n")[0] for one in labels] == ["general", "counting", "ocr, chart"], "equal ones are one"
    ability = browser.find_elements("css selector", ".abilities .lanes")
    assert len(ability) > 1 and all(len(one.find_elements("css selector", ".bar")) == 3 for one in ability)
    assert ability[0].find_elements("css selector", ".whisker")
    chances = browser.find_elements("css selector", "#every .chance")
    assert chances and {one.get_attribute("style") for one in chances} == {"left: 25%;"}


@pytest.mark.parametrize("width", few([360, 768, 1280, 2560], at=(0, 2)))
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off(opened, release: Path, width: int, dark: bool) -> None:
    browser = opened(release, "#?parts=1", width, dark)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    cut = (
        "[...document.querySelectorAll('table.heat td, table.heat th')].filter(c => c.scrollWidth > c.clientWidth + 1)"
    )
    assert browser.execute_script(f"return {cut}.length") == 0


@pytest.mark.full
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


@pytest.mark.parametrize("width", few([360, 768, 1280, 2560], at=(0, 2)))
def test_charts_are_readable_at_each_width(opened, release: Path, width: int) -> None:
    """Their text keeps its size, and no name stands on another one or beyond the frame."""
    browser = opened(release, width=width)
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    scales = browser.execute_script(
        "return [...document.querySelectorAll('#drawings svg')]"
        ".map(s => s.getBoundingClientRect().width / s.viewBox.baseVal.width)"
    )
    assert len(scales) == 1 and min(scales) > 0.85
    sizes = "[...document.querySelectorAll('.bars > span:first-child, .dots > span:first-child')]"
    assert len(set(browser.execute_script(f"return {sizes}.map(e => getComputedStyle(e).fontSize)"))) == 1
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


def test_the_first_chart_is_what_the_data_can_show(opened, base, perfect, worse, dummy_run) -> None:
    """Two models are no cloud of dots; two benchmarks in percent are lines with a dot for each model."""
    two = release_table([RecordedRun.read(perfect, "good"), RecordedRun.read(worse, "worse")])
    browser = opened(write_release_page(base / "two.html", two))
    assert not browser.find_elements("css selector", "#chart svg, #chart .dots"), "one benchmark of points"
    assert len(browser.find_elements("css selector", "#drawings .bars .bar")) == 2
    cell = browser.find_element("css selector", "td.difference")
    assert cell.text.startswith("-") and " *" in cell.text and "p <0.001, <0.001 corrected" in cell.text
    link = cell.find_element("css selector", "a").get_attribute("href")
    assert browser.find_element("link text", "by document").get_attribute("href") == link.partition("#")[0]
    opened(base / "two-compare.html", "#" + link.partition("#")[2])
    assert browser.execute_script("return byId('f-task').value") == "mme"
    browser.find_element("link text", "← Release").click()
    assert browser.current_url.endswith("/two.html")
    assert browser.execute_script("return document.getElementById('h-axis').parentElement.hidden")
    table = release_table([RecordedRun.read(dummy_run, "a"), RecordedRun.read(dummy_run, "b")])
    [row] = [row for row in table.shown() if row[0] == "seedbench"]
    table.rows[("other", "acc")] = table.rows[row]
    table.headlines.add(("other", "acc"))
    browser = opened(write_release_page(base / "dots.html", table))
    lines = browser.find_elements("css selector", "#every .dots:not(.abilities) .lanes")
    assert len(lines) >= 2 and all(len(line.find_elements("css selector", ".dot")) == 2 for line in lines)


def test_a_page_for_posting_has_a_title_and_says_what_a_link_shows(opened, base, perfect, worse) -> None:
    out = base / "titled.html"
    words = ["report", str(perfect), str(worse), "--output", str(out), "--title", f"Ours & theirs {ODD}"]
    assert main(words) == 0
    browser = opened(out)
    assert browser.find_element("css selector", "h1").text == f"Ours & theirs {ODD}" == browser.title
    meta = "return document.querySelector(`meta[property='${arguments[0]}']`)?.content"
    assert browser.execute_script(meta, "og:title") == browser.title
    sentence = browser.find_element("css selector", ".sentence").text
    assert browser.execute_script(meta, "og:description") == sentence and "perfect.jsonl" in sentence
    assert browser.execute_script(meta, "og:image") is None, "a file of its own has no picture beside it"
    assert browser.execute_script("return window.attacked") is None


@pytest.mark.full
def test_a_bundle_has_the_picture_of_its_links(base, perfect, worse, capsys) -> None:
    from PIL import Image

    folder = base / "posted"
    words = ["report", str(perfect), str(worse), "--site", str(folder), "--title", "Ours"]
    assert main([*words, "--url", "example.org"]) == 2 and "--url is the address" in capsys.readouterr().err
    assert main([*words, "--url", "https://example.org/ours/"]) == 0
    text = (folder / "index.html").read_text()
    assert '<meta property="og:image" content="https://example.org/ours/preview.png">' in text
    with Image.open(folder / "preview.png") as picture:
        assert picture.size == (1200, 630) and len(picture.convert("RGB").getcolors(1 << 20)) > 20


def test_a_frame_shows_the_table_alone_and_its_links_leave_the_frame(opened, release: Path) -> None:
    browser = opened(release, "?embed")
    shown = browser.execute_script("return ['table', 'options', 'chart'].map((id) => byId(id).offsetHeight > 0)")
    assert shown == [True, False, False]
    assert browser.find_element("css selector", "table.heat td a").get_attribute("target") == "_blank"


def test_paper_gets_the_table_and_no_controls(opened, release: Path) -> None:
    browser = opened(release)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        shown = browser.execute_script("return ['table', 'options'].map((id) => byId(id).offsetHeight > 0)")
        assert shown == [True, False]
        assert not any(one.is_displayed() for one in browser.find_elements("css selector", "table.heat button"))
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
