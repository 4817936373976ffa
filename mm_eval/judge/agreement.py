"""How far two judges agree, how much of a verdict is noise, and what a judge's known errors do to its number.

    agreement(first, second, clusters).kappa.interval
    measured = measure(verdicts, labels, clusters)

Verdicts are nominal (right and wrong, or classes as text) or numbers. Every number has an interval with docs of one cluster
drawn together; `python benchmarks/coverage.py` prints how often the intervals hold the truth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import estimate, paired_difference, right_or_wrong
from mm_eval.scoring.metrics.stderr import Interval, effective_docs, share_interval, unseen
from mm_eval.scoring.metrics.traits import smooth
from mm_eval.values.distributions import CONFIDENCE, t_quantile
from mm_eval.values.errors import ScoringError
from mm_eval.values.types import Number

Pair = tuple[Any, Any]
Clusters = Sequence[Hashable] | None


def is_nominal(verdicts: Iterable[object]) -> bool:
    """Whether verdicts are classes: texts, or numbers of which each is 0 or 1."""
    return all(isinstance(verdict, str) or right_or_wrong(verdict) is not None for verdict in verdicts)


def kappa(one: Sequence[object], other: Sequence[object]) -> float:
    """Cohen's kappa: the share of equal verdicts beyond chance, 1 for two judges that never differ.

    Two judges that give one and the same verdict to every doc have 1, though that shows no skill.
    """
    count, mine, others = len(one), Counter(one), Counter(other)
    agree = sum(a == b for a, b in zip(one, other, strict=True)) / count
    chance = sum(times * others[verdict] for verdict, times in mine.items()) / count**2
    return 1.0 if chance == 1 else (agree - chance) / (1 - chance)


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's rank correlation, equal values sharing their mean rank; nan where all values of a side are equal."""
    import numpy as np

    ranks = [_ranks(np.asarray(values, dtype=float)) for values in (one, other)]
    ranks = [of_side - of_side.mean() for of_side in ranks]
    size = math.sqrt(float(ranks[0] @ ranks[0]) * float(ranks[1] @ ranks[1]))
    return float(ranks[0] @ ranks[1]) / size if size else math.nan


def _ranks(values: Any) -> Any:
    import numpy as np

    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[place]


@smooth
def _kappa_of(pairs: Sequence[Pair]) -> float:
    return kappa([a for a, _ in pairs], [b for _, b in pairs])


@smooth
def _spearman_of(pairs: Sequence[Pair]) -> float:
    return spearman([a for a, _ in pairs], [b for _, b in pairs])


@dataclass(frozen=True)
class Agreement:
    """How far two judges agree on the docs that both judged.

    equal: the share of docs with equal verdicts. kappa: of nominal verdicts. difference (second - first) and spearman: of
        numbers; spearman is None where a judge gives one and the same number.
    differing: the positions of the docs whose verdicts differ.
    """

    docs: int
    equal: Number
    kappa: Number | None
    difference: Number | None
    spearman: Number | None
    differing: tuple[int, ...]


def agreement(first: Sequence[Any], second: Sequence[Any], clusters: Clusters = None) -> Agreement:
    """Compares two judges' verdicts; those at one position are of the same doc. clusters: one per doc.

    Errors: ScoringError for no doc, and for texts beside numbers.
    """
    if not first:
        raise ScoringError("no document has verdicts of both judges.")
    same = [float(a == b) for a, b in zip(first, second, strict=True)]
    equal = estimate(mean, same, clusters)
    differing = tuple(place for place, mark in enumerate(same) if not mark)
    if is_nominal([*first, *second]):
        return Agreement(len(first), equal, _kappa(first, second, clusters), None, None, differing)
    if any(isinstance(verdict, str) for verdict in [*first, *second]):
        raise ScoringError("some verdicts are texts and some are numbers, so they can't be compared.")
    difference = paired_difference(mean, first, second, clusters)
    return Agreement(len(first), equal, None, difference, correlation(first, second, clusters), differing)


