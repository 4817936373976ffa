"""`--limit` takes whole questions where a part of one has no number, and a number that it leaves undefined is no failure."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran


@pytest.mark.parametrize("limit", ["1", "2", "0.1"])
@pytest.mark.parametrize(
    ("task", "number", "column"), [("mmbench_en_dev", "circular_acc", "group"), ("we_math", "score_strict", "ID")]
)
def test_a_limit_counts_questions(cli: Callable[..., Ran], task: str, number: str, column: str, limit: str) -> None:
    ran = cli("--tasks", task, "--model", "dummy", "--sample", "--limit", limit)
    assert ran.code == 0, ran.err
    assert isinstance(ran.results["results"][task][f"{number},none"], float)
    questions = {row["doc"].get(column) for row in ran.samples(task)}
    assert None not in questions and (limit == "0.1" or len(questions) == int(limit))
    assert len(ran.samples(task)) > len(questions)


def test_other_tasks_take_rows(cli: Callable[..., Ran]) -> None:
    ran = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "3")
    assert (ran.code, ran.results["results"]["mme"]["n"]) == (0, 3)


UNDEFINED = """
task: undefined
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{'x'}}}}"
metric_list:
  - {{metric: exact_match, aggregation: !function own.needs_three}}
"""


def test_a_number_that_a_limit_leaves_undefined_is_a_note(cli: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def needs_three(v):\n    return 1 / max(0, len(v) - 2)\n")
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"q": str(i)}) + "\n" for i in range(2)) * 2)
    (tmp_path / "undefined.yaml").write_text(UNDEFINED.format(data=tmp_path / "data.jsonl"))
    options = ("--tasks", "undefined", "--include_path", tmp_path, "--model", "dummy")
    ran = cli(*options, "--limit", "2", "--output_path", tmp_path / "part")
    assert ran.code == 0 and ran.results["results"]["undefined"]["exact_match,none"] is None
    assert "ZeroDivisionError" in ran.out + ran.err
    (tmp_path / "own.py").write_text("def needs_three(v):\n    return 1 / 0\n")
    assert cli(*options, "--output_path", tmp_path / "whole").code == 3
