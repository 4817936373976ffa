"""A grader: one more way to get the answers of documents into a scorer, such as the verdicts of another model.

A scorer with a grader keeps its metrics, reductions and aggregations. The grader alone decides what each document scores, and may
call `Scorer.run_docs` for the task's own rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mm_eval.values.errors import MMEvalError
from mm_eval.values.types import Instance, ReducedDoc, ScoredDoc

if TYPE_CHECKING:
    from mm_eval.scoring.base import Scorer


@dataclass(kw_only=True)
class Grader:
    """Base of all graders; override `grade`.

    name: as rows name it: its kind, or "KIND@NAME" for a further one, whose metrics are called "METRIC@NAME".
    reads_answers: whether the rules of the scorer's pipeline say how the model's answers were read.
    no_value: why a metric has no value where no doc was graded.
    ungraded: {doc id: why} of docs that were answered and have no value through no fault of the model. They are in no number.
    ends: {doc id: (worst, best value)} of these, as far as they are known; a value may be {metric: value}.
    entries: {doc id: what samples/ shows} of the docs graded last.
    """

    name: str
    reads_answers: bool = False
    no_value: str = ""
    ungraded: dict[int, MMEvalError] = field(default_factory=dict)
    ends: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    entries: dict[int, Any] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """What a further grader of a kind adds to the names of its metrics."""
        _, at, name = self.name.partition("@")
        return at + name

    def grade(self, scorer: Scorer, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        """The scores of all docs. One without a value has no scores and no error; it belongs into `ungraded`."""
        raise NotImplementedError


def run_scorer(scorer: Scorer, instances: Sequence[Instance]) -> Mapping[int, ScoredDoc]:
    """Scores the answers of instances by a scorer, or by its grader where it has one; the scorer keeps the results."""
    if scorer.grader is None:
        return scorer.run(instances)
    by_doc: dict[int, list[Instance]] = {}
    for instance in instances:
        by_doc.setdefault(instance.doc_id, []).append(instance)
    found = scorer.grader.grade(scorer, by_doc)
    scorer.set_results({doc_id: found[doc_id] for doc_id in by_doc})
    return scorer.raw_docs


def bounds_of(scorer: Scorer, docs: Mapping[int, ReducedDoc]) -> list[float] | None:
    """[low, high]: a scorer's first number with all ungraded docs at the worst, and at the best value.

    None where no doc is ungraded, and where the bounds can't be computed.
    """
    metric = next((metric.name for metric in scorer.metrics or ()), None)
    if scorer.grader is None or not scorer.grader.ends or metric is None:
        return None
    bounds: list[float] = []
    for end in (0, 1):
        values = {doc_id: doc[metric] for doc_id, doc in docs.items() if metric in doc}
        for doc_id, pair in scorer.grader.ends.items():
            bound = pair[end]
            values[doc_id] = bound[metric] if isinstance(bound, Mapping) and metric in bound else bound
        try:
            with scorer.draws.used(goes_on=False):
                bounds.append(float(scorer.aggregation_of(metric)([values[doc_id] for doc_id in sorted(values)])))
        except Exception as error:  # the task's own code
            scorer.notes.append(f"no {scorer.grader.name.partition('@')[0]}_bounds: {type(error).__name__}: {error}")
            return None
    return bounds
