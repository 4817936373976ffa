"""The ways between the pages of a release: to a run, its samples, the same sample of another model, and back after each click."""

import shutil
from pathlib import Path

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.results.release_order import write_release_order
from mm_eval.run_page import write_report
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.page import write_release_page

from .test_report_page import count, detail, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("new_tab")]


@pytest.fixture(scope="module")
def folder(base: Path, perfect: Path, worse: Path) -> Path:
    """A release of two models, as `run --config` leaves it."""
    folder = base / "a release"
    runs = []
    for name, run in (("good", perfect), ("bad one", worse)):
        shutil.copytree(run, folder / name)
        runs.append(RecordedRun.read(folder / name, {"good": "Good", "bad one": "Bad"}[name]))
    write_release_order(folder, {"good": "Good", "bad one": "Bad", "lost": "Lost"})
    for run in runs:
        write_report(run)
    write_release_page(folder / "release.html", release_table(runs))
    return folder


def until(page, holds) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(page, 20).until(lambda _: holds())


def back(page):
    """The page one step back in its history, once it is there.

    Not the driver's `back`: like the browser's button, it skips entries that no person's click made. The script ends before the
    page is left: the driver runs a script again that was cut off by leaving its page, and that goes back twice.
    """
    before = page.current_url
    page.execute_script("setTimeout(() => history.back(), 0)")
    until(page, lambda: page.current_url != before)
    settled = "return document.readyState === 'complete' && document.documentElement.dataset.ready !== undefined"
    until(page, lambda: page.execute_script(settled))
    page.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => setTimeout(done, 0));")
    return page


def hash_of(page) -> str:
    return str(page.execute_script("return location.hash"))


def test_a_run_leads_back_to_its_release_and_on_to_the_same_sample_of_another_model(opened, folder) -> None:
    page = opened(folder / "release.html")
    page.find_element("css selector", "table.heat td a").click()
    assert "/good/report.html#?task=mme" in page.current_url
    page.execute_script("show(7, false, true)")
    assert "mme, doc 7" in detail(page) and hash_of(page) == "#mme/7"
    page.find_element("link text", "Bad").click()
    until(page, lambda: page.current_url.endswith("/bad%20one/report.html#mme/7"))
    assert "mme, doc 7" in wait_for(page, "mme, doc 7")
    back(page)
    assert page.current_url.endswith("/good/report.html#mme/7") and "mme, doc 7" in wait_for(page, "mme, doc 7")
    page.find_element("link text", "Lost").click()
    assert page.find_element("id", "no-page").text == "There is no page with the samples of Lost."
    back(page)
    page.find_element("link text", "← Release").click()
    assert page.current_url.endswith("/release.html")


def test_back_undoes_each_click_on_a_run_page(opened, folder) -> None:
    """A count of a matrix, a sample of the list, a filter: each is an address, and none leaves the page."""
    page = opened(folder / "bad one/report.html")
    cells = "[...document.querySelectorAll('#charts table.confusion button')]"
    page.execute_script(f"{cells}[1].click()")
    cell, of_cell = hash_of(page), count(page)
    assert cell.startswith("#?cell=answer")
    page.execute_script("document.querySelectorAll('#list .row')[1].click()")
    assert hash_of(page).startswith("#mme/")
    page.execute_script("byId('f-result').value = 'right'; byId('f-result').dispatchEvent(new Event('change'))")
    assert "result=right" in hash_of(page) and count(page) != of_cell
    assert hash_of(back(page)).startswith("#mme/")
    assert hash_of(back(page)) == cell and count(page) == of_cell
    assert hash_of(back(page)) == "" and page.execute_script("return !byId('results').hidden")


def test_a_count_of_a_comparison_is_in_its_address(opened, folder) -> None:
    page = opened(folder / "release-compare.html")
    button = page.find_element("css selector", "button.count")
    lost = button.text
    page.execute_script("arguments[0].click()", button)
    address, shown = hash_of(page), count(page)
    assert address.startswith("#?cell=count") and shown == f"{lost} of 420"
    assert hash_of(back(page)) == ""
    assert count(opened(folder / "release-compare.html", address)) == shown
    assert count(opened(folder / "release-compare.html", "#?cell=count%2C999")) == "0 of 420"


def test_back_undoes_each_click_on_the_release_page(opened, folder) -> None:
    page = opened(folder / "release.html")
    page.execute_script("document.querySelector('table.heat thead button').click()")
    hidden = hash_of(page)
    page.execute_script("byId('c-models').value = 'name'; byId('c-models').dispatchEvent(new Event('change'))")
    assert "by=name" in hash_of(page) and hash_of(back(page)) == hidden == "#?hidden=0"
    assert hash_of(back(page)) == ""
    assert page.execute_script("return document.querySelectorAll('table.heat thead .head button').length") == 2
