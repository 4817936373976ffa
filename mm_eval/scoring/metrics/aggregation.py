"""Aggregations: from the values of all docs to one number. Reductions: from the scores of a doc's repeats to one value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.metrics.metric import aggregation, reduction
from mm_eval.scoring.metrics.traits import SumStatistics, declare, not_smooth, of_log_likelihoods, smooth, traits_of
from mm_eval.values.errors import InvalidValue, ScoringError

if TYPE_CHECKING:
    from mm_eval.values.types import Floats


@aggregation("mean")
@declare(is_mean=True)
def mean(arr: Sequence[float]) -> float:
    """Arithmetic mean."""
    return _total(arr) / len(arr)


@aggregation("nanmean")
@declare(is_mean=True)
def nanmean(arr: Sequence[float]) -> float:
    """Mean of the values that are not NaN; NaN where there are none."""
    numbers = [value for value in arr if not math.isnan(value)]
    return mean(numbers) if numbers else math.nan


def _weighted_medians(values: Sequence[float], weights: Floats) -> Floats:
    """The medians of draws, shape (draws,). values: (docs,); weights: how often each is drawn, (draws, docs)."""
    import numpy as np

    order = np.argsort(np.asarray(values, dtype=float), kind="stable")
    ordered = np.asarray(values, dtype=float)[order]
    reached = np.cumsum(weights[:, order], axis=1)
    total = reached[:, -1:]
    low = (reached < (total + 1) // 2).sum(axis=1)
    high = (reached < total // 2 + 1).sum(axis=1)
    middle: Floats = (ordered[low] + ordered[high]) / 2
    return middle


@aggregation("median")
@declare(weighted=_weighted_medians)
@not_smooth
def median(arr: Sequence[float]) -> float:
    """The middle value, or the mean of the two middle ones."""
    ordered = sorted(arr)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _influence_on_means(items: Sequence[tuple[Hashable, float]]) -> list[float]:
    """How much each item moves the mean of category means: its distance from its category's mean / (docs * categories)."""
    by_category = _by_category(items)
    means = {category: mean(scores) for category, scores in by_category.items()}
    shares = {category: 1 / (len(scores) * len(by_category)) for category, scores in by_category.items()}
    return [(score - means[category]) * shares[category] for category, score in items]


@aggregation("mean_of_means")
@declare(stratum=lambda item: item[0], content=lambda item: item[1], influence=_influence_on_means, smooth=True)
def mean_of_means(items: Sequence[tuple[Hashable, float]]) -> float:
    """The mean over categories of each category's mean score (macro average); items are (category, score).

    Every category that has an item counts the same, however many items it has. A category is a text or a number.
    """
    return mean([mean(scores) for scores in _by_category(items).values()])


@aggregation("perplexity")
@of_log_likelihoods
@declare(sums=lambda items: _pair_sums([(item, 1.0) for item in items], -1.0, True))
def perplexity(items: Sequence[float]) -> float:
    """exp of minus the mean log-likelihood (nats)."""
    return _exp(-mean(items))


@aggregation("weighted_mean")
@declare(sums=lambda items: _pair_sums(items, 1.0, False))
def weighted_mean(items: Sequence[tuple[float, float]]) -> float:
    """Sum of the values over the sum of the weights; items are (value, weight)."""
    values, weights = zip(*items, strict=True)
    return _total(values) / _total(weights)


@aggregation("weighted_perplexity")
@of_log_likelihoods
@declare(sums=lambda items: _pair_sums(items, -1.0, True))
def weighted_perplexity(items: Sequence[tuple[float, float]]) -> float:
    """exp of minus the log-likelihood (nats) per unit; items are (log-likelihood, units)."""
    return _exp(-weighted_mean(items))


@aggregation("bits_per_byte")
@of_log_likelihoods
@declare(sums=lambda items: _pair_sums(items, -1.0 / math.log(2), False))
def bits_per_byte(items: Sequence[tuple[float, float]]) -> float:
    """Minus the log-likelihood per byte, in bits; items are (log-likelihood in nats, bytes)."""
    return -weighted_mean(items) / math.log(2)


