"""A grader: it decides what each doc scores, and the scorer's metrics, reductions and aggregations stay."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from mm_eval.scorers import GenScorer, Scorer, build_scorer
from mm_eval.scoring.base import Grader, bounds_of, run_scorer
from mm_eval.values.errors import JudgeError
from mm_eval.values.types import Instance, MetricKey, ScoredDoc

METRICS = {"metric_list": [{"metric": "exact_match"}]}


@dataclass(kw_only=True)
class Given(Grader):
    """Gives docs their values, and none to those without."""

    values: Mapping[int, float]

    def grade(self, scorer: Scorer, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        for doc_id in by_doc.keys() - self.values.keys():
            self.ungraded[doc_id], self.ends[doc_id] = JudgeError("it said nothing."), (0.0, 1.0)
        self.entries = dict(self.values)
        scores = {doc_id: {"exact_match": [self.values[doc_id]]} if doc_id in self.values else {} for doc_id in by_doc}
        return {doc_id: ScoredDoc(doc_id, None, found) for doc_id, found in scores.items()}


def instances(count: int) -> dict[int, list[Instance]]:
    return {doc_id: [Instance("generate_until", "t", doc_id, {}, target="a", resps=["b"])] for doc_id in range(count)}


def graded(kind: Any, name: str, values: Mapping[int, float]) -> Scorer:
    scorer = build_scorer(METRICS, "generate_until", kind)
    scorer.grader = Given(name=name, values=values, no_value="nobody said anything.")
    run_scorer(scorer, instances(4))
    return scorer


@pytest.mark.parametrize(("name", "suffix"), [("judge", ""), ("judge@B", "@B")])
def test_the_scorer_aggregates_what_its_grader_gives(name: str, suffix: str) -> None:
    scorer = graded(None, name, {0: 1.0, 1: 1.0, 2: 0.0})
    [number] = scorer.results(scorer.reduced_docs, 0)
    assert number.key == MetricKey(f"exact_match{suffix}", "none") and number.value == pytest.approx(2 / 3)
    assert number.n == 3 and bounds_of(scorer, scorer.reduced_docs) == [0.5, 0.75]
    assert scorer.higher_is_better == {f"exact_match{suffix}": True} and scorer.label("exact_match") == str(number.key)
    assert scorer.key == f"{name}, none" and scorer.row_entries(1) == {name: 1.0} and scorer.row_entries(3) == {}
    assert not scorer.reads_answers and all(note.startswith(f"exact_match{suffix},none: ") for note in scorer.notes)


def test_a_metric_without_any_grade_has_no_value() -> None:
    scorer = graded(None, "judge@B", {})
    [number] = scorer.results(scorer.reduced_docs, 0)
    assert number.value is None and number.n == 0
    assert scorer.notes == ["exact_match@B,none: nobody said anything."]


class Own(GenScorer):
    """Has a way of its own to aggregate."""

    def aggregate(self, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], int]:
        return {"best,none": max(doc["exact_match"] for doc in self.reduced_docs.values())}, len(self.reduced_docs)


def test_an_aggregate_of_its_own_is_kept() -> None:
    scorer = graded(Own, "judge@B", {0: 0.25, 1: 0.5, 2: 0.0, 3: 0.0})
    [number] = scorer.results(scorer.reduced_docs, 0)
    assert (str(number.key), number.value, number.n) == ("best@B,none", 0.5, 4)


class Runs(GenScorer):
    """Has a way of its own to score."""

    def run(self, instances: Any) -> Any:
        raise AssertionError("the grader scores")


def test_a_scorer_that_runs_in_its_own_way_is_graded_all_the_same() -> None:
    scorer = graded(Runs, "judge", {0: 1.0, 1: 0.0, 2: 0.0, 3: 0.0})
    assert [number.value for number in scorer.results(scorer.reduced_docs, 0)] == [0.25]


def test_bounds_that_are_not_finite_are_a_note() -> None:
    """results.json holds no NaN: such bounds ended the run where it was written."""
    scorer = build_scorer(METRICS, "generate_until", None)
    scorer.metrics = [replace(metric, aggregation=lambda values: math.nan) for metric in scorer.metrics or ()]
    scorer.grader = Given(name="judge", values={0: 1.0}, no_value="nobody said anything.")
    run_scorer(scorer, instances(4))
    assert bounds_of(scorer, scorer.reduced_docs) is None and "no judge_bounds" in scorer.notes[-1]
