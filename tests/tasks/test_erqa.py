"""ERQA: pictures at their places or first, letters by our rule and lmms-eval's, types of questions."""

import pytest

from tests.tasks.made_up import MadeUp, categories
from tests.tasks.of_sample import replay

ERQA = MadeUp("erqa", "FlagEval/ERQA", "test")
PICTURE = {"type": "image"}
END = " Please answer directly with only the letter of the correct option and nothing else."


def test_the_prompt(cli, tmp_path) -> None:
    ran = replay(cli, tmp_path, "erqa", ["A"] * 8, "--apply_chat_template", "--output_path", tmp_path / "run")
    assert ran.code == 0, ran.err
    (one,), (two,), _, (three,), *_ = [row["prompt"] for row in ran.samples("erqa")]
    assert one["content"][0] == PICTURE and one["content"][1]["text"].endswith(END) and len(one["content"]) == 2
    first, blank, second, text = two["content"]
    assert (first, second, blank["text"]) == (PICTURE, PICTURE, " ") and text["text"].startswith(" What does ")
    assert three["content"][:3] == [PICTURE] * 3 and three["content"][3]["text"].startswith("What does ")


HARD = [  # answer, our letter, lmms-eval's
    ("B", "B", "B"),
    ("(B)", "B", "B"),
    ("B.", "B", "B"),
    ("b", "B", None),
    ("The answer is (B).", "B", "B"),
    ("**B**", "B", "B"),
    ("\\boxed{B}", "B", "B"),
    ("Answer: B because A is wrong", "B", "A"),
    ("Both would work", None, "B"),
    ("B and C", None, "B"),
    ("E", None, None),
    ("答案是B", "B", "B"),
    ("", None, None),
    ("I can't help with that.", None, None),
    ("<think>B", None, None),
    ("<think>A?</think>B", "B", "B"),
]


@pytest.mark.parametrize(("task", "column"), [("erqa", 1), ("erqa_lmms", 2)])
def test_hard_answers(cli, tmp_path, task: str, column: int) -> None:
    ran = ERQA.run(cli, tmp_path, [{"answer": "B"}] * len(HARD), [row[0] for row in HARD], task)
    rows = ran.samples(task)
    assert [row["filtered_resps"]["none"][0] or None for row in rows] == [row[column] for row in HARD]
    assert [row["scores"]["exact_match,none"] for row in rows] == [float(row[column] == "B") for row in HARD]


def test_types_of_questions(cli, tmp_path) -> None:
    kinds = ["Pointing", "Task Reasoning", "Pointing"]
    ran = ERQA.run(cli, tmp_path, [{"answer": "A", "question_type": kind} for kind in kinds], ["A", "A", "B"])
    assert categories(ran, "erqa", "question_type", "exact_match,none") == {"Pointing": 0.5, "Task Reasoning": 1}
