"""A sample is right or wrong only where its value is the best or the worst there is."""

from mm_eval.results.sample_rows import Marking
from tests.sets import each_of


@each_of(
    ("scores", "mark"),
    [
        ({"acc,none": 1.0}, True),
        ({"acc,none": False}, False),
        ({"judge_score,none": 0.7, "short,none": 1.0}, None),
        ({"f1,none": {"gold": "yes"}, "acc,none": 0}, False),
        ({"mme,none": {"score": 1.0, "category": "ocr"}}, True),
        ({"yes_rate,none": 1.0, "acc,none": 0.0}, False),
        ({"edits,none": 1.0}, False),
        ({"text,none": "yes"}, None),
        ({}, None),
    ],
)
def test_the_first_number_decides_in_its_direction(scores: dict[str, object], mark: bool | None) -> None:
    assert Marking({"yes_rate": None, "edits": False}).mark(scores) is mark


def test_a_verdict_is_right_at_the_upper_end_of_its_range_only() -> None:
    of_six = Marking(ends=(0.0, 6.0))
    assert [of_six.mark({"judge_score,none": value}) for value in (0, 1, 5, 6)] == [False, None, None, True]
    assert [Marking(ends=(-1.0, 1.0)).mark({"verdict,none": value}) for value in (-1, 0, 1)] == [False, None, True]
