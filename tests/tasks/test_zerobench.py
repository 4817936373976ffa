"""ZeroBench: the prompt, answers in curly braces, and the steps as a task of their own."""

import json
from pathlib import Path

import pytest

from tests.tasks.made_up import MadeUp, prompt

MAIN = MadeUp("zerobench", "jonathan-roberts1/zerobench", "zerobench")
HARD = [  # right answer, answer, score, whether it could be read
    ("11.90", "Three bottles save {11.90}", 1, True),
    ("11.90", "{ 11.90 }", 1, True),
    ("11.90", "{11.9}", 0, True),
    ("11.90", "{$11.90}", 0, True),
    ("11.90", "First {3}, then {11.90}.", 1, True),
    ("11.90", "First {11.90}, then {3}.", 0, True),
    ("14", "{114}", 0, True),
    ("14", "{}", 0, True),
    ("A, B", "{a, b}", 1, True),
    ("14", "\\boxed{14}", 1, True),
    ("14", "14", 0, False),
    ("14", "The answer is 14.", 0, False),
    ("14", "", 0, False),
    ("14", "I can't see the picture.", 0, False),
    ("14", "<think>{14}", 0, False),
    ("14", "<think>{3}?</think>{14}", 1, True),
    ("\u7ea2", "{\u7ea2}", 1, True),
]


def test_the_prompt(cli) -> None:
    end = "\n\n\nLet's think step by step and give the final answer in curly braces, like this: {final answer}"
    assert prompt(cli, "zerobench").endswith("Give your answer in dollars." + end)
    assert prompt(cli, "zerobench_subquestions") == "How many shapes has picture 1?" + end


def test_hard_answers(cli, tmp_path: Path) -> None:
    docs = [{"question_answer": right} for right, _, _, _ in HARD]
    ran = MAIN.run(cli, tmp_path, docs, [row[1] for row in HARD])
    assert [row["scores"]["acc,none"] for row in ran.samples("zerobench")] == [score for _, _, score, _ in HARD]
    rules = [row["rules"]["none"][0] for row in ran.samples("zerobench")]
    assert [rule not in ("unparsed", "truncated") for rule in rules] == [read for _, _, _, read in HARD]


@pytest.mark.parametrize(("task", "docs"), [("zerobench", 6), ("zerobench_subquestions", 9)])
def test_gold_answers_get_full_marks(cli, task: str, docs: int) -> None:
    ran = cli("validate", task, "--sample")
    assert ran.code == 0 and f"{docs} documents" in ran.out


def test_five_answers_as_the_authors_sample_them(cli, tmp_path: Path) -> None:
    """pass@5: one right answer of five is enough (the authors' README of 2026-08); avg@5 is beside it."""
    docs = [{"question_answer": "14"}, {"question_answer": "A"}]
    answers = [["{14}", "{15}", "{14}", "14", "{}"], ["{B}"] * 5]
    root = MAIN.write(tmp_path / "data", docs)
    rows = [{"task": "zerobench_pass5", "doc_id": n, "resps": said} for n, said in enumerate(answers)]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    replay = ("--model", "replay", "--model_args", f"path={tmp_path / 'answers.jsonl'}")
    ran = cli("--tasks", "zerobench_pass5", *replay, "--data_root", root)
    row = ran.results["results"]["zerobench_pass5"]
    assert ran.code == 0 and row["pass@5(acc),none"] == 1 / 2 and row["avg@5(acc),none"] == 2 / 10
    assert ran.samples("zerobench_pass5")[0]["rules"]["none"] == ["curly braces"] * 3 + ["unparsed", "curly braces"]
    assert "pass@5(acc)" in ran.out and "avg@5(acc)" in ran.out
    config = ran.results["configs"]["zerobench_pass5"]
    assert (config["generation_kwargs"]["temperature"], config["generation_kwargs"]["top_p"]) == (0.7, 0.95)
