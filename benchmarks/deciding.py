"""How well comparisons stop: documents used, verdicts kept, false alarms, and coverage of the intervals after stopping.

    python benchmarks/deciding.py [--recordings DIR ...] [--looks 20] [--orders 8] [--evaluations 1000]

DIR holds the answers of several models to one benchmark, a file or a run folder a model: samples/*.jsonl of runs, or lines
{"doc_id": 3, "score": 1}. Without it the answers of two benchmarks are drawn, as large as BLINK's validation split and MATH-V: 19
models on 1,901 docs, and 16 models on 3,040 docs; two models differ in 42% of the docs on average. Drawn answers show that the
method does what it states; they say nothing about these benchmarks.

Each table has a row for single docs, for clusters of six docs that share their difficulty, and for ten categories in which the
models differ by other amounts. Goals: at most 45% of the docs for pairs that differ, 97% the verdict of all docs, no wrong sign,
at most 5% false alarms, at least 94% coverage.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mm_eval.deciding.boundaries import group_sequential
from mm_eval.deciding.order import cut_into_looks, random_order
from mm_eval.deciding.sequences import LEAST_CLUSTERS, as_t, factor
from mm_eval.deciding.trial import DIFFERS, Trial, distinct, z_of
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import paired_difference
from mm_eval.values.distributions import t_two_sided

Floats = NDArray[np.float64]
ALPHA, FLIPS = 0.05, 10


@dataclass(frozen=True)
class Benchmark:
    """Scores of shape (models, docs), and for each doc its cluster and its category."""

    name: str
    scores: Floats
    clusters: NDArray[np.int64]
    categories: NDArray[np.int64]

    def pairs(self) -> Floats:
        """Differences of shape (pairs, docs)."""
        return np.array([self.scores[b] - self.scores[a] for a, b in combinations(range(len(self.scores)), 2)])


def drawn(name: str, models: int, docs: int, spread: float, seed: int) -> Benchmark:
    """Right with the chance of a logistic curve in skill minus difficulty, and a guess of one in four."""
    generator = np.random.default_rng(seed)
    skill = np.linspace(-spread, spread, models) + generator.normal(0, 0.1, models)
    logits = skill[:, None] - generator.normal(0, 0.9, docs)[None, :] + generator.normal(0, 0.9, (models, docs))
    chances = 0.25 + 0.75 / (1 + np.exp(-1.5 * logits))
    return Benchmark(
        name, (generator.random((models, docs)) < chances).astype(float), np.arange(docs), np.zeros(docs, int)
    )


def recorded(folder: Path) -> Benchmark:
    """The models of a folder on the docs that all of them have."""
    models: list[dict[int, float]] = []
    for entry in sorted(folder.iterdir()):
        files = sorted(entry.glob("samples/*.jsonl")) if entry.is_dir() else [entry] if entry.suffix == ".jsonl" else []
        if files:
            models.append({doc: score for file in files[:1] for doc, score in scores_of(file)})
    shared = sorted(set.intersection(*(set(model) for model in models))) if models else []
    if len(models) < 2 or not shared:
        raise SystemExit(f"{folder}: the answers of two models or more to the same docs are needed.")
    scores = np.array([[model[doc] for doc in shared] for model in models])
    return Benchmark(folder.name, scores, np.arange(len(shared)), np.zeros(len(shared), int))


def scores_of(file: Path) -> Iterator[tuple[int, float]]:
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        values = [row.get("score"), *row.get("scores", {}).values()]
        number = next((value for value in values if isinstance(value, (int, float))), None)
        if number is not None:
            yield int(row["doc_id"]), float(number)


def with_clusters(benchmark: Benchmark, seed: int) -> Benchmark:
    """Six docs of like difficulty a picture."""
    generator = np.random.default_rng(seed)
    hard = benchmark.scores.mean(axis=0) + generator.normal(0, 0.15, benchmark.scores.shape[1])
    docs = len(hard) - len(hard) % 6
    clusters = np.empty(docs, int)
    clusters[np.argsort(hard[:docs])] = np.arange(docs) // 6
    return Benchmark(f"{benchmark.name}, six docs a picture", benchmark.scores[:, :docs], clusters, np.zeros(docs, int))


def with_categories(benchmark: Benchmark, seed: int) -> Benchmark:
    """Ten categories, made of docs that some models find hard and others do not."""
    generator = np.random.default_rng(seed)
    first = benchmark.scores[::2].mean(axis=0) - benchmark.scores[1::2].mean(axis=0)
    order = np.argsort(first + generator.normal(0, 0.15, len(first)))
    categories = np.empty(len(order), int)
    categories[order] = np.arange(len(order)) * 10 // len(order)
    return Benchmark(f"{benchmark.name}, ten categories", benchmark.scores, benchmark.clusters, categories)


@dataclass(frozen=True)
class Order:
    """The clusters in random order, as columns of docs, and how many of them each look has seen."""

    columns: list[list[int]]
    ends: NDArray[np.int64]
    times: tuple[float, ...]


def an_order(benchmark: Benchmark, looks: int, seed: int) -> Order:
    clusters = {doc: int(each) for doc, each in enumerate(benchmark.clusters)}
    categories = {doc: int(each) for doc, each in enumerate(benchmark.categories)}
    columns = random_order(clusters, categories, seed, benchmark.name)
    sizes = np.cumsum([len(docs) for docs in columns])
    done = np.cumsum([len(docs) for docs in cut_into_looks(columns, looks)])
    return Order(columns, np.searchsorted(sizes, done) + 1, distinct([each / done[-1] for each in done]))


@dataclass
class Tested:
    """For each pair and look: the difference, its standard error, t, and the docs that changed."""

    difference: Floats
    stderr: Floats
    t: Floats
    flips: Floats
    clusters: NDArray[np.int64]

    @classmethod
    def of(cls, pairs: Floats, order: Order) -> Tested:
        sizes = np.array([len(docs) for docs in order.columns], float)
        sums = np.stack([pairs[:, docs].sum(axis=1) for docs in order.columns], axis=1)
        changed = np.stack([(pairs[:, docs] != 0).sum(axis=1) for docs in order.columns], axis=1)
        at = order.ends - 1

        def until(values: Floats) -> Floats:
            found: Floats = np.cumsum(values, axis=-1)[..., at]
            return found

        docs, total, groups = until(sizes), until(sums), order.ends.astype(float)
        centre = total / docs
        squares = until(sums**2) - 2 * centre * until(sums * sizes) + centre**2 * until(sizes**2)
        stderr = np.sqrt(np.maximum(squares, 0) * groups / np.maximum(groups - 1, 1)) / docs
        t = np.divide(centre, stderr, out=np.zeros_like(centre), where=stderr > 0)
        return cls(centre, stderr, t, until(changed), order.ends)

    def stops(self, order: Order) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The look (from 0) at which each pair ends, and whether it differs. Below ten flips nothing is tested here."""
        critical = group_sequential(order.times, ALPHA).critical
        needed = np.array([as_t(round(c, 9), max(1, int(n) - 1)) for c, n in zip(critical, self.clusters, strict=True)])
        crossed = (np.abs(self.t) >= needed) & (self.flips >= FLIPS)
        differs = np.any(crossed, axis=1, keepdims=True)[:, 0]
        return np.where(differs, crossed.argmax(axis=1), len(order.times) - 1), differs

    def verdict_of_all(self) -> Floats:
        """The sign of each pair's difference over all docs where it is significant, else 0."""
        p = np.array([t_two_sided(float(t), int(self.clusters[-1]) - 1) for t in self.t[:, -1]])
        return np.where(p < ALPHA, np.sign(self.t[:, -1]), 0.0)