@aggregation("bypass")
def bypass_agg(arr: object) -> float:
    """999, which marks a task that was answered and not scored."""
    return 999


@reduction("mean")
def mean_of_repeats(references: object, predictions: Sequence[float]) -> float:
    """Mean of the repeats' scores."""
    return math.fsum(predictions) / len(predictions)


@reduction("max")
def best_of_repeats(references: object, predictions: Sequence[float]) -> float:
    """Best of the repeats' scores."""
    return max(predictions)


@reduction("majority")
def majority_of_repeats(references: object, predictions: Sequence[object]) -> object:
    """The most frequent of the repeats' scores; the first of equally frequent ones."""
    return Counter(predictions).most_common(1)[0][0]


@reduction("pass@k", "pass_at_k")
def pass_at_k(
    references: object, predictions: Sequence[object], *, k: int | Sequence[int] | None = None
) -> dict[str, float]:
    """The chance that one of k repeats passes, without bias: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).

    predictions: the repeats' scores; a score other than 0 passes.
    k: one or several; by default 1, 3, 5, 10, 20, 50, 100 and n. A k above n has no estimate, so no key.
    """
    n = len(predictions)
    passed = sum(1 for score in predictions if score)
    wanted = _usual_k(n) if k is None else checked_k(k)
    return {f"pass@{size}": 1.0 - _all_fail(n, passed, size) for size in wanted if size <= n}


@reduction("avg_and_pass")
def avg_and_pass(
    references: Any, predictions: Sequence[Any], *, k: int | Sequence[int] | None = None
) -> dict[str, float]:
    """Both numbers that reports print of the same answers: their mean, "avg@n", and `pass_at_k` as "pass@k".

    k: as of `pass_at_k`, by default without 1, since a right answer in one is the mean.
    """
    n = len(predictions)
    wanted = [size for size in _usual_k(n) if size > 1] if k is None else k
    return {f"avg@{n}": mean_of_repeats(references, predictions), **pass_at_k(references, predictions, k=wanted)}


def average_of_runs(function: Callable[[Sequence[Any]], float]) -> Callable[[Sequence[Any]], float]:
    """An aggregation of docs that have a value a run each, shape (docs, runs): the mean of what `function` makes of each run.

    A doc is drawn with all of its runs. What the function declares of its values holds of each run.
    """
    traits = traits_of(function)

    def runs(items: Sequence[Sequence[object]]) -> list[list[Any]]:
        return [list(run) for run in zip(*items, strict=True)]

    def average(items: Sequence[Sequence[object]]) -> float:
        return mean([function(run) for run in runs(items)])

    def influences(items: Sequence[Sequence[object]]) -> list[float]:
        assert traits.influence is not None
        return [mean(of_doc) for of_doc in zip(*map(traits.influence, runs(items)), strict=True)]

    declared: dict[str, object] = {"smooth": traits.smooth, "fraction": traits.fraction, "range": traits.range}
    if (stratum := traits.stratum) is not None:
        declared["stratum"] = lambda item: stratum(item[0])
    if traits.influence is not None:
        declared["influence"] = influences
    if (weighted := traits.weighted) is not None:
        declared["weighted"] = lambda items, weights: sum(weighted(run, weights) for run in runs(items)) / len(items[0])
    if (sums := traits.sums) is not None:
        declared["sums"] = lambda items: _sums_of_runs([sums(run) for run in runs(items)])
    if hasattr(function, "number_of"):
        setattr(average, OF_OTHER_PROCESS, True)
    average.__name__ = f"average of {getattr(function, '__name__', 'an aggregation')}"
    return declare(**declared)(average)


OF_OTHER_PROCESS = "of_other_process"
"""The attribute of an average of runs whose function is called in a process of its own."""


