"""The functions of the suites' `api.metrics` that task files call, with the values that these give."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def mean(arr: Sequence[float]) -> float:
    return sum(arr) / len(arr)


def nanmean(arr: Sequence[float]) -> float:
    import numpy as np

    return math.nan if len(arr) == 0 or all(np.isnan(arr)) else float(np.nanmean(arr))


def median(arr: Sequence[float]) -> float:
    """The value in the middle of the list as it is given, as both suites have it."""
    return arr[len(arr) // 2]


def bypass_agg(arr: object) -> int:
    return 999


def weighted_mean(items: Iterable[tuple[float, float]]) -> float:
    values, weights = zip(*items, strict=True)
    return float(sum(values) / sum(weights))


def perplexity(items: Sequence[float]) -> float:
    return math.exp(-mean(items))


def weighted_perplexity(items: Iterable[tuple[float, float]]) -> float:
    return math.exp(-weighted_mean(items))


def bits_per_byte(items: Iterable[tuple[float, float]]) -> float:
    return -weighted_mean(items) / math.log(2)


def pop_stddev(arr: Sequence[float]) -> float:
    middle = mean(arr)
    return math.sqrt(sum((x - middle) ** 2 for x in arr) / len(arr))


def sample_stddev(arr: Sequence[float]) -> float:
    middle = mean(arr)
    return math.sqrt(sum((x - middle) ** 2 for x in arr) / (len(arr) - 1))


def mean_stderr(arr: Sequence[float]) -> float:
    return sample_stddev(arr) / math.sqrt(len(arr))


def f1_score(items: Iterable[tuple[int, int]]) -> float:
    """F1 of the class 1, of pairs (gold, prediction)."""
    pairs = list(items)
    both = sum(1 for gold, said in pairs if gold == said == 1)
    named = sum(1 for gold, _ in pairs if gold == 1) + sum(1 for _, said in pairs if said == 1)
    return 2 * both / named if named else 0.0


def metric_max_over_ground_truths(
    metric_fn: Callable[[object, object], float], prediction: object, ground_truths: Iterable[object]
) -> float:
    """The best value of a metric over the right answers."""
    return max(metric_fn(prediction, truth) for truth in ground_truths)


def is_non_str_iterable(obj: object) -> bool:
    return isinstance(obj, Iterable) and not isinstance(obj, str)


def levenshtein_distance(s1: Sequence[object], s2: Sequence[object]) -> int:
    """How many insertions, deletions and replacements make one of the other.

    >>> levenshtein_distance("kitten", "sitting")
    3
    """
    above = list(range(len(s2) + 1))
    for row, one in enumerate(s1, 1):
        now = [row]
        for column, other in enumerate(s2, 1):
            now.append(min(above[column] + 1, now[-1] + 1, above[column - 1] + (one != other)))
        above = now
    return above[-1]


def anls(references: Sequence[str], predictions: Sequence[Any], thresh_hold: float = 0.5) -> dict[str, float]:
    """The similarity to the nearest right answer; 0 below the threshold. The length is that before spaces are joined."""
    said = predictions[0] if isinstance(predictions[0], str) else predictions[0][0]
    distances = []
    for truth in references:
        longest = max(len(truth.upper()), len(said.upper()))
        one, other = (" ".join(text.strip().lower().split()) for text in (truth, said))
        distances.append(levenshtein_distance(one, other) / longest if longest else 0.0)
    found = 1 - min(distances)
    return {"anls": 0 if found < thresh_hold else found}
