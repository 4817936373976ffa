"""POPE: does a model say that objects are in the picture that are not? Rates of the yes/no answers, "yes" being positive.

Source: Li et al. 2023, arXiv:2305.10355, and evaluate.py of github.com/AoiDragon/POPE.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mm_eval.scoring.filters.base import is_unanswered
from mm_eval.scoring.metrics import SumStatistics
from mm_eval.scoring.metrics.traits import declare

Sums = Any  # arrays of shape (draws,)


def _item(doc: Mapping[str, Any], answer: str, said: str) -> dict[str, Any]:
    missing = {"missing": True} if is_unanswered(answer) else {}
    return {"category": doc["category"], "gold": doc["answer"].strip().lower(), "said": said, **missing}


def pope_process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One answer, as the filter `pope_yes_no` reads it, for every rate."""
    item = _item(doc, results[0], str(results[0]))
    rates = dict.fromkeys(("precision", "recall", "f1", "f1_mean", "yes_rate"), item)
    return {**rates, "acc": float(item["said"] == item["gold"])}


def pope_lmms_process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One answer as lmms-eval reads it: only the whole answer yes or no counts, and the yes ratio is that of the gold answers."""
    item = _item(doc, results[0], str(results[0]).lower().strip())
    rates = dict.fromkeys(("pope_precision", "pope_recall", "pope_f1_score", "pope_yes_ratio"), item)
    rule = "whole_answer" if item["said"] in ("yes", "no") else "unparsed"
    return {**rates, "pope_accuracy": float(item["said"] == item["gold"]), "__rule__": rule}


def _counts(items: Sequence[Mapping[str, Any]]) -> Any:
    """A row for each item: true positive, wrongly or rightly yes, a gold yes that was missed, gold yes, said yes, 1.

    An answer that is missing (filtered, refused, cut before any text) is wrong: it counts as a yes to a gold no, and as a no to a
    gold yes, and only the share of those who said yes leaves it out.
    """
    rows = []
    for item in items:
        said_yes, gold = item["said"] == "yes", item["gold"] == "yes"
        missing = bool(item.get("missing"))
        yes, no = (not gold, gold) if missing else (said_yes, item["said"] == "no")
        rows.append((gold and yes, yes, gold and no, gold, said_yes and not missing, 1))
    return np.array(rows, dtype=float)


def _ratio(part: Sums, whole: Sums) -> Sums:
    """Part over whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=np.asarray(whole) > 0)


def _rate(of_counts: Callable[..., Sums], per_category: bool = False) -> Callable[[Sequence[Mapping[str, Any]]], float]:
    """An aggregation from a formula of the columns of `_counts`; per_category: the mean of its values over the categories."""

    def sums(items: Sequence[Mapping[str, Any]]) -> SumStatistics:
        rows = _counts(items)
        found = sorted({item["category"] for item in items}) if per_category else [None]
        of_item = np.array([item["category"] for item in items])
        columns = [rows if name is None else rows * (of_item == name)[:, None] for name in found]
        width = rows.shape[1]

        def score(totals: Sums) -> Sums:
            return np.mean([of_counts(*totals[:, i * width :][:, :width].T) for i in range(len(found))], axis=0)

        return SumStatistics(np.hstack(columns), score)

    @declare(sums=sums, fraction=True)
    def aggregation(items: Sequence[Mapping[str, Any]]) -> float:
        found = sums(items)
        return float(found.score(found.rows.sum(axis=0, keepdims=True))[0])

    return aggregation


precision = _rate(lambda hits, yes, missed, gold, said, count: _ratio(hits, yes))
recall = _rate(lambda hits, yes, missed, gold, said, count: _ratio(hits, gold))
f1 = _rate(lambda hits, yes, missed, gold, said, count: _ratio(2 * hits, yes + gold))
f1_mean = _rate(lambda hits, yes, missed, gold, said, count: _ratio(2 * hits, yes + gold), per_category=True)
answered_recall = _rate(lambda hits, yes, missed, gold, said, count: _ratio(hits, hits + missed))
answered_f1 = _rate(lambda hits, yes, missed, gold, said, count: _ratio(2 * hits, yes + hits + missed))
yes_rate = _rate(lambda hits, yes, missed, gold, said, count: said / count)
gold_yes_rate = _rate(lambda hits, yes, missed, gold, said, count: gold / count)
