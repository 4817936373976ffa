"""A task's function fails one doc in clear words: DocError, and what looks a value up."""

import json
from pathlib import Path

import pytest

from mm_eval.values.types import DocError, found_in
from tests.sets import each_of

TASK = """task: rows
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: !function utils.text
doc_to_target: !function utils.target
process_results: !function utils.score
metric_list: [{metric: hit, aggregation: mean}]
"""
CODE = """from mm_eval.values.types import DocError, found_in


def check(doc, where):
    if doc["bad"] == where:
        raise DocError(f"the {where} of this row is torn.", hint="Download it again.")


def text(doc):
    check(doc, "text")
    return doc["q"]


def target(doc):
    check(doc, "target")
    return found_in({"a": "A"}, doc["a"], "answer")


def score(doc, results):
    check(doc, "score")
    return {"hit": 1.0}


def pictures(doc):
    check(doc, "picture")
    return []


def record(doc, answer):
    check(doc, "record")
    return {"answer": answer}
"""
ROWS = [{"q": f"q{n}", "a": "a", "bad": ""} for n in range(6)]


def write(folder: Path, rows: list[dict], more: str = "") -> tuple[object, ...]:
    (folder / "rows.yaml").write_text(TASK + more)
    (folder / "utils.py").write_text(CODE)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "--tasks", "rows", "--include_path", folder, "--model", "dummy"


@pytest.mark.parametrize("place", ["text", "target", "score", "picture"])
@pytest.mark.parametrize("first", [True, False], ids=["the first doc", "a later doc"])
def test_one_doc_fails_with_the_sentence_and_the_others_are_scored(
    cli, tmp_path: Path, place: str, first: bool
) -> None:
    rows = [{**row, "bad": place} if n == (0 if first else 4) else row for n, row in enumerate(ROWS)]
    ran = cli(*write(tmp_path, rows, "doc_to_visual: !function utils.pictures\n" if place == "picture" else ""))
    assert ran.code == 3, ran.err
    row = ran.results["results"]["rows"]
    assert (row["failed"], row["n"], row["hit,none"]) == (1, 6, 1.0)
    doc = f"rows{',' if place == 'score' else ''} doc {0 if first else 4}"
    sentence = f"{doc}: the {place} of this row is torn. Download it again."
    assert sentence in ran.out and "DocError" not in ran.out
    [error] = [sample["error"] for sample in ran.samples("rows") if "error" in sample]
    assert error == {"owner": "data", "what": sentence}


def test_a_value_that_no_table_has_names_its_column(cli, tmp_path: Path) -> None:
    ran = cli(*write(tmp_path, [{**ROWS[0], "a": "Z"}, *ROWS[1:]]))
    assert ran.code == 3 and "rows doc 0: answer is 'Z'; expected one of 'a'." in ran.out
    assert found_in({1: "one"}, 1, "n") == "one"
    with pytest.raises(DocError, match=r"n is 2; expected one of 1\."):
        found_in({1: "one"}, 2, "n")


def test_a_record_that_cannot_be_written_says_why(cli, tmp_path: Path) -> None:
    rows = [{**row, "bad": "record" if n == 4 else ""} for n, row in enumerate(ROWS)]
    more = "submission: {file: out.jsonl, form: jsonl, record: !function utils.record}\n"
    ran = cli(*write(tmp_path, rows, more))
    assert ran.code == 3 and "doc 4: the record of this row is torn. Download it again." in ran.out


@each_of(
    ("task", "function", "doc", "said"),
    [
        ("seedbench", "seed_doc_to_mc_target", {"answer": "E"}, "answer is 'E'; expected one of 'A', 'B', 'C', 'D'"),
        ("winogrande", "right_option", {"answer": ""}, "answer is ''; expected one of '1', '2'"),
        ("hallusion_bench", "doc_to_target", {"gt_answer": "2"}, "gt_answer is '2'; expected one of '0', '1'"),
        ("longvideobench", "doc_to_target", {"correct_choice": 9}, "correct_choice is 9; expected one of 0, 1"),
        ("mvbench", "doc_to_target", {"candidates": ["x"], "answer": "y"}, "answer is 'y', which is none of"),
    ],
)
def test_shipped_tasks_say_which_column_is_wrong(task: str, function: str, doc: dict, said: str) -> None:
    from importlib import import_module

    with pytest.raises(DocError, match=said.replace("(", r"\(")):
        getattr(import_module(f"mm_eval.tasks.{task}.utils"), function)(doc)
