"""We-Math: the prompt, the letter of an answer, and the numbers of problems with their steps."""

from pathlib import Path

import pytest

from tests.tasks.answers import answered
from tests.tasks.made_up import MadeUp, categories, prompt

WE_MATH = MadeUp("we_math", "We-Math/We-Math", "testmini")
HARD = [  # right letter, answer, score
    ("B", "<Thought process>: <<6 is 2 times 3>> <Answer>: <<B>>", 1),
    ("B", "<Answer>: <<B. 6>>", 1),
    ("B", "Answer:B", 1),
    ("B", "B", 1),
    ("B", "B. 6", 1),
    ("B", "<Answer>: B and C", 1),
    ("B", "<Answer>: C", 0),
    ("B", "Answer A is wrong. Answer: <<B>>", 1),
    ("B", "The answer is (B).", 0),
    ("B", "<Answer>: **B**", 0),
    ("B", "<Answer>: (B)", 0),
    ("B", "b", 0),
    ("B", "I can't see the picture.", 0),
    ("B", "\u7b54\u6848\u662fB", 0),
    ("B", "<think>B or C?", 0),
    ("B", "<think>A?</think><Answer>: <<B>>", 1),
    ("B", "", 0),
]


def test_the_prompt(cli) -> None:
    text = prompt(cli, "we_math", doc=3)
    assert (
        "\nQuestion: The two other angles are 60 and 70 degrees. The third is ( ).\nOption: A. 40; B. 50; C. 60; D. 70\n"
        in text
    )
    assert text.startswith("Now, we require you to solve a multiple-choice math question.\n")
    assert text.endswith("<Thought process>: <<your thought process>> <Answer>: <<your option>>")


def test_hard_answers(cli, tmp_path: Path) -> None:
    steps = [{"answer": right, "ID": f"2steps_{n}", "key": "2steps_1"} for n, (right, _, _) in enumerate(HARD)]
    rest = [{"answer": "A", "ID": "2steps_0", "key": key} for key in ("2steps_2", "2steps_multi")]
    answers = [answer for _, answer, _ in HARD]
    ran = WE_MATH.run(cli, tmp_path, [steps[0], *rest, *steps[1:]], [answers[0], "A", "A", *answers[1:]])
    found = [row["scores"]["one_step,none"] for row in ran.samples("we_math") if row["doc"]["key"] == "2steps_1"]
    assert found == [score for _, _, score in HARD]


def test_the_four_conditions(cli, tmp_path: Path) -> None:
    """Two steps: mastered; rote when strict; generalization. Three steps: knowledge; rote also when loose."""
    right = ["ABC", "BAD", "ACB", "BACB", "CABD"]
    said = ["ABC", "BED", "ACE", "EAEE", "EEED"]
    ran = answered(cli, tmp_path, "we_math", [letter for problem in said for letter in problem])
    assert [row["target"] for row in ran.samples("we_math")] == [letter for problem in right for letter in problem]
    row = {key.removesuffix(",none"): value for key, value in ran.results["results"]["we_math"].items()}
    assert row["score_strict"] == pytest.approx((1 + 0.5) / 5)
    assert row["score_loose"] == pytest.approx((1 + 1 + 0.5) / 5)
    assert (row["complete_mastery_strict"], row["complete_mastery_loose"]) == (pytest.approx(0.2), pytest.approx(0.4))
    assert (row["insufficient_knowledge"], row["inadequate_generalization"]) == (pytest.approx(0.2), pytest.approx(0.2))
    assert (row["rote_memorization_strict"], row["rote_memorization_loose"]) == (
        pytest.approx(2 / 3),
        pytest.approx(1 / 3),
    )
    assert (row["one_step"], row["two_step"], row["three_step"]) == (0.5, pytest.approx(2 / 3), 0.5)
    assert row["score_strict_stderr"] == pytest.approx(0.2, rel=1e-6)  # that of a mean of 1, 0, 0.5, 0, 0
    strict = categories(ran, "we_math", "steps", "score_strict,none")
    assert strict == {"2steps": pytest.approx(0.5), "3steps": 0}


def test_a_limit_takes_whole_problems_and_a_part_of_one_has_no_number(cli, tmp_path) -> None:
    words = ("--tasks", "we_math", "--sample", "--model", "dummy", "--output_path")
    assert cli(*words, tmp_path / "one", "--limit", 1).code == 0
    ran = cli(*words, tmp_path / "part", "--samples", '{"we_math": [0]}')
    notes = ran.results["results"]["we_math"]["notes"]
    for metric in ("score_strict", "rote_memorization_strict"):
        said = (
            f"{metric},none: it has no value: no problem has all of its steps; a --limit cut them, or requests failed."
        )
        assert said in notes
    assert "raised" not in ran.out + ran.err
    assert ran.code == 0 and "Traceback" not in ran.err
