"""Runs that are not there, not finished, or damaged: one sentence each that says what to do, never a trace or a wrong number."""

import json
import shutil

import pytest

from mm_eval import evaluate
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report


@pytest.fixture
def damaged(perfect, tmp_path):
    folder = tmp_path / "damaged"
    shutil.copytree(perfect, folder)
    return folder


def rows(folder):
    return (folder / "samples/mme.jsonl").read_text().splitlines()


DAMAGE = {
    "results.json is cut": lambda f: (f / "results.json").write_text('{"results": '),
    "results.json is something else": lambda f: (f / "results.json").write_text("[1]"),
    "results.json lacks a part": lambda f: (f / "results.json").write_text('{"results": {}}'),
    "run.json is something else": lambda f: (f / "run.json").write_text("{}"),
    "a row is no JSON": lambda f: (f / "samples/mme.jsonl").write_text("\n".join([*rows(f)[:3], "{", *rows(f)[4:]])),
    "a row is no row": lambda f: (f / "samples/mme.jsonl").write_text('{"doc_id": 3}'),
    "the samples are no text": lambda f: (f / "samples/mme.jsonl").write_bytes(b"\xff\xfe\n"),
    "rows are missing": lambda f: (f / "samples/mme.jsonl").write_text("\n".join(rows(f)[:100])),
    "there are no rows": lambda f: (f / "samples/mme.jsonl").write_text(""),
}


@pytest.mark.parametrize("words", [["report"], ["report", "--format", "md"], ["compare"]], ids=" ".join)
@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_named_with_the_file(cli, damaged, perfect, words, what):
    DAMAGE[what](damaged)
    done = cli(*words, damaged, *([perfect] if words == ["compare"] else []))
    assert done.code == 2 and done.err.count("\n") == 1 and str(damaged) in done.err, done.err
    if what == "a row is no JSON":
        assert "mme.jsonl:4" in done.err
    if "row" in what:
        assert "mm-eval score RUN" in done.err


@pytest.mark.parametrize(
    ("gone", "said"), [("run.json", "run.json"), ("results.json", "mm-eval score"), ("samples", "mm-eval score")]
)
def test_an_unfinished_run_is_told_what_it_lacks(cli, damaged, perfect, gone, said):
    path = damaged / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    for words in (["report", damaged], ["compare", perfect, damaged], ["report", damaged, "--format", "csv"]):
        done = cli(*words)
        assert done.code == 2 and said in done.err and str(damaged) in done.err


def test_runs_on_other_data_are_not_compared(cli, perfect, damaged):
    changed = [{**(row := json.loads(line)), "doc": {**row["doc"], "question": "Another?"}} for line in rows(damaged)]
    (damaged / "samples/mme.jsonl").write_text("\n".join(map(json.dumps, changed)))
    done = cli("compare", perfect, damaged)
    assert done.code == 2 and "no scored document in common" in done.err


def test_a_page_of_texts_reads_each_row_once(tmp_path, monkeypatch) -> None:
    """The table of scored docs is filled by the pass that writes the page."""
    evaluate("gsm8k", "dummy", sample=True, limit=4, report=False, output_path=str(tmp_path / "run"))
    read = []
    monkeypatch.setattr("mm_eval.results.recorded.is_row", lambda row: read.append(row["doc_id"]) or True)
    run = RecordedRun.read(tmp_path / "run")
    write_report(run)
    assert read == [0, 1, 2, 3] and list(run.tasks["gsm8k"].clusters) == read