def _kappa(first: Sequence[object], second: Sequence[object], clusters: Clusters) -> Number:
    pairs = list(zip(first, second, strict=True))
    if len({*first, *second}) == 1:
        found = estimate(_kappa_of, pairs, clusters)
        return replace(found, exact=None, note="all verdicts of both judges are identical, so kappa is undefined.")
    found = _between_bounds(estimate(_kappa_of, pairs, clusters))
    if found.value == 1:  # no doc differs; the share that an unseen one can have bounds kappa from below
        chance = sum((times / len(first)) ** 2 for times in Counter(first).values())
        return replace(found, exact=(max(-1.0, 1 - unseen(found.clusters or 1) / (1 - chance)), 1.0), note="")
    return found


def correlation(first: Sequence[float], second: Sequence[float], clusters: Clusters = None) -> Number | None:
    """Spearman's correlation with its interval; None where a side has one value only, or fewer than three docs are there."""
    if len(first) < 3 or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    found = estimate(_spearman_of, [(float(a), float(b)) for a, b in zip(first, second, strict=True)], clusters)
    return (
        replace(found, note="too few different values for an interval.")
        if found.stderr is None
        else _between_bounds(found)
    )


def _between_bounds(found: Number) -> Number:
    """An estimate of a number from -1 to 1, its interval taken on Fisher's scale so that it ends within them."""
    if not found.stderr or abs(found.value) >= 1:
        return found
    centre = math.atanh(found.value)
    reach = t_quantile((1 + CONFIDENCE) / 2, found.freedom or 1) * found.stderr * found.lacking / (1 - found.value**2)
    return replace(found, exact=(math.tanh(centre - reach), math.tanh(centre + reach)))


def noise_share(verdicts: Sequence[Sequence[float]], clusters: Clusters = None) -> Number | None:
    """The share of a verdict's variance that is the judge's noise: how verdicts on one answer differ, of how all of them do.

    verdicts: those of each doc; docs with a single one are left out. One minus the intraclass correlation of single verdicts.
    None where fewer than two docs have several, or where no verdict differs from another.
    """
    several = [place for place, of_doc in enumerate(verdicts) if len(of_doc) > 1]
    kept = [tuple(map(float, verdicts[place])) for place in several]
    if len(kept) < 2 or len({value for of_doc in kept for value in of_doc}) == 1:
        return None
    found = estimate(_noise, kept, None if clusters is None else [clusters[place] for place in several])
    return replace(found, scale=(0.0, 1.0))


@smooth
def _noise(rows: Sequence[Sequence[float]]) -> float:
    """Within / (within + between), by the method of moments."""
    means = [math.fsum(row) / len(row) for row in rows]
    free = sum(len(row) - 1 for row in rows)
    within = math.fsum((x - m) ** 2 for row, m in zip(rows, means, strict=True) for x in row) / free
    centre = math.fsum(means) / len(means)
    spread = math.fsum((m - centre) ** 2 for m in means) / (len(means) - 1)
    between = max(0.0, spread - within * math.fsum(1 / len(row) for row in rows) / len(rows))
    return within / (within + between) if within + between else 0.0


@dataclass(frozen=True)
class Measured:
    """A judge measured on docs that people labelled, and the share of right answers corrected for its errors.

    sensitivity, specificity: (share, interval) of the right answers that the judge passes, and of the wrong ones that it fails.
    positives, negatives: the labelled right and wrong answers. judged: all verdicts. plain, corrected: (share, interval).
    """

    sensitivity: tuple[float, Interval]
    specificity: tuple[float, Interval]
    positives: int
    negatives: int
    judged: int
    plain: tuple[float, Interval]
    corrected: tuple[float, Interval]


