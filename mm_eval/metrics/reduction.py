"""Reductions: the scores of a doc's repeats to one value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from mm_eval.errors import ConfigError
from mm_eval.metrics.metric import REDUCTIONS, reduction
from mm_eval.metrics.metric import take_first as _take_first

take_first = REDUCTIONS.register("take_first")(_take_first)


@reduction("mean")
def mean_of_repeats(references: Any, predictions: Sequence[float]) -> float:
    """Mean of the repeats' scores."""
    return math.fsum(predictions) / len(predictions)


@reduction("max")
def best_of_repeats(references: Any, predictions: Sequence[float]) -> float:
    """Best of the repeats' scores."""
    return max(predictions)


@reduction("majority")
def majority_of_repeats(references: Any, predictions: Sequence[Any]) -> Any:
    """The most frequent of the repeats' scores; of equally frequent ones the first."""
    return Counter(predictions).most_common(1)[0][0]


@reduction("pass@k", "pass_at_k")
def pass_at_k(references: Any, predictions: Sequence[Any], *, k: int | Sequence[int] | None = None) -> dict[str, float]:
    """The chance that one of k repeats passes, without bias: 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).

    predictions: the repeats' scores; what is not 0 passes.
    k: one or more; 1, 3, 5, 10, 20, 50, 100 and n when not given. A k above n has no estimate, so no key.
    """
    n = len(predictions)
    passed = sum(1 for score in predictions if score)
    wanted = _usual_k(n) if k is None else checked_k(k)
    return {f"pass@{size}": 1.0 - _all_fail(n, passed, size) for size in wanted if size <= n}


def checked_k(k: Any) -> list[int]:
    """The values of k as a list; ConfigError where one is no whole number of at least 1."""
    values = list(k) if isinstance(k, (list, tuple, set, range)) else [k]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"pass@k needs whole numbers of at least 1 as k, not {value!r}.")
    return values


def _all_fail(n: int, passed: int, k: int) -> float:
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
