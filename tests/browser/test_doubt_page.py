"""The page of golds in doubt: what is decided there is saved as a file that `score --gold_fixes` applies."""

import json
import shutil

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from tests.verbs.doubt.test_doubt import runs  # noqa: F401

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture(scope="module")
def page(base, runs):  # noqa: F811
    path = base / "golds" / "page.html"
    assert main(["doubt", *map(str, runs), "--most", "4", "--html", str(path)]) == 0
    return path


def saved(browser) -> list[dict]:
    """The lines of the file that the page saves, taken where it hands them to the browser."""
    browser.execute_script("URL.createObjectURL = (blob) => { window.saved = blob; return 'about:blank#'; }")
    browser.execute_script("HTMLAnchorElement.prototype.click = () => {}; document.getElementById('download').click()")
    text = browser.execute_async_script("const done = arguments[0]; window.saved.text().then(done)")
    return [json.loads(line) for line in text.splitlines()]


def test_decisions_are_saved_as_a_file_that_is_applied(opened, page, runs, tmp_path):  # noqa: F811
    browser = opened(page)
    cards = browser.find_elements("css selector", "article.doubt")
    assert len(cards) == 4 and browser.find_elements("css selector", "article.doubt img")
    for card, decision in zip(cards, ("wrong", "drop", "right"), strict=False):
        card.find_element("css selector", f"input[value={decision}]").click()
    lines = saved(browser)
    assert [line["decision"] for line in lines] == ["wrong", "drop", "right"]
    assert lines[0]["target"] != lines[0]["gold"] and "target" not in lines[1]
    file, folder = tmp_path / "decisions.jsonl", tmp_path / "run"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shutil.copytree(runs[0], folder)
    assert main(["score", str(folder), "--gold_fixes", str(file)]) == 0
    fixes = RecordedRun.read(folder).results.gold_fixes
    assert fixes is not None and fixes["tasks"] == {"seedbench": {"fixed": 1, "dropped": 1}}


def test_decisions_stay_when_the_page_is_opened_again_and_an_empty_answer_is_refused(opened, page):
    browser = opened(page)
    browser.execute_script("localStorage.clear()")
    browser = opened(page)
    field = browser.find_element("css selector", "article.doubt input[type=text]")
    field.clear()
    field.send_keys(" ")
    assert not browser.find_element("id", "download").is_enabled()
    assert "write the right answer" in browser.find_element("id", "count").text
    field.send_keys("B")
    assert browser.find_element("id", "download").is_enabled()
    browser = opened(page)
    assert browser.find_element("css selector", "article.doubt input[value=wrong]").is_selected()
    assert browser.find_element("css selector", "article.doubt input[type=text]").get_attribute("value").strip() == "B"
