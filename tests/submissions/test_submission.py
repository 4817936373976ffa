"""`submission:` writes the file of a benchmark's server from the answers of a split without gold."""

import csv
import json
from pathlib import Path

import pytest

from mm_eval import TaskManager
from mm_eval.config.submission import SubmissionConfig
from mm_eval.submissions.files import check_files, file_of

TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_text: q
doc_to_target: a
filter_list:
  - name: upper
    filter: [{{function: uppercase}}]
submission: {{file: {file}, record: !function utils.record{more}}}
"""
UTILS = """
def record(doc, answer):
    if doc["q"] == "two" and answer == "FAIL":
        raise ValueError("no such answer")
    return {"questionId": doc["id"], "answer": answer}

def text(doc, answer):
    return answer
"""
JUDGE = "judge: {prompt: !function utils.text, verdict: !function utils.text, verdict_examples: [[a, 1], [b, null]]}\n"
ANSWERS = ["1, 2", "two\nlines", "dréi"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "utils.py").write_text(UTILS)
    rows = [{"id": 7, "q": "one", "a": None}, {"id": 5, "q": "two", "a": None}, {"id": 6, "q": "three", "a": None}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "sub.yaml").write_text(TASK.format(name="sub", file="test.json", more=""))
    return tmp_path


def answers(folder: Path, texts: list[str], task: str = "sub") -> Path:
    rows = [{"task": task, "doc_id": n, "resps": [text]} for n, text in enumerate(texts)]
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "answers.jsonl"


def words(folder: Path, given: Path, task: str = "sub") -> tuple[object, ...]:
    return ("--tasks", task, "--include_path", folder, "--model", "replay", "--model_args", f"path={given}")


def test_a_run_writes_the_records_in_the_order_of_the_docs(cli, folder: Path) -> None:
    ran = cli(*words(folder, answers(folder, ANSWERS)))
    assert ran.code == 0, ran.out + ran.err
    file = ran.folder / "submissions" / "test.json"
    expected = [{"questionId": 7, "answer": "1, 2"}, {"questionId": 5, "answer": "TWO\nLINES"}]
    assert json.loads(file.read_text()) == [*expected, {"questionId": 6, "answer": "DRÉI"}]
    assert ran.results["submissions"] == {"sub": {"file": "submissions/test.json", "n": 3, "failed": 0}}
    assert not [key for key in ran.results["results"]["sub"] if "," in key]
    row = next(line for line in ran.out.splitlines() if "submission:" in line)
    assert (
        row.startswith("sub ")
        and "submission: submissions/test.json" in row
        and f"sub: 3 records are in {file}" in ran.out
    )
    assert (ran.folder / "report.html").is_file()
    before = file.read_bytes()
    file.unlink()
    again = cli("score", ran.folder)
    assert again.code == 0 and file.read_bytes() == before


def test_a_failed_request_has_no_record_and_the_file_is_called_incomplete(cli, folder: Path) -> None:
    ran = cli(*words(folder, answers(folder, ANSWERS[:2])))
    assert ran.code == 3
    assert ran.results["submissions"]["sub"] == {"file": "submissions/test.json", "n": 3, "failed": 1}
    assert len(json.loads((ran.folder / "submissions" / "test.json").read_text())) == 2
    assert "sub: submissions/test.json is incomplete: 1 of 3 documents has no record" in ran.out


def test_a_record_that_cannot_be_made_is_counted(cli, folder: Path) -> None:
    ran = cli(*words(folder, answers(folder, ["a", "fail", "c"])))
    assert ran.code == 3 and "is incomplete: 1 of 3 documents has no record:" in ran.out
    assert "doc 1: the record function failed: ValueError: no such answer" in ran.out


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_other_forms(cli, folder: Path, form: str) -> None:
    (folder / "sub.yaml").write_text(TASK.format(name="sub", file=f"test.{form}", more=f", form: {form}"))
    ran = cli(*words(folder, answers(folder, ANSWERS)))
    with (ran.folder / "submissions" / f"test.{form}").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file)) if form == "csv" else [json.loads(line) for line in file]
    assert [(str(row["questionId"]), row["answer"]) for row in rows] == [
        ("7", "1, 2"),
        ("5", "TWO\nLINES"),
        ("6", "DRÉI"),
    ]


def test_validate_says_that_there_is_no_gold_and_tries_the_function(cli, folder: Path) -> None:
    ran = cli("validate", "sub", "--include_path", folder)
    assert ran.code == 0 and "3 documents; none has a gold answer" in ran.out and "a run writes test.json" in ran.out
    (folder / "sub.yaml").write_text(TASK.format(name="sub", file="a.json", more="").replace(".record", ".text"))
    ran = cli("validate", "sub", "--include_path", folder)
    assert ran.code == 2 and "the record function returned 'answer'; expected a mapping" in ran.out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("test.json", "../x.json", "is not the plain name of a file"),
        ("file: test.json, ", "", "submission needs a `file`"),
        ("!function utils.record", "q", "'record' must be a function"),
        ("submission: {", "submission: 5  # {", "'submission' must be a mapping, not 5"),
        ("filter_list:", JUDGE + "filter_list:", "judge and submission are given together"),
        ("utils.record", "utils.record, form: xml", "'form' must be one of json, jsonl, csv"),
        ("filter_list:", "output_type: multiple_choice\ndoc_to_choice: ['a', 'b']\nfilter_list:", "needs output_type"),
    ],
)
def test_a_wrong_submission_is_reported_with_its_line(cli, folder: Path, old: str, new: str, said: str) -> None:
    (folder / "sub.yaml").write_text(TASK.format(name="sub", file="test.json", more="").replace(old, new))
    ran = cli("validate", "sub", "--include_path", folder)
    assert ran.code == 2 and said in ran.out and "sub.yaml:" in ran.out


def test_two_tasks_with_one_file_do_not_run_together(cli, folder: Path) -> None:
    (folder / "other.yaml").write_text(TASK.format(name="other", file="test.json", more=""))
    ran = cli(*words(folder, answers(folder, ANSWERS), "sub,other"))
    assert ran.code == 2 and "sub and other both write submissions/test.json" in ran.err


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("sub", "test.json"),
        ("own::sub", "test.json"),
        ("sub#2", "test.json"),
        ("sub@python", "test@python.json"),
        ("own::sub@generate@python#2", "test@generate_python.json"),
    ],
)
def test_a_task_asked_in_another_form_has_a_file_of_its_own(name: str, file: str) -> None:
    assert file_of(name, SubmissionConfig("test.json", None)) == f"submissions/{file}"


def test_a_task_runs_beside_itself_with_python(folder: Path) -> None:
    configs = TaskManager(include_path=[folder]).load("sub,sub@python").tasks
    check_files(configs)
    assert {file_of(name, config.submission) for name, config in configs.items()} == {
        "submissions/test.json",
        "submissions/test@python.json",
    }
