"""Where links lead: each kind of link is clicked and its target measured, in the file, in a bundle and in `view`.

A target stands below the bar, whatever comes later: pictures, further samples, charts.
"""

import os
import shutil
import socket

import pytest

from mm_eval.cli import main
from mm_eval.verbs.report.site import parts

from .test_site import CUT_OFF, complete, until

pytestmark = pytest.mark.browser
GAP = 18
"""Most pixels between the bar and the target."""
PHONE = 760
"""Widest page on which a sample stands below the list."""


def further(*values):
    """Values that stand in the full set."""
    return [pytest.param(value, marks=pytest.mark.full) for value in values]


PLACE = """const bar = document.getElementById('bar').getBoundingClientRect(), target = document.getElementById(arguments[0]);
const at = target.getBoundingClientRect(), top = document.elementFromPoint(innerWidth / 2, bar.bottom + 40);
return [Math.round(at.top - bar.bottom), Math.round(bar.top), Boolean(top && target.contains(top))]"""

IN_VIEW = "(e) => e.offsetHeight && e.getBoundingClientRect().top < innerHeight && e.getBoundingClientRect().bottom > 0"
RUN_LINKS = {
    "a task's name": ("samples", "document.querySelector('td.name a')"),
    "a count": ("samples", "document.querySelector('td.count a')"),
    "a category": ("samples", "document.querySelector('.bars .choice')"),
    "a cell of a matrix": ("samples", "[...document.querySelectorAll('table.confusion button')].at(-1)"),
    "an example of a finding": ("doc", "document.querySelector('#findings li a')"),
    "the bar: samples": ("samples", "document.getElementById('tab-samples')"),
    "the bar: what went wrong": ("problems", "document.getElementById('tab-problems')"),
    "the bar: how it was asked": ("asked", "document.getElementById('tab-asked')"),
}
ADDRESSES = {
    "#mme/37": "doc",
    "#?task=mme&result=wrong": "samples",
    "#?cell=answer,mme,yes,no": "samples",
    "#samples": "samples",
    "#problems": "problems",
    "#asked": "asked",
}
RELEASE_LINKS = {
    "a number": ("", "table.heat tr:not(.part) td a"),
    "a category's number": ("#?parts=1", "table.heat tr.part td a[href*=category]"),
}
COMPARE_LINKS = {
    "a count of flips": ("samples", "document.querySelector('button.count')"),
    "a cell of a matrix": ("samples", "document.querySelector('table.confusion button')"),
    "the bar: samples": ("samples", "document.getElementById('tab-samples')"),
    "the bar: how they were asked": ("asked", "document.getElementById('tab-asked')"),
}
STUDY_LINKS = {name: where for name, where in COMPARE_LINKS.items() if "matrix" not in name}


def settled(page, ends=True):
    """The page when all its samples are there and its pictures drawn. ends: of a run that goes on more may come."""
    if ends and page.execute_script("return Boolean(about.next)"):
        complete(page)
    until(page, f"[...document.querySelectorAll('#detail img')].filter({IN_VIEW}).every((one) => one.complete)")
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    return page


def landed(page, target, width, ends=True):
    """Whether the target stands below the bar and can be seen."""
    target = target if target != "doc" else "detail" if width <= PHONE else "samples"
    gap, bar, seen = settled(page, ends).execute_script(PLACE, target)
    return 0 <= gap + 1 <= GAP and (abs(bar) <= 1 or target in ("problems", "asked")) and seen


def wrong_landings(page, links, width, back):
    """The kinds of links that do not lead to their target. Each is clicked far down, where the reader is."""
    wrong = []
    for name, (target, element) in links.items():
        opened_at = back()
        opened_at.execute_script(f"{element}.scrollIntoView({{ block: 'center' }}); {element}.click()")
        until(opened_at, "location.hash.length > 1 || currentPart === 'samples'")
        if not landed(opened_at, target, width):
            wrong.append(name)
    return wrong


