"""OVO-Bench: letters and words that occur in a reply, joined digits, and the mean of three kinds.

The scores of replies were computed by the authors' utils/OVOBenchScore.py at c34093f.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.ovo_bench.utils import process_part, process_results

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

CHOICES = [
    # reply, whether it is right where C is, whether something is read
    ("C", True, True), ("C. a house", True, True), ("The answer is C.", True, True), ("B", False, True),
    ("A, B, C, D", True, True),
    ("CAREFUL: B", True, True), ("c", False, False), ("", False, False), ("a house", False, False),
]  # fmt: skip
TIMES: list[tuple[str, dict[str, Any], str, bool, bool]] = [
    ("REC", {"count": 2}, "2", True, True), ("REC", {"count": 2}, "2 times.", True, True),
    ("REC", {"count": 12}, "1 or 2", True, True),
    ("REC", {"count": 2}, "two", False, False), ("REC", {"count": 2}, "02", False, True), ("SSR", {"type": 1}, "Yes", True, True),
    ("SSR", {"type": 1}, "Y", True, True), ("SSR", {"type": 1}, "yes", False, False), ("SSR", {"type": 0}, "No.", True, True),
    ("SSR", {"type": 0}, "N", True, True), ("SSR", {"type": 0}, "N.", False, False), ("CRR", {"type": 0}, "Not yet", True, True),
    ("CRR", {"type": 0}, "Now it does: Yes", True, True), ("CRR", {"type": 1}, "No", False, True),
    ("CRR", {"type": 1}, "", False, False),
]  # fmt: skip


@each_of(("reply", "right", "is_read"), CHOICES)
def test_a_letter_counts_where_it_occurs(reply: str, right: bool, is_read: bool) -> None:
    found = process_results({"task": "EPM", "gt": 2, "options": ["a", "b", "c", "d"]}, [reply])
    assert (found["acc"], found["__rule__"] != "unparsed") == (right, is_read)


@each_of(("task", "asked", "reply", "right", "is_read"), TIMES)
def test_digits_and_words(task: str, asked: dict[str, Any], reply: str, right: bool, is_read: bool) -> None:
    found = process_part({"task": task, "asked": asked}, [reply])
    assert (found["acc"], found["__rule__"] != "unparsed") == (right, is_read)


def test_the_prompts(cli: Any) -> None:
    assert prompt(cli, "ovo_backward") == (
        "\nQuestion: What did the star do first?\nOptions:\nA. it moves up; B. it blinks;\n\nRespond only with the letter "
        "corresponding to your chosen option (e.g., A, B, C). \nDo not include any additional text or explanation in your "
        "response.\n"
    )
    assert "question: How many times did they let the star move?\nProvide" in prompt(cli, "ovo_forward")
    assert "procedures: \nthe star shrinks\nYour task" in prompt(cli, "ovo_forward", doc=3)
    assert "the video.\nWhat does the star do last?\nDecide" in prompt(cli, "ovo_forward", doc=5)


def test_each_time_has_a_clip_of_its_own(cli: Any) -> None:
    shown = [cli("show", "ovo_forward", "--sample", "--model", "dummy", "--doc", doc).out for doc in (4, 5)]
    assert "frame 7 at" in shown[0] and "11_0.mp4" in shown[0] and "frame 8 at" not in shown[0]
    assert "frame 15 at" in shown[1] and "11_1.mp4" in shown[1]


def test_the_mean_of_three_kinds_of_tasks(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "ovo_bench", {
        "ovo_backward": ["A", "none", "none"], "ovo_realtime": ["none"] * 6, "ovo_forward": ["1", "1", "No", "No", "No", "Yes"],
    })  # fmt: skip
    results, total = ran.results["results"], ran.results["groups"]["ovo_bench"]["total,none"]
    assert results["ovo_backward"]["score,none"] == pytest.approx(1 / 3) and results["ovo_realtime"]["unparsed"] == 6
    assert categories(ran, "ovo_forward", "task", "acc,none") == {"REC": 0.5, "SSR": 0.5, "CRR": 1.0}
    assert results["ovo_forward"]["score,none"] == pytest.approx(2 / 3) and total == pytest.approx(
        (1 / 3 + 0 + 2 / 3) / 3
    )
    assert ran.results["groups"]["ovo_bench"]["acc,none"] == pytest.approx(5 / 15)
