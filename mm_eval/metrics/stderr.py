"""Standard errors: what a number would vary by, had other docs been drawn.

Docs that belong together (questions on one picture) are drawn together: they are a cluster.
- A mean: closed form over clusters; with one doc a cluster it is the sample standard deviation over sqrt(n).
- Corpus metrics (BLEU, F1, perplexity): seeded bootstrap over clusters, from sums instead of texts.
- Any other function: jackknife over clusters, stratified by what the function groups by. Where its values without a cluster
  show that it jumps, as a user's median does: half samples.
- A function that is said not to be smooth (our median): bootstrap over clusters.
Fewer than two clusters, or a function that fails on a part of its docs: None and a note, never NaN or an exception.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mm_eval.errors import without_objects
from mm_eval.metrics.traits import SumStatistics, Traits, traits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEFAULT_SEED = 1234
LEAST_REPLICATES, MOST_VALUES = 200, 5_000_000
"""A jackknife is exact where it visits at most 5 million values (2,200 docs that all differ, any number of docs of few kinds);
else it deletes several clusters at a time: at least 200 groups, which is within 5%."""
HALF_SAMPLES = 1000
"""Halves that are drawn (within 2%), fewer where they would visit too many values."""
_CELLS = 4_000_000
"""Numbers held at a time by a bootstrap."""


class StandardError(NamedTuple):
    """A standard error, or None and the reason why there is none."""

    value: float | None
    note: str = ""


def pop_stddev(arr: Sequence[float]) -> float:
    """Standard deviation of a population: divided by n."""
    centre = math.fsum(arr) / len(arr)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in arr) / len(arr))


def sample_stddev(arr: Sequence[float]) -> float | None:
    """Standard deviation of a sample: divided by n - 1; None for fewer than two values."""
    if len(arr) < 2:
        return None
    return pop_stddev(arr) * math.sqrt(len(arr) / (len(arr) - 1))


def mean_stderr(arr: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float | None:
    """Standard error of a mean; None for fewer than two values or clusters.

    clusters: one a value; values of one cluster are drawn together. sqrt(G/(G-1) sum_g (sum_{i in g} (x_i - mean))^2) / n.
    """
    n = len(arr)
    if n < 2:
        return None
    centre = math.fsum(arr) / n
    sums: dict[Hashable, list[float]] = {}
    for i, x in enumerate(arr):
        sums.setdefault(i if clusters is None else clusters[i], []).append(x - centre)
    count = len(sums)
    if count < 2:
        return None
    squares = math.fsum(math.fsum(deviations) ** 2 for deviations in sums.values())
    return math.sqrt(count / (count - 1) * squares) / n


def bootstrap_stderr(
    f: Callable[[Sequence[Any]], float],
    xs: Sequence[Any],
    iters: int,
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = DEFAULT_SEED,
) -> float | None:
    """Bootstrap standard error of f(xs): the sample standard deviation over exactly `iters` seeded draws of clusters.

    A function that declares its sums (mean, corpus metrics) costs no call a draw. None for fewer than two draws or clusters.
    """
    members = _members(len(xs), clusters)
    if len(members) < 2 or iters < 2:
        return None
    draws = _draws(f, xs, members, iters, seed)
    return _spread(draws)


def stderr_for_metric(
    metric: Any, bootstrap_iters: int, *, clusters: Sequence[Hashable] | None = None, seed: int = DEFAULT_SEED
) -> Callable[[Sequence[Any]], float | None] | None:
    """The function that gives the standard error of an aggregation's value; None where bootstrap_iters is 0.

    metric: an aggregation function, or a Metric or CorpusMetric, whose aggregation is meant.
    """
    if bootstrap_iters <= 0:
        return None
    own = getattr(metric, "aggregation", None)
    chosen: Callable[..., Any] = own if callable(own) else metric
    return lambda xs: standard_error(chosen, xs, clusters, bootstrap_iters=bootstrap_iters, seed=seed).value


def standard_error(
    aggregation: Callable[[Sequence[Any]], float],
    values: Sequence[Any],
    clusters: Sequence[Hashable] | None = None,
    *,
    bootstrap_iters: int = 100_000,
    seed: int = DEFAULT_SEED,
) -> StandardError:
    """The standard error of aggregation(values), by the way that fits the aggregation (see above)."""
    traits = traits_of(aggregation)
    members = _members(len(values), clusters)
    if len(members) < 2:
        return StandardError(None, f"{len(members)} cluster of {len(values)} docs: no standard error.")
    try:
        return _by_kind(aggregation, traits, values, clusters, members, bootstrap_iters, seed)
    except Exception as error:
        name = getattr(aggregation, "__name__", repr(aggregation))
        return StandardError(
            None,
            f"no standard error: {name} raised {type(error).__name__} on a part of the docs ({without_objects(str(error))}). "
            "If it groups the docs, declare it with @stratified_by.",
        )


def _by_kind(
    aggregation: Callable[[Sequence[Any]], float],
    traits: Traits,
    values: Sequence[Any],
    clusters: Sequence[Hashable] | None,
    members: list[list[int]],
    iters: int,
    seed: int,
) -> StandardError:
    if traits.is_mean:
        kept = [i for i, value in enumerate(values) if not math.isnan(value)]
        kept_clusters = [clusters[i] for i in kept] if clusters is not None else None
        value = mean_stderr([values[i] for i in kept], kept_clusters)
        return _checked(value, "fewer than two clusters with a number: no standard error.")
    sums = _trusted_sums(aggregation, traits, values)
    if sums is None and traits.smooth is not False:
        return _by_parts(aggregation, traits, values, members, seed)
    if iters < 2:
        return StandardError(None, f"bootstrap_iters is {iters}: no standard error.")
    draws = _sum_draws(sums, members, iters, seed) if sums else _draws(aggregation, values, members, iters, seed)
    return _checked(_spread(draws), "the number is not finite on some draws: no standard error.")


def _by_parts(
    aggregation: Callable[[Sequence[Any]], float],
    traits: Traits,
    values: Sequence[Any],
    members: list[list[int]],
    seed: int,
) -> StandardError:
    """The jackknife, or half samples where the function has not said that it is smooth and its values show that it jumps.

    A number that grows with the docs (a count) is half as large on half of them: it keeps the jackknife.
    """
    from mm_eval.metrics.resampling import half_samples, jackknife

    most = max(LEAST_REPLICATES, MOST_VALUES // len(values))
    found = jackknife(aggregation, values, members, traits.stratum, traits.content, most=most, seed=seed)
    if traits.smooth or not found.jumps:
        return found.error
    draws = min(HALF_SAMPLES, 2 * most)
    halves = half_samples(aggregation, values, members, traits.stratum, draws=draws, seed=seed)
    whole = float(aggregation(values))
    lost, spread = abs(whole - halves.centre), halves.error.value
    is_count = spread is not None and lost > spread / 2 and 0.4 * abs(whole) <= lost <= 0.6 * abs(whole)
    return found.error if is_count else halves.error


def _checked(value: float | None, reason: str) -> StandardError:
    return StandardError(value) if value is not None and math.isfinite(value) else StandardError(None, reason)


def _members(count: int, clusters: Sequence[Hashable] | None) -> list[list[int]]:
    """The positions of each cluster's values, in order of first appearance."""
    if clusters is None:
        return [[i] for i in range(count)]
    groups: dict[Hashable, list[int]] = {}
    for i, cluster in enumerate(clusters):
        groups.setdefault(cluster, []).append(i)
    return list(groups.values())


