"""BIG-Bench Hard: the authors' worked examples in the prompt, the text behind "the answer is", and the two means."""

from pathlib import Path

import pytest

from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import MadeUp

HARD = [  # subtask's right answer, what is said of it, score
    ("(B)", "We look at both. So the answer is (B).", 1),
    ("(B)", "So the answer is (B).\nMore words.", 1),
    ("(B)", "So the answer is (A). No, the answer is (B).", 0),
    ("(B)", "So the answer is B.", 1),
    ("(B)", "So the answer is (B)", 1),
    ("(B)", "So the answer is (b).", 1),
    ("(B)", "The answer is: (B).", 1),
    ("(B)", "So the answer is **(B)**.", 1),
    ("(B)", "**Answer:** (B)", 1),
    ("(B)", "The final answer is $\\boxed{B}$.", 1),
    ("(B)", "So the answer is (B) The plug is loose.", 1),
    ("(B)", "So the answer is (A) or (B).", 0),
    ("(B)", "So the answer is (B) or (A).", 0),
    ("(B)", "So the answer is both.", 0),
    ("(B)", "(B)", 1),
    ("(B)", "I think of B.", 0),
    ("(B)", "", 0),
    ("(B)", "I can't answer this.", 0),
    ("(B)", "\u7b54\u6848\u662f(B).", 0),
    ("(B)", "<think>the answer is (A)?</think>So the answer is (B).", 1),
    ("(B)", "<think>the answer is (B).", 0),
    ("] ) }", "So the answer is ] ) }.", 1),
    ("-10", "So the answer is -10.", 1),
    ("-10", "So the answer is 10.", 0),
    ("valid", "So the answer is invalid.", 0),
    ("valid", "The answer is valid", 1),
    ("ant bee", "So the answer is ant bee.", 1),
    ("ant bee", "ant bee", 1),
    ("ant bee", "So the answer is ant, bee.", 0),
]


def test_the_prompt(cli) -> None:
    text = prompt(cli, "bbh_word_sorting")
    assert text.startswith(
        "Sort a list of words.\n\nQ: Sort the following words alphabetically: List: oven costume counterpart\nA: "
    )
    assert text.count("\nA: Let's think step by step.\n") == 4
    assert text.endswith("List: violet amber indigo\nA: Let's think step by step.\n")


def test_hard_answers(cli, tmp_path: Path) -> None:
    made = MadeUp("bbh_snarks", "SaylorTwift/bbh", "test", config="snarks")
    docs = [{"target": right} for right, _, _ in HARD]
    ran = made.run(cli, tmp_path, docs, [answer for _, answer, _ in HARD])
    found = [row["scores"]["exact_match,get-answer"] for row in ran.samples(made.task)]
    assert found == [score for _, _, score in HARD]


def test_the_two_means(cli, tmp_path: Path) -> None:
    """mean_of_23_tasks has 23 parts: three, five and seven objects are one."""
    from mm_eval.config.manager import TaskManager

    names = list(TaskManager().load(["bbh"]).tasks)
    assert len(names) == 27
    said = {name: ["no\nno", "no\nno"] for name in names}
    said["bbh_navigate"] = ["So the answer is Yes.", "So the answer is No."]
    said["bbh_logical_deduction_seven_objects"] = ["So the answer is (G).", "So the answer is (D)."]
    ran = answered(cli, tmp_path, "bbh", said)
    groups = ran.results["groups"]
    assert groups["bbh"]["exact_match,get-answer"] == pytest.approx(2 / 27)
    assert groups["bbh"]["mean_of_23_tasks,none"] == pytest.approx((1 + 1 / 3) / 23)