def verdicts(benchmark: Benchmark, looks: int, orders: int) -> None:
    """Share of docs, same verdict, wrong sign."""
    pairs, same, wrong, count = benchmark.pairs(), 0, 0, 0
    used, near = list[float](), list[float]()
    for seed in range(orders):
        order = an_order(benchmark, looks, seed)
        tested = Tested.of(pairs, order)
        stop, differs = tested.stops(order)
        sign = np.where(differs, np.sign(tested.t[np.arange(len(pairs)), stop]), 0.0)
        whole = tested.verdict_of_all()
        shares = np.array(order.times)[stop]
        used += shares[whole != 0].tolist()
        near += shares.tolist()
        same += int((sign == whole).sum())
        wrong += int((sign * np.sign(tested.difference[:, -1]) < 0).sum())
        count += len(pairs)
        if not seed:
            _check(pairs, order, stop, differs)
    print(
        f"{benchmark.name:<48} {len(pairs):>4} pairs  {len(used) / count:>4.0%} differ  docs used by them {np.mean(used):>4.0%} "
        f"(by all {np.mean(near):>4.0%})  same verdict {same / count:.1%}  wrong sign {wrong} of {count:,}"
    )


def _check(pairs: Floats, order: Order, stop: NDArray[np.int64], differs: NDArray[np.bool_]) -> None:
    """The tables are made with arrays; a few pairs are tested as a release tests them, and must end alike."""
    step = max(1, len(pairs) // 3)
    for place in range(0, len(pairs), step):
        trial = Trial({("t", "a", "b"): order.times}, ALPHA)
        for look, end in enumerate(order.ends, 1):
            docs = [doc for column in order.columns[:end] for doc in column]
            clusters = [number for number, column in enumerate(order.columns[:end]) for _ in column]
            found = paired_difference(mean, [0.0] * len(docs), pairs[place][docs].tolist(), clusters)
            if (found.rarer or 0) >= FLIPS:
                trial.add(look, {("t", "a", "b"): found})
        ended = trial.ended[("t", "a", "b")]
        assert (ended.why == DIFFERS, ended.look - 1) == (bool(differs[place]), int(stop[place])), ended


def false_alarms(benchmark: Benchmark, looks: int, evaluations: int, seed: int) -> None:
    """Pairs made equal by swapping the answers doc by doc (cluster by cluster) at random: how many differ."""
    generator, pairs = np.random.default_rng(seed), benchmark.pairs()
    groups = int(benchmark.clusters.max()) + 1
    found, looking, alarms = 0, 0, 0
    for start in range(0, evaluations, 100):
        chosen = pairs[generator.integers(0, len(pairs), 100)]
        equal = chosen * generator.choice([-1.0, 1.0], (100, groups))[:, benchmark.clusters]
        order = an_order(benchmark, looks, 1000 + start)
        tested = Tested.of(equal, order)
        found += int(tested.stops(order)[1].sum())
        looking += int(_outside_sequence(tested).sum())
        alarms += int((np.abs(tested.t) > 1.96).any(axis=1).sum())
    print(
        f"{benchmark.name:<48} boundary {found / evaluations:.1%}  confidence sequence {looking / evaluations:.1%}  "
        f"(1.96 at each look: {alarms / evaluations:.0%})"
    )


def _outside_sequence(tested: Tested, truth: float | Floats = 0.0) -> NDArray[np.bool_]:
    """Whether the confidence sequence misses the truth at any look."""
    half = tested.clusters[-1] / 2
    factors = [
        as_t(round(factor(int(n), float(half)), 9), int(n) - 1) if n >= LEAST_CLUSTERS else math.inf
        for n in tested.clusters
    ]
    off = np.abs(tested.difference - truth) > np.array(factors) * tested.stderr
    found: NDArray[np.bool_] = np.any(off & (tested.flips >= FLIPS), axis=1, keepdims=True)[:, 0]
    return found


def coverage(benchmark: Benchmark, looks: int, evaluations: int, seed: int) -> None:
    """How often the intervals after stopping hold the truth: the difference over all docs, from which benchmarks are drawn."""
    generator, pairs = np.random.default_rng(seed), benchmark.pairs()
    members = [np.flatnonzero(benchmark.clusters == cluster) for cluster in np.unique(benchmark.clusters)]
    strata = [[m for m in members if benchmark.categories[m[0]] == c] for c in np.unique(benchmark.categories)]
    corrected = repeated = sequence = naive = above = 0
    wide = [0.0]
    for _ in range(evaluations):
        pair = pairs[int(generator.integers(0, len(pairs)))]
        again = [own[i] for own in strata for i in generator.integers(0, len(own), len(own))]
        docs = np.concatenate(again)
        clusters = np.repeat(np.arange(len(again)), [len(m) for m in again])
        redrawn = Benchmark(benchmark.name, np.zeros((1, len(docs))), clusters, benchmark.categories[docs])
        truth, order = float(pair.mean()), an_order(redrawn, looks, int(generator.integers(0, 2**31)))
        tested = Tested.of(pair[docs][None, :], order)
        look = int(tested.stops(order)[0][0])
        test = group_sequential(order.times, ALPHA)
        value, stderr, freedom = tested.difference[0, look], tested.stderr[0, look], int(tested.clusters[look]) - 1
        z = math.copysign(z_of(t_two_sided(float(value / stderr), freedom)), value) or 1e-12
        value = value or 1e-15
        scale = value / (z / math.sqrt(order.times[look]))
        chance = test.p_upper(truth / scale, look + 1, z) if z > 0 else 1 - test.p_upper(-truth / scale, look + 1, -z)
        corrected += 0.025 <= chance <= 0.975
        above += chance < 0.5
        half = as_t(round(test.critical[look], 9), freedom) * stderr
        repeated += abs(value - truth) <= half
        wide.append(half / stderr)
        sequence += not _outside_sequence(tested, truth)[0]
        naive += abs(value - truth) <= as_t(1.959964, freedom) * stderr
    shares = [f"{each / evaluations:.1%}" for each in (corrected, repeated, sequence, naive, above)]
    print(
        f"{benchmark.name:<48} corrected {shares[0]}  repeated {shares[1]}  sequence {shares[2]}  "
        f"usual {shares[3]}  corrected estimate above the truth {shares[4]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recordings", nargs="*", type=Path, default=[])
    parser.add_argument("--looks", type=int, default=20)
    parser.add_argument("--orders", type=int, default=8)
    parser.add_argument("--evaluations", type=int, default=1000)
    args = parser.parse_args()
    started = time.process_time()
    found = [recorded(folder) for folder in args.recordings] or [
        drawn("drawn, 19 models, 1,901 docs", 19, 1901, 0.9, 1),
        drawn("drawn, 16 models, 3,040 docs", 16, 3040, 0.9, 2),
    ]
    kinds = [each for one in found for each in (one, with_clusters(one, 3), with_categories(one, 4))]
    for one in found:
        flips = float(np.mean(one.pairs() != 0))
        scores = one.scores.mean(axis=1)
        print(f"{one.name}: scores {scores.min():.2f} to {scores.max():.2f}, {flips:.0%} of docs flip")
    print(f"\nAll pairs, {args.orders} orders, {args.looks} looks, alpha {ALPHA}")
    for each in kinds:
        verdicts(each, args.looks, args.orders)
    error = math.sqrt(ALPHA * (1 - ALPHA) / args.evaluations)
    print(f"\nFalse alarms of {args.evaluations:,} equal pairs (chance alone plays by {error:.1%})")
    for place, each in enumerate(kinds):
        false_alarms(each, args.looks, args.evaluations, place)
    print(f"\nCoverage of 95% intervals after stopping, {args.evaluations:,} benchmarks drawn anew")
    for place, each in enumerate(kinds):
        coverage(each, args.looks, args.evaluations, place)
    print(f"\n{time.process_time() - started:.0f} CPU seconds")


if __name__ == "__main__":
    main()
