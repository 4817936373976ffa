"""GPQA Diamond and PIQA: prompts, the order of GPQA's choices, scores from stated likelihoods."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.tasks.made_up import prompt


def test_the_prompts(cli) -> None:
    assert prompt(cli, "piqa") == "Question: How do I dry a wet shoe?\nAnswer:"
    asked = "What is the correct answer to this question:What is the pH of pure water at 25 degrees?\nChoices:\n"
    assert prompt(cli, "gpqa_diamond", doc=5) == asked + "(A) 1\n(B) 14\n(C) 7\n(D) 0\nAnswer:"


def test_the_choices_of_a_question_have_one_order_on_any_part_of_the_docs(cli, tmp_path: Path) -> None:
    def rows(*words: object) -> dict[int, tuple[str, object]]:
        ran = cli("--tasks", "gpqa_diamond", "--model", "dummy", "--sample", *words)
        assert ran.code == 0, ran.err
        return {row["doc_id"]: (row["prompt"], row["target"]) for row in ran.samples("gpqa_diamond")}

    whole = rows("--output_path", tmp_path / "whole")
    part = rows("--output_path", tmp_path / "part", "--samples", json.dumps({"gpqa_diamond": [6, 2]}), "--seed", 7)
    assert part == {number: whole[number] for number in (2, 6)}
    assert len(Counter(target for _, target in whole.values())) > 1


@pytest.mark.parametrize(
    ("task", "lls", "found"),
    [
        ("piqa", [-9.0, -10.0], {"acc": 0, "acc_norm": 1}),  # 24 and 29 characters; the second is right
        ("piqa", [-8.0, -12.0], {"acc": 0, "acc_norm": 0}),
        ("gpqa_diamond", [-1.0, -2.0, -2.0, -2.0], {"acc": None}),
    ],
)
def test_likelihoods_give_the_scores(
    cli, tmp_path: Path, task: str, lls: list[float], found: dict[str, int | None]
) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"task": task, "doc_id": 1, "resps": [[ll, False] for ll in lls]}) + "\n")
    ran = cli(
        "--tasks",
        task,
        "--model",
        "replay",
        "--model_args",
        f"path={path}",
        "--sample",
        "--samples",
        json.dumps({task: [1]}),
    )
    assert ran.code == 0, ran.err
    [row] = ran.samples(task)
    expected = {key: float(row["target"] == 0) if value is None else value for key, value in found.items()}
    assert {key: row["scores"][f"{key},none"] for key in expected} == expected