def _sums_of_runs(found: Sequence[SumStatistics | None]) -> SumStatistics | None:
    """The sufficient statistics of the mean over runs: the columns of all of them beside each other."""
    import numpy as np

    known = [each for each in found if each is not None]
    if len(known) < len(found):
        return None
    ends = np.cumsum([0, *(each.rows.shape[1] for each in known)])

    def score(totals: Floats) -> Floats:
        parts = [each.score(totals[:, ends[place] : ends[place + 1]]) for place, each in enumerate(known)]
        made: Floats = np.mean(parts, axis=0)
        return made

    return SumStatistics(np.hstack([each.rows for each in known]), score)


def checked_k(k: Any) -> list[int]:
    """The values of k as a list. Raises ConfigError if one is not a whole number of at least 1."""
    values = list(k) if isinstance(k, (list, tuple, set, range)) else [k]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidValue(f"pass@k: k must be a whole number of at least 1, not {value!r}.")
    return values


def _by_category(items: Sequence[tuple[Hashable, float]]) -> dict[Hashable, list[float]]:
    scores: dict[Hashable, list[float]] = {}
    for category, score in items:
        scores.setdefault(category, []).append(score)
    return scores


def _total(values: Sequence[float]) -> float:
    """The sum, rounded once; infinite or NaN if the values are too large, or infinite both ways."""
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # fsum raises if the sum is not finite
        return sum(values)


def _exp(value: float) -> float:
    """e to the value; infinite if that is too large for a float, NaN for NaN."""
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _pair_sums(items: Sequence[Any], scale: float, exponential: bool) -> SumStatistics:
    """Sufficient statistics of scale * sum of values / sum of weights, or of its exponential. Items are (value, weight)."""
    import numpy as np

    def score(sums: Floats) -> Floats:
        with np.errstate(all="ignore"):
            ratio = scale * sums[:, 0] / sums[:, 1]
            result: Floats = np.exp(ratio) if exponential else ratio
        return result

    return SumStatistics(np.array([(float(a), float(b)) for a, b in items]), score)


def _all_fail(n: int, passed: int, k: int) -> float:
    """The chance that none of k repeats, drawn from n of which some passed, passes."""
    chance = 1.0
    for i in range(n - passed + 1, n + 1):
        chance *= max(0.0, 1.0 - k / i)
    return chance


def _usual_k(n: int) -> list[int]:
    """Small k densely, three a decade above 100, and n."""
    values = {1, 3, 5, 10, 20, 50, 100, n}
    if n > 100:
        span = math.log10(n) - 2.0
        points = max(2, int(span) * 3)
        values |= {int(10 ** (2.0 + i * span / points)) for i in range(1, points)}
    return sorted(value for value in values if 1 <= value <= n)


Rotation = tuple[Hashable, float, int]
"""(group, whether this row is right, how many rows its group has)."""


def _whole_groups(items: Sequence[Rotation]) -> dict[int, bool]:
    """{position of its last row: whether every row is right} of each group that has all of its rows."""
    last: dict[Hashable, int] = {}
    found: dict[Hashable, int] = {}
    right: dict[Hashable, bool] = {}
    for place, (group, hit, _) in enumerate(items):
        last[group] = place
        found[group] = found.get(group, 0) + 1
        right[group] = right.get(group, True) and bool(hit)
    return {place: right[group] for group, place in last.items() if found[group] >= items[place][2]}


@aggregation("circular_accuracy")
@smooth
@declare(stratum=lambda item: None, content=lambda item: item[1:], whole_clusters=True, marks=_whole_groups)
def circular_accuracy(items: Sequence[Rotation]) -> float:
    """The share of groups with every row right. items: one a row, (group, hit, rows of the group).

    A group that lacks rows (a limit, a failed request) is left out: some right rows make no right question. ScoringError if that
    leaves none. With the group as `cluster_key` the standard error is that of a mean over groups.
    """
    whole = _whole_groups(items).values()
    if not whole:
        raise ScoringError("no question has all of its rotations; a --limit cut them, or requests failed")
    return sum(whole) / len(whole)
