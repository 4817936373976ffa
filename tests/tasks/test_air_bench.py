"""AIR-Bench, Chat: the judge reads the answer in both places, and its two scores count."""

import pytest
from mm_eval.tasks.air_bench.utils import judge_prompt, score, scores

from tests.sets import each_of

DOC = {"meta_info": "A bell {rings}.", "question": "What rings?", "answer_gt": "It is a bell."}
REPLIES = [
    ("8 7", [8, 7]), (" 10 1\n", [10, 1]), ("8  7", None), ("8, 7", None), ("8 7.5", None), ("0 7", None), ("8 11", None),
    ("", None),
]  # fmt: skip


@each_of(("reply", "found"), REPLIES)
def test_the_two_scores_of_a_reply(reply: str, found: list[int] | None) -> None:
    assert scores(reply) == found


def test_the_answer_stands_behind_the_reference_and_then_before_it() -> None:
    first, second = judge_prompt(DOC, "A cat.", []), judge_prompt(DOC, "A cat.", [[9, 2]])
    assert first is not None and second is not None and judge_prompt(DOC, "A cat.", [[9, 2], [3, 8]]) is None
    assert "[Detailed Audio Description]\nA bell {rings}.\n[Question]\nWhat rings?\n" in first
    parts = "[The Start of Assistant {}s Answer]\n{}\n[The End of Assistant {}s Answer]"
    assert parts.format(1, "It is a bell.", 1) in first and parts.format(2, "A cat.", 2) in first
    assert parts.format(1, "A cat.", 1) in second and parts.format(2, "It is a bell.", 2) in second
    assert score([[9, 2], [3, 8]], DOC, "A cat.") == pytest.approx(2.5)


def test_nothing_is_asked_about_an_empty_answer() -> None:
    assert judge_prompt(DOC, " \n", []) is None and score([], DOC, " \n") == 1.0
