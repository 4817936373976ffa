"""Pages on several runs: a comparison that goes on, and the curve of a training."""

import shutil
import time

import pytest

from mm_eval import evaluate
from mm_eval.cli import main
from tests.processes import HANGS
from tests.verbs.training.studies import gold_of, write_step

pytestmark = [pytest.mark.browser, pytest.mark.full]
TASK = "seedbench"


def test_a_comparison_is_drawn_again_as_answers_come_in(opened, served, tmp_path):
    for name in ("a", "b"):
        evaluate(TASK, "dummy", sample=True, limit=40, report=False, output_path=str(tmp_path / name))
    [journal] = (tmp_path / "b" / "journal").iterdir()
    whole = journal.read_text()
    journal.write_text("".join(whole.splitlines(keepends=True)[:20]))
    (tmp_path / "b" / "results.json").unlink()
    browser = opened(served(tmp_path / "a", tmp_path / "b") + "together/anytime.html")
    assert "20 of 40 documents" in browser.find_element("id", "overview").text
    assert not browser.find_element("id", "samples").is_displayed()
    journal.write_text(whole)
    until = time.monotonic() + HANGS
    while "40 of 40" not in (text := browser.find_element("id", "overview").text) and time.monotonic() < until:
        time.sleep(0.2)
    assert text.count("at any time") == 1 and "40 of 40" in text and browser.get_log("browser") == []


def test_the_curve_is_drawn_and_a_count_shows_its_docs(opened, tmp_path):
    gold, study = gold_of(tmp_path / "gold", TASK, limit=20), tmp_path / "study"
    for step, right in ((1, 5), (2, 15), (3, 14)):
        write_step(study, step, TASK, gold, lambda row, right=right: row["doc_id"] < right, limit=20)
    assert main(["report", str(study)]) == 0
    browser = opened(study / "curve.html")
    figure = browser.find_element("css selector", "img.figure")
    assert browser.execute_script("return arguments[0].naturalWidth", figure) == 720
    counts = browser.find_elements("css selector", "button.count")
    assert [each.text for each in counts] == ["10", "1"]
    counts[1].click()
    assert "1 of 10" in browser.find_element("id", "count").text
    detail = browser.find_element("id", "detail").text
    assert "Answer in step 3 (wrong)" in detail and "Answer in step 2 (right)" in detail
    shutil.rmtree(study)
