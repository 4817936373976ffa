"""PhyX, multiple choice: the authors' rule without a judge.

What is expected was computed by their vlmeval/dataset/utils/phyx.py at a651a00.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.phyx.utils import process_results

from tests.sets import each_of
from tests.tasks.answers import answered
from tests.tasks.made_up import categories

HARD = [
    # answer, right where C is the answer; None where nothing is read
    ("The correct answer is C", 1), ("Answer: C", 1), ("option C", 1), ("The answer is B", 0), ("Answer: B, no: C: 5 m", 1),
    ("The answer: Because C", 0), ("C", None), ("C.", None), ("C: 5 m", 1), ("A: no. C: yes", 1), ("C: yes. A: no.", 1),
    ("**C**", 1), ("A: no. **C**", 1), ("The answer is A, or **C**", 1), ("The ANSWER is C", None), ("answers C", None),
    ("The answer is c", None), ("", None), ("So B: 4 m", 0), ("\\boxed{C}", None), ("the answer\n\nis\nC", 1),
]  # fmt: skip


@each_of(("answer", "right"), HARD)
def test_hard_answers(answer: str, right: int | None) -> None:
    found = process_results({"answer": "C"}, [answer])
    assert found["acc"] == (right or 0) and (found["__rule__"] == "unparsed") == (right is None)


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "phyx_mc", [f"The answer is {letter}" for letter in "ABCDABCD"])
    right = [row["target"] == letter for row, letter in zip(ran.samples("phyx_mc"), "ABCDABCD", strict=True)]
    assert ran.results["results"]["phyx_mc"]["acc,none"] == pytest.approx(sum(right) / 8) and 0 < sum(right) < 8
    assert categories(ran, "phyx_mc", "category", "n") == {"Mechanics": 4, "Optics": 4}
    assert categories(ran, "phyx_mc", "subfield", "n") == {"Mirrors": 4, "Springs": 4}


def test_testmini_is_another_split(cli: Any, tmp_path: Path) -> None:
    assert answered(cli, tmp_path, "phyx_mini_mc", ["**A**"] * 4).results["results"]["phyx_mini_mc"]["n"] == 4