def _trusted_sums(
    aggregation: Callable[[Sequence[Any]], float], traits: Traits, values: Sequence[Any]
) -> SumStatistics | None:
    """The declared sums, if they give the value that the aggregation gives (a subclass may have changed it)."""
    if traits.sums is None:
        return None
    sums = traits.sums(values)
    if sums is None:
        return None
    value, expected = float(sums.score(sums.rows.sum(axis=0, keepdims=True))[0]), float(aggregation(values))
    same = value == expected or math.isclose(value, expected, rel_tol=1e-6, abs_tol=1e-9)
    return sums if same or (math.isnan(value) and math.isnan(expected)) else None


def _draws(
    f: Callable[[Sequence[Any]], float], xs: Sequence[Any], members: list[list[int]], iters: int, seed: int
) -> NDArray[Any]:
    """f of `iters` draws of clusters, by the cheapest way that f declares."""
    import numpy as np

    traits = traits_of(f)
    if traits.is_mean:
        sums = SumStatistics(np.array([(float(x), 1.0) for x in xs]), lambda totals: totals[:, 0] / totals[:, 1])
        return _sum_draws(sums, members, iters, seed)
    declared = _trusted_sums(f, traits, xs)
    if declared is not None:
        return _sum_draws(declared, members, iters, seed)
    if traits.weighted is not None:
        owner = np.empty(len(xs), dtype=np.intp)
        for cluster, positions in enumerate(members):
            owner[positions] = cluster
        chunks = _counts(len(members), iters, seed, width=max(len(members), len(xs)))
        return np.concatenate([traits.weighted(xs, counts[:, owner]) for counts in chunks])
    generator = random.Random(seed)
    groups = [[xs[i] for i in positions] for positions in members]
    return np.array(
        [float(f([x for group in generator.choices(groups, k=len(groups)) for x in group])) for _ in range(iters)]
    )


