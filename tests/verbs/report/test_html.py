"""report.html: one file that needs nothing else, whatever a model said."""

import base64
import io
import json
import math
import re
import shutil
import tracemalloc

import pytest
from PIL import Image

from mm_eval.results.findings import MOST_ON_PAGE, Fault, FaultyDoc, as_values, diagnose
from mm_eval.results.page import prompt_text
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report
from mm_eval.values.safe import in_script
from tests.recorded import in_page, set_count


def test_json_can_stand_in_a_script_element():
    text = in_script({"a": "</script><!--", "b": [math.nan, -math.inf, 1.5], "c": "\u2028"})
    assert "<" not in text and "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--", "b": ["nan", "-inf", 1.5], "c": "\u2028"}


def test_the_file_loads_nothing_from_anywhere(dummy_run):
    text = (dummy_run / "report.html").read_text()
    assert not re.findall(r"(?:src|href|url|import|fetch)\W{1,3}(?:https?:)?//", text)
    assert "Content-Security-Policy" in text and "default-src 'none'" in text


def test_the_page_holds_every_sample_with_its_rule(dummy_run, mme_rows):
    rows = in_page(dummy_run / "report.html", "rows")
    assert len(rows) == 672
    shown, row = rows[5], mme_rows[5]
    assert (shown["t"], shown["d"], shown["a"], shown["g"]) == ("mme", 5, row["resps"], row["target"])
    assert shown["r"] == row["rules"] and shown["images"] == row["images"] and shown["c"] == "existence"


def test_the_page_carries_the_thumbnails_of_its_pictures(dummy_run, mme_rows):
    pictures = in_page(dummy_run / "report.html", "media")
    kind, _, content = pictures[mme_rows[0]["images"][0]].partition(",")
    assert kind == "data:image/jpeg;base64"
    assert max(Image.open(io.BytesIO(base64.b64decode(content))).size) <= 320
    assert {digest for row in mme_rows for digest in row["images"]} <= pictures.keys()


@pytest.mark.full
def test_a_page_is_written_a_row_at_a_time(dummy_run, mme_rows, tmp_path):
    """What is held grows by what the intervals need, not by prompts and answers: those have 5 kB a doc here."""

    def peak(count):
        folder = tmp_path / str(count)
        shutil.copytree(dummy_run, folder, ignore=lambda *_: ["media", "report.html"])
        with (folder / "samples/mme.jsonl").open("w") as file:
            for doc_id in range(count):
                row = {**mme_rows[doc_id % len(mme_rows)], "doc_id": doc_id, "prompt": f"{doc_id} " * 1000}
                file.write(json.dumps(row) + "\n")
        set_count(folder, "mme", count)
        tracemalloc.start()
        write_report(RecordedRun.read(folder))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(10)  # what is loaded once
    few, many = peak(420), peak(4200)
    assert (many - few) / (4200 - 420) < 1000


def test_no_report_and_what_cannot_be_written(cli, tmp_path, monkeypatch):
    words = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "4", "--output_path"]
    assert cli(*words, tmp_path / "a", "--no_report").code == 0
    assert not (tmp_path / "a/report.html").exists() and not (tmp_path / "a/media").exists()

    def full(*arguments):
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("mm_eval.run_page.page", full)
        done = cli(*words, tmp_path / "b")
        assert done.code == 0 and "no report.html could be written: No space left" in done.out
        assert (tmp_path / "b/results.json").exists(), "what is derived costs no result"
    again = cli(*words, tmp_path / "b")
    assert "no report.html" not in again.out and "nothing was requested" in again.out
    assert (tmp_path / "b/report.html").is_file(), "the same command writes the page that found no room"


def test_a_page_that_cannot_be_written_anew_leaves_none_with_other_numbers(cli, tmp_path, monkeypatch):
    words = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "4", "--output_path", tmp_path / "a"]
    assert cli(*words).code == 0 and (tmp_path / "a/report.html").is_file()

    def full(*arguments):
        raise OSError("No space left on device")

    monkeypatch.setattr("mm_eval.run_page.page", full)
    (tmp_path / "a/finished.json").unlink(missing_ok=True)  # there is none where another test has registered a metric
    assert "no report.html could be written" in cli(*words).out and not (tmp_path / "a/report.html").exists()


@pytest.mark.parametrize("words", [["--output", "x.md"], ["--intervals"]])
def test_options_of_tables_are_refused_for_the_page(cli, perfect, words):
    done = cli("report", perfect, *words)
    assert done.code == 2 and "--format md" in done.err


def test_the_page_of_a_run_in_which_everything_failed_differently_still_opens():
    found = [
        Fault("mme", "failed", 1, 99, f"{n}", "x" * 99, "mm-eval", (FaultyDoc(n, "y" * 999, "z"),)) for n in range(99)
    ]
    values = as_values(found)
    assert len(values["shown"]) == MOST_ON_PAGE and values["more"] == 99 - MOST_ON_PAGE
    assert len(values["shown"][0]["examples"][0]["answer"]) < 200


def test_the_page_has_the_findings_of_diagnose_and_what_the_run_took(dummy_run):
    about, run = in_page(dummy_run / "report.html", "data"), RecordedRun.read(dummy_run)
    assert [(one["task"], one["said"], one["mend"]) for one in about["findings"]["shown"]] == [
        (one.task, one.said, one.mend) for one in diagnose(run)
    ]
    asked = run.results.run.answering
    assert about["seconds"] == asked["seconds"] and about["date"].endswith("UTC")


def test_the_frames_of_a_long_video_are_one_line_of_a_prompt():
    parts = [{"type": "image"}] * 768 + [{"type": "text", "text": "What moves?"}]
    assert prompt_text([{"role": "user", "content": parts}]) == "[user]\n<image> x768\nWhat moves?"
    assert prompt_text("<image>\n<image>\nWhich is red?") == "<image>\n<image>\nWhich is red?"


def test_the_page_of_a_run_takes_the_tasks_that_are_open_and_looks_up_none(cli, monkeypatch, tmp_path):
    monkeypatch.setattr("mm_eval.config.installed._load_installed", lambda *_: pytest.fail("a task was loaded again"))
    asked = []
    real = RecordedRun.of_scored
    monkeypatch.setattr(RecordedRun, "read", lambda *_, **__: pytest.fail("results.json was read back"))
    monkeypatch.setattr(
        RecordedRun, "of_scored", lambda *given, **more: asked.append(real(*given, **more)) or asked[-1]
    )
    ran = cli("--tasks", "mme", "--limit", 4, "--model", "dummy", "--sample")
    assert ran.code == 0 and "no report.html" not in ran.out
    assert asked[0].tasks["mme"].aggregations.keys() >= {number.key for number in asked[0].results.rows["mme"].numbers}
