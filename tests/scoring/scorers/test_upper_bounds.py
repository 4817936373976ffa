"""Options that a server did not list: a metric that picks the likeliest option uses their bounds, no other metric does."""

from collections.abc import Sequence
from typing import Any

import pytest

from mm_eval.engine.packed import Rows
from mm_eval.engine.records import answer_of, answer_record, decode, encode
from mm_eval.scorers import build_scorer
from mm_eval.values.types import Answer, Slot, UpperBound
from tests.scoring.scorers.answered import choices
from tests.sets import each_of


def scored(metrics: Sequence[str], lls: Sequence[float], bounds: Sequence[int], target: int = 1) -> Any:
    """A doc whose options at some places have a bound; the scorer that scored it."""
    instances = choices(0, lls, target, greedy=(1,))
    for place in bounds:
        instances[place].resps = [UpperBound(instances[place].resps[0])]
    scorer = build_scorer({"name": "none", "metric_list": [{"metric": name} for name in metrics]}, "multiple_choice")
    scorer.run(instances)
    return scorer


@each_of(
    ("lls", "bounds", "target", "acc"),
    [
        ([-1.2, -0.5, -3.0, -3.0], [2, 3], 1, 1), ([-1.2, -0.5, -3.0, -3.0], [2, 3], 0, 0), ([-3.0, -0.5], [0], 1, 1),
        ([-1.2, -0.5, -3.0, -3.0], [2, 3], 2, 0),
    ],
)  # fmt: skip
def test_the_likeliest_listed_option_counts_above_all_bounds(
    lls: list[float], bounds: list[int], target: int, acc: int
) -> None:
    scorer = scored(["acc", "acc_norm", "exact_match_mc"], lls, bounds, target)
    assert scorer.reduced_docs == {0: {"acc": acc, "acc_norm": acc, "exact_match_mc": acc}}
    assert "another one is likelier for certain" in scorer.raw_docs[0].remarks[0]


@each_of(("lls", "bounds"), [([-3.0, -0.5, -0.5], [2]), ([-1.0, -1.0], [0, 1]), ([-9.0, -0.5], [1])])
def test_a_doc_whose_likeliest_option_is_not_certain_fails(lls: list[float], bounds: list[int]) -> None:
    error = str(scored(["acc"], lls, bounds).raw_docs[0].error)
    assert "the likeliest option is not certain" in error and "does not list" in error


@pytest.mark.parametrize("metric", ["brier_score", "choice_logprob", "logprob", "acc_mutual_info", "perplexity"])
def test_a_metric_that_needs_all_numbers_fails_the_doc(metric: str) -> None:
    error = str(scored(["acc", metric], [-1.2, -0.5, -3.0], [2]).raw_docs[0].error)
    assert f"{metric} needs the log-likelihoods of all options, and the server does not list c among" in error


def test_the_mark_is_recorded() -> None:
    answer = Answer(UpperBound((-3.0, False)), key="0" * 64)
    read = answer_of(decode(encode(answer_record(answer, [Slot("t", 0)]))[:-1]))
    assert read is not None and isinstance(read.output, UpperBound) and read.output == (-3.0, False)
    packed = Rows()
    kept = packed.answer(packed.add(answer)).output
    assert isinstance(kept, UpperBound)
    plain = answer_record(Answer((-3.0, False), key="0" * 64), [Slot("t", 0)])
    assert "bound" not in plain["output"]
