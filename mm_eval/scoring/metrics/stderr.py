"""Standard errors: how much a number would vary if other docs had been drawn.

Docs that belong together (questions on one picture) are drawn together: they are a cluster.
- A mean: closed form over clusters; with one doc per cluster it is the sample standard deviation over sqrt(n).
- A mean of category means: closed form over clusters within each category.
- Corpus metrics (BLEU, F1, perplexity): seeded bootstrap over clusters, from sums instead of texts.
- Any other function: jackknife over clusters, stratified by what the function groups by. If its values without a cluster show
  that it jumps, as a user's median does: half samples.
- A function that is declared not smooth (our median): bootstrap over clusters.
Fewer than two clusters, or a function that fails on a part of its docs: None and a note, never NaN or an exception.
This module chooses the method; metrics.resampling carries it out.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.metrics.resampling import (
    Members,
    StandardError,
    Statistic,
    Without,
    draws_of,
    draws_of_sums,
    draws_of_weights,
    half_samples,
    jackknife,
)
from mm_eval.scoring.metrics.traits import SumStatistics, Traits, traits_of
from mm_eval.values.distributions import beta_quantile, t_quantile
from mm_eval.values.errors import ScoringError, without_objects
from mm_eval.values.words import counted

if TYPE_CHECKING:
    from mm_eval.values.types import Floats

DEFAULT_SEED = 1234
LEAST_REPLICATES, MOST_VALUES = 200, 5_000_000
"""A jackknife that visits at most 5 million values is exact (2,200 docs that all differ, any number of docs of few kinds).
A larger one deletes several clusters at a time: at least 200 groups, which is within 5%."""
HALF_SAMPLES = 1000
"""The number of halves (within 2%); fewer if they would visit too many values."""


def pop_stddev(arr: Sequence[float]) -> float:
    """Standard deviation of a population: divided by n."""
    centre = math.fsum(arr) / len(arr)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in arr) / len(arr))


def sample_stddev(arr: Sequence[float]) -> float | None:
    """Standard deviation of a sample: divided by n - 1; None for fewer than two values."""
    return pop_stddev(arr) * math.sqrt(len(arr) / (len(arr) - 1)) if len(arr) > 1 else None


def mean_stderr(arr: Sequence[float], clusters: Sequence[Hashable] | None = None) -> float | None:
    """Standard error of a mean; None for fewer than two values or clusters.

    clusters: one per value; values of one cluster are drawn together.
    sqrt(G/(G-1) sum_g (sum_{i in g} (x_i - mean))^2) / n, over G clusters of n values. `lacking` says what it lacks where some
    clusters are much larger than others.
    """
    n, members = len(arr), None if clusters is None else _members(len(arr), clusters)
    count = n if members is None else len(members)
    if count < 2:
        return None
    centre = math.fsum(arr) / n
    if members is None:
        squares = math.fsum((x - centre) ** 2 for x in arr)
    else:
        deviations = [x - centre for x in arr]
        squares = math.fsum(math.fsum([deviations[i] for i in positions]) ** 2 for positions in members)
    return math.sqrt(count / (count - 1) * squares) / n


def freedom_of(sizes: Sequence[int]) -> float:
    """Degrees of freedom of the standard error of a mean over clusters of these sizes: G - 1 for G clusters of one size.

    Where some are large there are fewer, since most of the spread is theirs: 4 for 300 docs of their own and one cluster of 300.
    Satterthwaite's approximation for values that are independent (Bell and McCaffrey, as above).

    >>> freedom_of([2, 2, 2]), round(freedom_of([1] * 300 + [300]), 1)
    (2, 4.0)
    """
    if len(set(sizes)) < 2:
        return max(1, len(sizes) - 1)
    n, counts = sum(sizes), Counter(sizes)
    own = {size: size * size / (n * (1 - size / n)) for size in counts}
    crossed = math.fsum(own[size] * count for size, count in counts.items()) ** 2
    crossed -= math.fsum(own[size] ** 2 * count for size, count in counts.items())
    return max(1.0, n * n / (sum(size * size * count for size, count in counts.items()) + crossed))


def bootstrap_stderr(
    f: Statistic,
    xs: Sequence[Any],
    iters: int,
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = DEFAULT_SEED,
) -> float | None:
    """Bootstrap standard error of f(xs): the sample standard deviation over exactly `iters` seeded draws of clusters.

    A function that declares its sums (mean, corpus metrics) is not called per draw. None for fewer than two draws or clusters.
    """
    import numpy as np

    members, traits = _members(len(xs), clusters), traits_of(f)
    if len(members) < 2 or iters < 2:
        return None
    if traits.is_mean:
        rows = np.array([(float(x), 1.0) for x in xs])
        sums: SumStatistics | None = SumStatistics(rows, lambda totals: totals[:, 0] / totals[:, 1])
    else:
        sums = _trusted_sums(f, traits, xs)
    return _deviation(_draws(f, traits, sums, xs, members, iters, seed))


def stderr_for_metric(
    metric: Any, bootstrap_iters: int | None, *, clusters: Sequence[Hashable] | None = None, seed: int = DEFAULT_SEED
) -> Callable[[Sequence[object]], float | None] | None:
    """A function of the values that gives the standard error of their aggregation; None if bootstrap_iters is 0 or None.

    metric: an aggregation function, or a Metric or CorpusMetric whose aggregation is used.
    """
    if not bootstrap_iters or bootstrap_iters < 0:
        return None
    own = getattr(metric, "aggregation", None)
    chosen: Callable[..., Any] = own if callable(own) else metric
    return lambda xs: standard_error(chosen, xs, clusters, bootstrap_iters=bootstrap_iters, seed=seed).value


def standard_error(
    aggregation: Statistic,
    values: Sequence[object],
    clusters: Sequence[Hashable] | None = None,
    *,
    bootstrap_iters: int = 100_000,
    seed: int = DEFAULT_SEED,
    most_calls: int | None = None,
) -> StandardError:
    """The standard error of aggregation(values), by the method that fits the aggregation (see above).

    bootstrap_iters: draws of the methods that draw; 0: none of those.
    most_calls: how often the aggregation may be called at most; by default as often as the method needs.
    """
    of_mean = (
        clusters is None and len(values) > 1 and traits_of(aggregation).is_mean
    )  # they need no list of a million lists
    members = [] if of_mean else _members(len(values), clusters)
    if len(members) < 2 and not of_mean:
        of = f"{counted(len(members), 'cluster')} of {counted(len(values), 'document')}"
        return StandardError(None, f"{of}: no standard error.")
    try:
        return _by_kind(aggregation, values, clusters, members, bootstrap_iters, seed, most_calls)
    except Exception as error:
        name = getattr(aggregation, "__name__", repr(aggregation))
        raised = f"{name} raised {type(error).__name__} on a part of the documents ({without_objects(str(error))})"
        said = f"no standard error: {raised}."
        advice = (
            "" if isinstance(error, ScoringError) else " If it groups the documents, declare it with @stratified_by."
        )
        return StandardError(None, said + advice)


def _by_kind(
    aggregation: Statistic,
    values: Sequence[Any],
    clusters: Sequence[Hashable] | None,
    members: Members,
    iters: int,
    seed: int,
    most_calls: int | None,
) -> StandardError:
    traits = traits_of(aggregation)
    if traits.is_mean:
        known = [not math.isnan(value) for value in values]
        kept_clusters = list(compress(clusters, known)) if clusters is not None else None
        value = mean_stderr(list(compress(values, known)), kept_clusters)
        return _check_value(value, "fewer than two clusters with a number: no standard error.")
    if traits.influence is not None:
        strata = [traits.stratum(value) if traits.stratum else None for value in values]
        return _by_linearisation(traits.influence(values), strata, members)
    sums = _trusted_sums(aggregation, traits, values)
    if sums is None and traits.smooth is not False:
        return _without_draws(aggregation, traits, values, members, seed, most_calls)
    if iters < 2:
        return StandardError(None, f"bootstrap_iters is {iters}: no standard error.")
    if most_calls is not None and sums is None and traits.weighted is None:
        iters = min(iters, most_calls)
    deviation = _deviation(_draws(aggregation, traits, sums, values, members, iters, seed))
    return _check_value(deviation, "the number is not finite on some draws: no standard error.")


def lacking(aggregation: Statistic, values: Sequence[Any], clusters: Sequence[Hashable] | None) -> float:
    """The factor by which the standard error of aggregation(values) is too small because its clusters differ in size, at least 1.

    A large cluster draws the number towards itself, and so seems to differ little from it. The factor is the square root of
    CR2's variance over the plain one (Bell and McCaffrey, Survey Methodology 28, 2002). 1 for clusters of one size, and where the
    standard error comes from draws or a jackknife.
    """
    traits = traits_of(aggregation)
    if clusters is None or not (traits.is_mean or traits.influence):
        return 1.0
    if traits.influence is not None and not traits.is_mean:
        strata = [traits.stratum(value) if traits.stratum else None for value in values]
        return _lacking(traits.influence(values), strata, clusters)
    known = [not math.isnan(value) for value in values]
    kept = list(compress(values, known))
    centre = math.fsum(kept) / max(1, len(kept))
    return _lacking([value - centre for value in kept], [None] * len(kept), list(compress(clusters, known)))


def _lacking(influences: Sequence[float], strata: Sequence[Hashable], clusters: Sequence[Hashable]) -> float:
    if len(set(Counter(clusters).values())) < 2:
        return 1.0
    squares = _squares(influences, strata, _members(len(influences), clusters))
    known = [(found, sum(size for _, size in found)) for found in squares if len(found) > 1]
    plain = math.fsum(_variance(found) for found, _ in known)
    corrected = math.fsum(square / (1 - size / docs) for found, docs in known for square, size in found)
    return max(1.0, math.sqrt(corrected / plain)) if plain else 1.0


def _by_linearisation(influences: Sequence[float], strata: Sequence[Hashable], members: Members) -> StandardError:
    """sqrt(sum over strata of R/(R-1) sum over its R clusters of (the cluster's influences)^2).

    The formula is that of a total under stratified cluster sampling (Cochran, Sampling Techniques, 1977, section 11.10).
    """
    squares = _squares(influences, strata, members)
    known = [found for found in squares if len(found) > 1]
    if not known:
        return StandardError(None, "fewer than two clusters in every stratum: no standard error.")
    alone = len(squares) - len(known)
    note = f"{alone} of {len(squares)} strata have a single cluster, whose spread is unknown." if alone else ""
    variance = math.fsum(map(_variance, known))
    return _check_value(math.sqrt(variance), "the number is not finite: no standard error.", note)


def _squares(
    influences: Sequence[float], strata: Sequence[Hashable], members: Members
) -> list[list[tuple[float, int]]]:
    """Of each stratum, each cluster's (sum of influences)^2 and number of docs. Strata that share a cluster count as one."""
    joined: dict[Hashable, Hashable] = {}

    def first_of(stratum: Hashable) -> Hashable:
        while (above := joined.setdefault(stratum, stratum)) != stratum:
            joined[stratum] = stratum = joined[above]
        return stratum

    for positions in members:
        for i in positions[1:]:
            joined[first_of(strata[i])] = first_of(strata[positions[0]])
    squares: dict[Hashable, list[tuple[float, int]]] = {}
    for positions in members:
        total = math.fsum([influences[i] for i in positions])
        squares.setdefault(first_of(strata[positions[0]]), []).append((total * total, len(positions)))
    return list(squares.values())


def _variance(squares: Sequence[tuple[float, int]]) -> float:
    return len(squares) / (len(squares) - 1) * math.fsum(square for square, _ in squares)


def _without_draws(
    aggregation: Statistic,
    traits: Traits,
    values: Sequence[object],
    members: Members,
    seed: int,
    most_calls: int | None,
) -> StandardError:
    """The jackknife, or half samples if the function is not declared smooth and its values show that it jumps.

    A number that grows with the docs (a count) is half as large on half of them: it keeps the jackknife.
    """
    most = most_calls or max(LEAST_REPLICATES, MOST_VALUES // len(values))
    without = _trusted_without(aggregation, traits, values)
    found = jackknife(
        aggregation, values, members, traits.stratum, traits.content, without=without, most=most, seed=seed
    )
    if traits.smooth or not found.jumps:
        return found.error
    draws = min(HALF_SAMPLES, 2 * most)
    halves = half_samples(aggregation, values, members, traits.stratum, draws=draws, seed=seed)
    whole = float(aggregation(values))
    lost, spread = abs(whole - halves.centre), halves.error.value
    is_count = spread is not None and lost > spread / 2 and 0.4 * abs(whole) <= lost <= 0.6 * abs(whole)
    return found.error if is_count else halves.error


def _draws(
    f: Statistic,
    traits: Traits,
    sums: SumStatistics | None,
    values: Sequence[object],
    members: Members,
    iters: int,
    seed: int,
) -> Floats:
    """The values of f over bootstrap draws, by the cheapest method that f declares."""
    if sums is not None:
        return draws_of_sums(sums, members, iters, seed)
    if traits.weighted is not None:
        return draws_of_weights(traits.weighted, values, members, iters, seed)
    return draws_of(f, values, members, iters, seed)


def _trusted_sums(aggregation: Statistic, traits: Traits, values: Sequence[object]) -> SumStatistics | None:
    """The declared sums, if they give the aggregation's value (a subclass may have changed it)."""
    sums = traits.sums(values) if traits.sums else None
    if sums is None:
        return None
    value, expected = sums.value, float(aggregation(values))
    same = value == expected or math.isclose(value, expected, rel_tol=1e-6, abs_tol=1e-9)
    return sums if same or (math.isnan(value) and math.isnan(expected)) else None


def _trusted_without(aggregation: Statistic, traits: Traits, values: Sequence[object]) -> Without | None:
    """The declared way to leave values out, if it gives the aggregation's value without leaving any out."""
    without = traits.without(values) if traits.without else None
    return without if without is not None and without(()) == float(aggregation(values)) else None


def _members(count: int, clusters: Sequence[Hashable] | None) -> list[list[int]]:
    """The positions of each cluster's values, in order of first appearance."""
    if clusters is None:
        return [[i] for i in range(count)]
    groups: dict[Hashable, list[int]] = {}
    for i in range(count):
        groups.setdefault(clusters[i], []).append(i)
    return list(groups.values())


def _deviation(draws: Floats) -> float:
    """The sample standard deviation; exactly 0 for equal draws, whose mean may be rounded."""
    import numpy as np

    with np.errstate(invalid="ignore", over="ignore"):
        return 0.0 if draws.min() == draws.max() else float(np.std(draws, ddof=1))


def _check_value(value: float | None, reason: str, note: str = "") -> StandardError:
    return StandardError(value, note) if value is not None and math.isfinite(value) else StandardError(None, reason)


Interval = tuple[float, float]
TAIL = 0.025
"""The probability that a 95% interval leaves out at each end."""


def exact_share(right: float, count: float) -> Interval:
    """The Clopper-Pearson interval of the share of `right` among `count` independent docs; neither must be a whole number."""
    low = 0.0 if right <= 0 else beta_quantile(TAIL, right, count - right + 1)
    high = 1.0 if right >= count else beta_quantile(1 - TAIL, right + 1, count - right)
    return low, high


def share_interval(marks: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> Interval:
    """The interval of the share of true marks. clusters: one per mark; marks of one cluster were drawn together."""
    share, effective = sum(marks) / len(marks), effective_docs(marks, clusters)
    return exact_share(share * effective, effective)


def effective_docs(marks: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> float:
    """How many independent docs would tell the share of true marks as well as these, which may be drawn in clusters."""
    count = len(marks)
    share = sum(marks) / count
    sizes = [1] * count if clusters is None else list(Counter(clusters).values())
    groups = len(sizes)
    values = [float(mark) for mark in marks]
    stderr = mean_stderr(values, clusters)
    if share in (0.0, 1.0) or stderr is None:
        return groups
    if clusters is not None:
        stderr *= _lacking([value - share for value in values], [None] * count, clusters)
    effective = count if stderr == 0 else min(count, share * (1 - share) / stderr**2)
    if count > 1 and groups > 1:
        effective *= (t_quantile(1 - TAIL, count - 1) / t_quantile(1 - TAIL, freedom_of(sizes))) ** 2
    return effective


def combined(value: float, gaps: Sequence[Interval]) -> Interval:
    """The interval of a sum of independent parts (MOVER). gaps: how far each part's interval goes below and above its value."""
    down, up = (math.sqrt(math.fsum(gap[side] ** 2 for gap in gaps)) for side in (0, 1))
    return value - down, value + up


def difference_of_marks(
    first: Sequence[bool], second: Sequence[bool], clusters: Sequence[Hashable] | None = None
) -> Interval:
    """The interval of the second share minus the first over the same docs, from the docs gained and the docs lost."""
    gained = [b and not a for a, b in zip(first, second, strict=True)]
    lost = [a and not b for a, b in zip(first, second, strict=True)]
    up, down = sum(gained) / len(gained), sum(lost) / len(lost)
    (up_low, up_high), (down_low, down_high) = share_interval(gained, clusters), share_interval(lost, clusters)
    low, high = combined(up - down, [(up - up_low, up_high - up), (down_high - down, down - down_low)])
    return max(-1.0, low), min(1.0, high)


def unseen(clusters: int) -> float:
    """The largest share of clusters of another kind of which a sample of this many shows none with a probability of 2.5%."""
    return float(1 - TAIL ** (1 / clusters))


def ends_of(aggregation: Callable[[Sequence[object]], float], values: Sequence[object]) -> Interval | None:
    """The least and the greatest value of a number: with all docs right and with all wrong.

    None if the aggregation can't be evaluated for that, or does not depend on it.
    """
    try:
        right, wrong = (float(aggregation([marked(value, mark) for value in values])) for mark in (1.0, 0.0))
    except Exception:  # a task's own function may fail on values that no doc has
        return None
    return (min(right, wrong), max(right, wrong)) if math.isfinite(right - wrong) and right != wrong else None


def reach(aggregation: Callable[[Sequence[object]], float], values: Sequence[object]) -> float | None:
    """The range of a number: all docs right minus all docs wrong; None as in `ends_of`."""
    ends = ends_of(aggregation, values)
    return None if ends is None else ends[1] - ends[0]


def is_pair(value: object) -> bool:
    """Whether a doc's value is (category, score), as macro averages take it; from JSON it is a list."""
    return isinstance(value, (tuple, list)) and len(value) == 2 and isinstance(value[0], str)


def mark_of(value: Any) -> bool | None:
    """Whether a doc's value means right (1) or wrong (0): a number, the `score` of a mapping, or that of a pair."""
    if not isinstance(value, (bool, int, float)):
        value = value.get("score") if isinstance(value, Mapping) else value[1] if is_pair(value) else None
    return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None


def marked(value: Any, mark: float) -> object:
    """A doc's value if the doc were right (1) or wrong (0)."""
    if isinstance(value, Mapping):
        return {**value, "score": mark}
    return (value[0], mark) if is_pair(value) else mark


def independent_clusters(
    aggregation: Callable[[Sequence[object]], float], values: Sequence[object], clusters: Sequence[Hashable] | None
) -> int:
    """The number of clusters behind a number; with strata, the clusters of the smallest one times the number of strata.

    A cluster that is in several strata counts once.
    """
    stratum = traits_of(aggregation).stratum
    found: dict[Hashable, set[Hashable]] = {}
    for i, value in enumerate(values):
        key = stratum(value) if stratum else None
        found.setdefault(key, set()).add(i if clusters is None else clusters[i])
    return min(len(found) * min(map(len, found.values())), len(set().union(*found.values())))