@pytest.fixture(scope="module")
def landing(base, dummy_run, worse, perfect):
    """The same run in its file and in a bundle with parts of 50 samples, and a comparison."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ROWS", 100)
        patch.setattr(parts, "FIRST", 50)
        assert main(["report", str(dummy_run), str(worse), "--site", str(base / "landing")]) == 0
    assert main(["compare", str(perfect), str(worse), "--html", str(base / "landing-compare.html")]) == 0
    return {
        "file": dummy_run / "report.html",
        "bundle": base / "landing/dummy/report.html",
        "compare": base / "landing-compare.html",
        "index": base / "landing/index.html",
    }


@pytest.fixture(scope="module")
def studies(base, worse, perfect):
    """A study of prompts and a curve."""
    words = "prompts --tasks mme --model dummy --sample --limit 60 --keys default,qwen_vl --output_path"
    assert main([*words.split(), str(base / "landing-prompts")]) == 0
    for step, run in ((100, worse), (200, perfect)):
        shutil.copytree(run, base / f"landing-curve/step-{step:08d}")
    assert main(["report", str(base / "landing-curve")]) == 0
    return {"prompts": base / "landing-prompts/prompts.html", "curve": base / "landing-curve/curve.html"}


def place_of(landing, served, dummy_run, place):
    return f"{served(dummy_run)}dummy/report.html" if place == "view" else landing[place]


@pytest.mark.parametrize("place", ["file", *further("bundle", "view")])
@pytest.mark.parametrize("width", [390, *further(360, 1024, 1400, 2560)])
def test_every_kind_of_link_of_a_runs_page_lands(opened, served, landing, dummy_run, width, place):
    where = place_of(landing, served, dummy_run, place)

    def back():
        return settled(opened(where, width=width))

    assert wrong_landings(opened, RUN_LINKS, width, back) == []


@pytest.mark.parametrize("place", ["bundle", *further("file", "view")])
@pytest.mark.parametrize("width", [390, *further(360, 1024, 1400, 2560)])
def test_every_kind_of_address_lands(opened, served, landing, dummy_run, width, place):
    where = place_of(landing, served, dummy_run, place)
    assert [each for each, to in ADDRESSES.items() if not landed(opened(where, each, width=width), to, width)] == []
    page = opened(where, "#mme/999", width=width)
    assert landed(page, "doc", width) and "no sample mme/999" in page.find_element("id", "detail").text


@pytest.mark.parametrize("name", ["compare", *further("prompts", "curve")])
@pytest.mark.parametrize("width", [1400, *further(360, 390, 1024, 2560)])
def test_every_kind_of_link_of_a_comparison_lands(opened, landing, request, width, name):
    links, pages = COMPARE_LINKS, landing
    if name != "compare":
        links, pages = STUDY_LINKS, request.getfixturevalue("studies")
    assert wrong_landings(opened, links, width, lambda: opened(pages[name], width=width)) == []


@pytest.mark.parametrize("width", [1400, *further(360, 390, 1024, 2560)])
def test_every_kind_of_link_of_a_release_page_lands(opened, landing, width):
    for name, (hash_, link) in RELEASE_LINKS.items():
        page = opened(landing["index"], hash_, width=width)
        page.execute_script(f"document.querySelector({link!r}).click()")
        there = "location.pathname.endsWith('report.html') && Boolean(document.documentElement.dataset.ready)"
        assert until(page, there) and landed(page, "samples", width), name


@pytest.mark.full
@pytest.mark.parametrize("width", [360, 390, 1024, 1400, 2560])
def test_every_kind_of_address_of_a_run_that_goes_on_lands(opened, served, worse, tmp_path, width):
    folder = tmp_path / "live"
    shutil.copytree(worse, folder)
    (folder / "results.json").unlink()
    (folder / "lock").write_text(f"pid {os.getpid()} on {socket.gethostname()}")
    address = f"{served(folder)}live/report.html"
    for hash_, target in {"#mme/37": "doc", "#?task=mme": "samples", "#samples": "samples"}.items():
        page = opened(address, hash_, width=width)
        assert until(page, "rows.length", 420) == 420 and landed(page, target, width, ends=False), hash_


def test_the_bar_stays_and_the_way_back_leads_to_where_one_was(opened, landing):
    page = opened(landing["file"], width=1024)
    page.execute_script("document.querySelector('table.confusion button').scrollIntoView({ block: 'center' })")
    was = page.execute_script("return scrollY")
    assert was > 100 and page.execute_script("return document.getElementById('bar').getBoundingClientRect().top") == 0
    page.find_element("id", "tab-samples").click()
    assert landed(page, "samples", 1024) and page.current_url.endswith("#samples")
    page.back()
    assert until(page, "currentPart", "results") == "results"
    assert abs(page.execute_script("return scrollY") - was) <= 1


@pytest.mark.parametrize("width", [390])
def test_a_phone_shows_a_sample_alone_and_leads_back_to_the_list(opened, landing, width):
    page = opened(landing["file"], "#samples", width=width)
    page.execute_script("document.querySelectorAll('.row')[2].click()")
    assert landed(page, "detail", width)
    page.execute_script("document.querySelector('#detail .head button.on-narrow').click()")
    assert landed(page, "samples", width)


@pytest.mark.parametrize("width", [360, 390])
@pytest.mark.parametrize("name", ["file", "index", "compare"])
def test_the_first_number_is_on_a_phones_first_screen(opened, landing, name, width):
    page = opened(landing[name], width=width)
    first = page.execute_script(
        "return [...document.querySelectorAll('td.n, td .value')].filter((e) => /\\d/.test(e.innerText))"
        "[0].getBoundingClientRect().bottom + scrollY"
    )
    assert first < 600


@pytest.mark.parametrize("dark", [True, *further(False)])
@pytest.mark.parametrize("width", [360, *further(390, 1024, 1400, 2560)])
def test_no_part_is_cut_off_and_texts_of_charts_are_of_one_size(opened, landing, width, dark):
    for name, kinds in (("file", ("results", "samples", "problems", "asked")), ("compare", ("results", "asked"))):
        for part in kinds:
            page = settled(opened(landing[name], f"#{part}", width=width, dark=dark))
            assert page.execute_script(CUT_OFF) == [], (name, part)
            if part == "results":
                sizes = page.execute_script(
                    "return [...new Set([...document.querySelectorAll('.bars > :nth-child(4n + 1)')]"
                    ".map((e) => getComputedStyle(e).fontSize))]"
                )
                heights = page.execute_script(
                    "return [...new Set([...document.querySelectorAll('.bars .track')]"
                    ".map((e) => Math.round(e.getBoundingClientRect().height)))]"
                )
                assert len(sizes) <= 1 and len(heights) <= 1
