"""The pages of a bundle and of `mm-eval view` in a browser: samples come in parts, pictures are there in full size."""

import json
import os
import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.results.media import Media
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.page import write_release_page
from mm_eval.verbs.report.site import parts
from tests.recorded import set_count

from .test_report_page import choose, count, detail, search

pytestmark = pytest.mark.browser


def until(page, script, wanted=True):
    """The script's value once it is the wanted one, or what it is after a minute."""
    for _ in range(3000):
        if (found := page.execute_script(f"return {script}")) == wanted:
            break
        time.sleep(0.02)
    return found


def complete(page):
    assert until(page, "Boolean(document.documentElement.dataset.complete)")
    return page


@pytest.fixture(scope="module")
def bundle(base, perfect, worse, dummy_run):
    """Three runs as a bundle, with parts of 100 samples, at another place than it was written to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ROWS", 100)
        patch.setattr(parts, "FIRST", 50)
        assert main(["report", str(perfect), str(worse), str(dummy_run), "--site", str(base / "written")]) == 0
    shutil.move(base / "written", base / "moved")
    return base / "moved"


@pytest.mark.full
def test_a_moved_bundle_opens_from_disk_with_all_its_samples(opened, bundle):
    page = complete(opened(bundle / "dummy/report.html", "#?task=seedbench"))
    assert count(page) == "252 of 672" and len(list((bundle / "dummy/rows").glob("*.js"))) == 8
    assert page.execute_script("return document.querySelectorAll('#charts .bars').length") >= 2
    choose(page, "f-category", "Instance Identity")
    assert count(page) == "24 of 672"
    assert page.get_log("browser") == []


def test_the_parts_hold_what_the_page_of_the_run_holds(opened, bundle, worse):
    script = "return JSON.stringify(rows.map((r) => [r.d, r.p, r.g, r.a, r.ok]))"
    alone = opened(worse / "report.html").execute_script(script)
    assert complete(opened(bundle / "worse/report.html")).execute_script(script) == alone


def test_an_address_opens_a_sample_of_a_later_part(opened, bundle):
    page = complete(opened(bundle / "worse/report.html", "#mme/388"))
    assert "mme, doc 388" in detail(page) and page.current_url.endswith("#mme/388")


def test_the_answers_of_all_runs_stand_beside_each_other(opened, bundle):
    page = complete(opened(bundle / "worse/report.html", "#mme/12"))
    boxes = page.execute_script("return [...document.querySelectorAll('.answers section')].map((e) => e.innerText)")
    tops = page.execute_script(
        "return [...document.querySelectorAll('.answers section')].map((e) => e.getBoundingClientRect().top)"
    )
    assert len(boxes) == 3 and len(set(tops)) == 1
    assert [box.split("\n")[0] for box in boxes][1:] == [
        "Answer in perfect.jsonl (wrong)",
        "Answer in dummy (unparsed)",
    ]


def test_a_picture_opens_in_full_size(opened, bundle):
    page = complete(opened(bundle / "dummy/report.html", "#mme/0"))
    page.find_element("css selector", "#detail button.zoom").click()
    assert until(page, "document.querySelector('dialog.zoom img').naturalWidth > 0")
    source = page.execute_script("return document.querySelector('dialog.zoom img').getAttribute('src')")
    assert (bundle / "dummy" / source).resolve().is_file() and source.startswith("../pictures/")
    page.find_element("css selector", "dialog.zoom button").click()
    assert until(page, "document.querySelectorAll('dialog').length", 0) == 0


def test_a_page_in_parts_opens_on_failures(opened, base, odd):
    assert main(["report", str(odd), "--site", str(base / "odd-bundle")]) == 0
    page = complete(opened(base / "odd-bundle/odd/report.html", "#samples"))
    assert count(page) == "12 of 40" and "unparsed" in page.find_element("id", "only").text
    search(page, "no doc says this")
    assert count(page) == "0 of 40"


def test_a_copied_page_says_where_the_pictures_are_that_it_does_not_hold(
    opened, base, dummy_run, monkeypatch, tmp_path
):
    folder = tmp_path / "run"
    shutil.copytree(dummy_run, folder)
    with Media(folder) as media:
        digests = list(media._places)
        for digest in digests[3:]:
            path = media._loose(digest)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(media.content(digest))
    pack = folder / "media/thumbnails.jsonl"
    pack.write_text("".join(pack.read_text().splitlines(keepends=True)[:3]))
    write_report(RecordedRun.read(folder))
    whole = opened(folder / "report.html", "#mme/100")
    assert until(whole, "document.querySelector('#detail .pictures img').naturalWidth > 20")
    assert f"{len(digests) - 3} pictures are not in this file" in whole.find_element("id", "outside").text
    copy = shutil.copy(folder / "report.html", tmp_path / "copy.html")
    page = opened(Path(copy), "#mme/100", broken=True)
    assert until(page, "!document.querySelector('#detail .pictures img')")
    assert f"look in media/ of {folder}" in detail(page)
    page = opened(Path(copy), "#mme/0", broken=True)
    assert until(page, "document.querySelector('#detail .pictures img').naturalWidth > 20"), "the first three are in it"


def test_a_copied_release_page_names_the_pages_with_the_samples(opened, perfect, worse, tmp_path):
    assert main(["report", str(perfect), str(worse), "--output", str(tmp_path / "release.html")]) == 0
    apart = opened(tmp_path / "release.html").find_element("id", "apart").text
    assert f"{perfect}/report.html" in apart and f"{worse}/report.html" in apart and "--site DIR" in apart


def test_the_release_page_of_a_bundle_leads_to_its_own_pages(opened, bundle):
    page = opened(bundle / "index.html")
    links = page.execute_script(
        "return [...document.querySelectorAll('table.heat td a')].map((a) => a.getAttribute('href'))"
    )
    assert links and {link.partition("/")[0] for link in links} == {"perfect", "worse", "dummy"}
    assert all((bundle / link.partition("#")[0]).is_file() for link in links)
    assert not page.find_elements("id", "apart")


CUT_OFF = """const out = [], scrolls = (e) => /auto|scroll/.test(getComputedStyle(e).overflowX);
for (const one of document.body.querySelectorAll('*')) {
  const box = one.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1 && box.left >= -1) continue;
  let above = one;
  while (above && !scrolls(above)) above = above.parentElement;
  if (!above) out.push(one.outerHTML.slice(0, 120));
}
return document.documentElement.scrollWidth > innerWidth ? ['the page scrolls sideways', ...out] : out;"""


@pytest.mark.parametrize("width", [360, 2560])
def test_nothing_is_cut_off_on_a_phone_or_a_large_screen(opened, bundle, base, dummy_run, width):
    table = release_table([RecordedRun.read(dummy_run)])
    [one, *_] = table.rows.values()
    [number] = one.values()
    table.columns = [f"a-model-with-a-long-name-{n}-instruct" for n in range(6)]
    table.rows = {(f"benchmark_{n}", "acc"): {name: replace(number) for name in table.columns} for n in range(30)}
    table.headlines = set(table.rows)
    large = write_release_page(base / f"large-{width}.html", table)
    for page in (bundle / "index.html", bundle / "dummy/report.html", large):
        browser = opened(page, width=width)
        assert browser.execute_script(CUT_OFF) == [], page


def test_the_server_shows_the_runs_their_samples_and_pictures(opened, served, worse, perfect):
    address = served(worse, perfect)
    page = opened(address)
    links = page.execute_script(
        "return [...document.querySelectorAll('table.heat td a')].map((a) => a.getAttribute('href'))"
    )
    assert "worse/report.html#?task=mme" in links
    page = complete(opened(f"{address}worse/report.html", "#?result=lost"))
    assert count(page) == "10 of 420" or count(page) == "130 of 420"
    page = complete(opened(f"{address}worse/report.html", "#mme/12"))
    page.find_element("css selector", "#detail button.zoom").click()
    assert until(page, "document.querySelector('dialog.zoom img').naturalWidth > 0")


def test_a_live_run_fills_its_page_until_it_ends(opened, served, worse, tmp_path):
    folder = tmp_path / "live"
    shutil.copytree(worse, folder)
    [journal] = folder.glob("journal/*.jsonl")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:100]) + lines[100][:30])
    (folder / "results.json").rename(tmp_path / "results.json")
    (folder / "lock").write_text(f"pid {os.getpid()} on {socket.gethostname()}")
    page = opened(f"{served(folder)}live/report.html", "#?text=cross")
    assert until(page, "rows.length", 100) == 100
    assert "100 of 420 have an answer" in page.find_element("id", "top").text
    shown = count(page)
    journal.write_text("".join(lines))
    assert until(page, "rows.length", 420) == 420 and count(page) != shown
    assert page.execute_script("return document.getElementById('f-text').value") == "cross"
    (tmp_path / "results.json").rename(folder / "results.json")
    os.utime(folder / "results.json")
    assert until(page, "document.getElementById('says')?.textContent.includes('has ended')")
    page.refresh()
    assert count(complete(page)).endswith(" of 420") and page.execute_script("return about.kind") == "run"
    assert page.get_log("browser") == []


def test_a_run_that_stopped_before_its_first_answer_says_so(opened, served, worse, tmp_path):
    folder = tmp_path / "live"
    shutil.copytree(worse, folder)
    (folder / "results.json").unlink()
    [journal] = folder.glob("journal/*.jsonl")
    journal.unlink()
    (folder / "lock").unlink()
    page = opened(f"{served(folder)}live/report.html")
    assert until(page, "document.getElementById('says')?.textContent.includes('has stopped without results')")
    assert page.find_element("id", "state").text == "mme: the run has stopped"
    assert page.find_element("id", "detail").text == "There is no answer yet."


@pytest.mark.slow
def test_100000_samples_load_and_filter_quickly(opened, base, dummy_run):
    """Under 2 s of the page's thread, and 0.2 s by the clock for the quickest of three filters: other processes run, too."""
    folder = base / "huge"
    shutil.copytree(dummy_run, folder)
    rows = [json.loads(line) for line in (dummy_run / "samples/mme.jsonl").read_text().splitlines()]
    with (folder / "samples/mme.jsonl").open("w") as file:
        for doc_id in range(100_000):
            file.write(json.dumps({**rows[doc_id % len(rows)], "doc_id": doc_id}) + "\n")
    (folder / "samples/seedbench.jsonl").write_text("")
    set_count(folder, "mme", 100_000)
    set_count(folder, "seedbench", 0)
    addresses = {"thumbnails": "t/", "full": "f/", "listed": True}
    parts.write_run_page(folder / "site", RecordedRun.read(folder), {}, addresses, lambda row: {})
    for path in (write_report(RecordedRun.read(folder)), folder / "site/report.html"):
        opened(base / "dummy/report.html").execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        page = opened(path, "#?result=", broken=True)
        assert any(until(page, "rows.length", 100_000) == 100_000 for _ in range(10))
        metrics = page.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        page.execute_cdp_cmd("Performance.disable", {})
        spent = next(each["value"] for each in metrics if each["name"] == "TaskDuration")
        script = (
            "const e = document.getElementById('f-result'), from = performance.now(); e.value = arguments[0];"
            "e.dispatchEvent(new Event('change')); return performance.now() - from"
        )
        took = [page.execute_script(script, name) for name in ("wrong", "", "unparsed")]
        assert spent < 2 and min(took) < 200, (path, spent, took)