def _sum_draws(sums: SumStatistics, members: list[list[int]], iters: int, seed: int) -> NDArray[Any]:
    """The values of `iters` draws of clusters, from sums of rows.

    Clusters with equal rows are drawn together, so that a confusion table costs as many columns as it has cells.
    """
    import numpy as np

    rows = np.asarray(sums.rows, dtype=float)
    if any(len(positions) > 1 for positions in members):
        rows = np.stack([rows[positions].sum(axis=0) for positions in members])
    distinct, how_often = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) * 8 > len(rows):
        chunks = _counts(len(rows), iters, seed, width=len(rows))
        return np.concatenate([sums.score(counts @ rows) for counts in chunks])
    generator = np.random.default_rng(seed)
    chances = how_often / how_often.sum()
    size = max(1, _CELLS // len(distinct))
    parts = []
    for start in range(0, iters, size):
        counts = generator.multinomial(len(rows), chances, size=min(size, iters - start))
        parts.append(sums.score(counts @ distinct))
    return np.concatenate(parts)


def _counts(clusters: int, iters: int, seed: int, width: int) -> list[NDArray[Any]]:
    """How often each cluster is drawn, in chunks of shape (draws, clusters)."""
    import numpy as np

    generator = np.random.default_rng(seed)
    size = max(1, _CELLS // width)

    def chunk(draws: int) -> NDArray[Any]:
        drawn = generator.integers(0, clusters, size=(draws, clusters))
        drawn += np.arange(draws)[:, None] * clusters
        return np.bincount(drawn.ravel(), minlength=draws * clusters).reshape(draws, clusters).astype(float)

    return _Chunks(chunk, iters, size)  # type: ignore[return-value]


class _Chunks:
    """An iterable of chunks, made when they are needed so that one is held at a time."""

    def __init__(self, make: Callable[[int], NDArray[Any]], total: int, size: int) -> None:
        self.make, self.total, self.size = make, total, size

    def __iter__(self) -> Any:
        for start in range(0, self.total, self.size):
            yield self.make(min(self.size, self.total - start))


def _spread(draws: NDArray[Any]) -> float | None:
    import numpy as np

    with np.errstate(invalid="ignore"):
        return float(np.std(draws, ddof=1)) if len(draws) > 1 else None