def measure(verdicts: Sequence[bool], labels: Sequence[bool | None], clusters: Clusters = None) -> Measured:
    """Corrects the share of passed answers by what people said of some of them. labels: one per verdict, None without one.

    Errors: ScoringError where no right or no wrong answer is labelled, or the judge is not better than chance on the labels.
    """
    passed_right = [place for place, label in enumerate(labels) if label is True]
    passed_wrong = [place for place, label in enumerate(labels) if label is False]
    for places, kind in ((passed_right, "right"), (passed_wrong, "wrong")):
        if not places:
            raise ScoringError(
                f"no judged answer is labelled {kind}: the judge can't be measured.",
                hint="Label at least 20 right and 20 wrong answers.",
            )

    def counted(marks: list[bool], places: Sequence[int]) -> tuple[float, Interval, float]:
        of = None if clusters is None else [clusters[place] for place in places]
        return sum(marks) / len(marks), share_interval(marks, of), effective_docs(marks, of)

    sensitivity, of_right, positives = counted([verdicts[place] for place in passed_right], passed_right)
    specificity, of_wrong, negatives = counted([not verdicts[place] for place in passed_wrong], passed_wrong)
    share, interval, count = counted(list(verdicts), range(len(verdicts)))
    value = corrected(share, sensitivity, specificity)
    return Measured(
        (sensitivity, of_right),
        (specificity, of_wrong),
        len(passed_right),
        len(passed_wrong),
        len(verdicts),
        (share, interval),
        (value, corrected_interval(share, count, sensitivity, positives, specificity, negatives)),
    )


def corrected(p: float, sensitivity: float, specificity: float) -> float:
    """A share p of verdicts, corrected for the errors of a judge that was measured on labelled right and wrong answers.

    Lee et al., arXiv:2511.21140; clipped to [0, 1]. Errors: ScoringError where sensitivity + specificity <= 1.
    """
    return min(max((p + specificity - 1) / _slope(sensitivity, specificity), 0.0), 1.0)


def corrected_interval(
    p: float, n: float, sensitivity: float, positives: float, specificity: float, negatives: float
) -> Interval:
    """The 95% interval of `corrected`, clipped to [0, 1].

    As in the paper, every share is first moved towards one half (an answer of each kind added to the labels, 2 of each to
    the verdicts), so that a judge without an error on few labels is not taken for one that makes none.
    """
    _slope(sensitivity, specificity)
    z = t_quantile((1 + CONFIDENCE) / 2, 10_000)
    p, n = (n * p + z * z / 2) / (n + z * z), n + z * z
    sensitivity, positives = (positives * sensitivity + 1) / (positives + 2), positives + 2
    specificity, negatives = (negatives * specificity + 1) / (negatives + 2), negatives + 2
    slope = sensitivity + specificity - 1
    if slope <= 0:
        return 0.0, 1.0
    value = (p + specificity - 1) / slope
    moved = (
        value * sensitivity * (1 - sensitivity) / positives - (1 - value) * specificity * (1 - specificity) / negatives
    )
    centre = value + 2 * z * z * moved
    reach = z * math.sqrt(_variance(p, n, value, sensitivity, positives, specificity, negatives)) / slope
    return min(max(centre - reach, 0.0), 1.0), min(max(centre + reach, 0.0), 1.0)


def _slope(sensitivity: float, specificity: float) -> float:
    if sensitivity + specificity <= 1 + 1e-12:
        raise ScoringError(
            f"sensitivity {sensitivity:.2f} and specificity {specificity:.2f} sum to at most 1: on the labelled documents the "
            "judge is not better than chance, and no correction can mend its score.",
            hint="Check that 1 means right in the labels, or take another judge.",
        )
    return sensitivity + specificity - 1


def _variance(
    p: float, n: float, value: float, sensitivity: float, positives: float, specificity: float, negatives: float
) -> float:
    of_verdicts = p * (1 - p) / n
    of_negatives = (1 - value) ** 2 * specificity * (1 - specificity) / negatives
    return of_verdicts + of_negatives + value**2 * sensitivity * (1 - sensitivity) / positives
