"""How often a 95% interval holds the truth, by simulation.

    python benchmarks/coverage.py [--evaluations 2000] [--clusters 10,20,30,60,120]

Each evaluation draws pictures whose difficulty is known, asks two questions a picture, and computes the interval as a run or
`compare` does. A share of 2,000 evaluations plays by about 1% by chance. The first table should say 93% to 97% from 60 clusters
on; the second, where nearly all docs are right and intervals are exact, at least 95%. The third and the fourth are of judged
numbers: one verdict a doc is as honest as three, only wider; and what no repeat shows, a judge's own errors, needs labels.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mm_eval.tasks.mme.utils import mme_aggregate_results

from mm_eval.judge.agreement import agreement, corrected_interval, noise_share
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import estimate, paired_difference
from mm_eval.scoring.metrics.stderr import share_interval
from mm_eval.values.errors import ScoringError
from mm_eval.values.types import UNNAMED, Number

CATEGORIES = ("existence", "count", "position", "color", "OCR")
Simulation = tuple[Callable[[random.Random], Number], float]
"""Draws one evaluation, and what is true."""


def covered(simulated: Callable[[random.Random], Number], count: int, truth: float) -> float:
    """The share of `count` simulated evaluations whose interval holds the truth."""
    intervals = [simulated(random.Random(seed)).interval or (0.0, 0.0) for seed in range(count)]
    return sum(low <= truth <= high for low, high in intervals) / count


def _each(clusters: int) -> list[int]:
    return [i // 2 for i in range(2 * clusters)]


def a_mean(clusters: int) -> Simulation:
    """Two questions a picture, whose difficulty they share: the chance of a right answer is uniform in [0.2, 1]."""

    def simulate(generator: random.Random) -> Number:
        chances = [generator.uniform(0.2, 1) for _ in range(clusters)]
        values = [float(generator.random() < chance) for chance in chances for _ in range(2)]
        return estimate(mean, values, _each(clusters))

    return simulate, 0.6


def a_mean_with_one_large(clusters: int) -> Simulation:
    """As many docs on one picture as on all others together; 0.3 of the variance is the pictures'."""

    def simulate(generator: random.Random) -> Number:
        where = [*range(clusters), *[clusters] * clusters]
        shared = [generator.gauss(0, math.sqrt(0.3)) for _ in range(clusters + 1)]
        return estimate(mean, [shared[each] + generator.gauss(0, math.sqrt(0.7)) for each in where], where)

    return simulate, 0.0


def a_paired_mean(clusters: int) -> Simulation:
    """Two runs on the same pictures; the second is better by 0.1 on each."""

    def simulate(generator: random.Random) -> Number:
        chances = [generator.uniform(0.1, 0.9) for _ in range(clusters) for _ in range(2)]
        first = [float(generator.random() < chance) for chance in chances]
        second = [float(generator.random() < chance + 0.1) for chance in chances]
        return paired_difference(mean, first, second, _each(clusters))

    return simulate, 0.1


def _mme_docs(generator: random.Random, chances: Sequence[float], added: float = 0.0) -> list[dict[str, Any]]:
    return [
        {
            "category": CATEGORIES[picture % len(CATEGORIES)],
            "question_id": picture,
            "score": float(generator.random() < chance + added),
        }
        for picture, chance in enumerate(chances)
        for _ in range(2)
    ]


def an_mme_sum(clusters: int) -> Simulation:
    """Accuracy is E[p] = 0.6, accuracy+ E[p^2] = 0.4133, in each category, times 100."""

    def simulate(generator: random.Random) -> Number:
        docs = _mme_docs(generator, [generator.uniform(0.2, 1) for _ in range(clusters)])
        return estimate(mme_aggregate_results, docs, [doc["question_id"] for doc in docs])

    return simulate, len(CATEGORIES) * 100 * (0.6 + (1 - 0.2**3) / (3 * 0.8))


def an_mme_difference(clusters: int) -> Simulation:
    """The second run is better by 0.1 on each picture: accuracy rises by 0.1, accuracy+ by E[0.2 p + 0.01]."""

    def simulate(generator: random.Random) -> Number:
        chances = [generator.uniform(0.1, 0.9) for _ in range(clusters)]
        first, second = _mme_docs(generator, chances), _mme_docs(generator, chances, 0.1)
        return paired_difference(mme_aggregate_results, first, second, [doc["question_id"] for doc in first])

    return simulate, len(CATEGORIES) * 100 * (0.1 + 0.2 * 0.5 + 0.01)


def a_users_median(clusters: int) -> Simulation:
    """A function that mm-eval knows nothing of, over values that are skewed; a doc each."""

    def simulate(generator: random.Random) -> Number:
        return estimate(lambda values: statistics.median(values), [generator.expovariate(1) for _ in range(clusters)])

    return simulate, math.log(2)


def nearly_all_right(chance: float) -> Callable[[int], Simulation]:
    """Docs that each stand alone, right with a chance near 1."""

    def of(docs: int) -> Simulation:
        return (lambda generator: estimate(mean, [float(generator.random() < chance) for _ in range(docs)])), chance

    return of


NOISE = 0.43
"""The share of a verdict's variance that is the judge's noise."""


def judged(verdicts: int) -> Callable[[int], Simulation]:
    """Docs with several verdicts each; the chance that the judge passes an answer has a beta distribution of mean 0.6."""

    def of(docs: int) -> Simulation:
        def simulate(generator: random.Random) -> Number:
            return estimate(mean, [statistics.fmean(of_doc) for of_doc in _verdicts(generator, docs, verdicts)])

        return simulate, 0.6

    return of


def _margin(case: Callable[[int], Simulation], seed: int) -> float:
    return case(200)[0](random.Random(seed)).margin or 0.0


def _verdicts(generator: random.Random, docs: int, verdicts: int) -> list[list[float]]:
    sum_of_both = 1 / (1 - NOISE) - 1  # of the beta distribution's parameters
    chances = [generator.betavariate(0.6 * sum_of_both, 0.4 * sum_of_both) for _ in range(docs)]
    return [[float(generator.random() < chance) for _ in range(verdicts)] for chance in chances]


def a_noise_share(docs: int) -> Simulation:
    """The noise that three verdicts a doc show."""
    return lambda generator: _known(noise_share(_verdicts(generator, docs, 3))), NOISE


def a_kappa(docs: int) -> Simulation:
    """Two judges that each see the truth (60% right) in 85% of docs: they agree in 74.5%."""

    def simulate(generator: random.Random) -> Number:
        truth = [generator.random() < 0.6 for _ in range(docs)]
        first, second = ([float((generator.random() < 0.85) == right) for right in truth] for _ in range(2))
        return _known(agreement(first, second).kappa)

    passed = 0.6 * 0.85 + 0.4 * 0.15
    chance = passed**2 + (1 - passed) ** 2
    return simulate, (0.85**2 + 0.15**2 - chance) / (1 - chance)


def _known(found: Number | None) -> Number:
    return found or Number(UNNAMED, math.nan)


def by_people(corrected: bool, *, others: bool = False) -> Callable[[int], Simulation]:
    """300 docs judged with sensitivity 0.9 and specificity 0.8, 100 labelled: the share of right answers, given in percent.

    others: the labelled docs are not among the 300, as in the paper of Lee et al.; in a run they are. Labels from which nothing
    can be said (no wrong answer among them) leave the interval from 0 to 1.
    """

    def of(percent: int) -> Simulation:
        def simulate(generator: random.Random) -> Number:
            truth = [generator.random() < percent / 100 for _ in range(400 if others else 300)]
            verdicts = [generator.random() < (0.9 if right else 0.2) for right in truth]
            share = statistics.fmean(verdicts[:300])
            if not corrected:
                return Number(UNNAMED, share, exact=share_interval(verdicts[:300]))
            labelled = slice(300, None) if others else slice(100)
            kinds = {
                right: [v for v, mark in zip(verdicts[labelled], truth[labelled], strict=True) if mark is right]
                for right in (True, False)
            }
            try:
                passed, failed = statistics.fmean(kinds[True]), 1 - statistics.fmean(kinds[False])
                interval = corrected_interval(share, 300, passed, len(kinds[True]), failed, len(kinds[False]))
            except (ScoringError, statistics.StatisticsError):
                interval = (0.0, 1.0)
            return Number(UNNAMED, share, exact=interval)

        return simulate, percent / 100

    return of


CASES: dict[str, Callable[[int], Simulation]] = {
    "mean": a_mean,
    "mean, one picture with half of the docs": a_mean_with_one_large,
    "paired mean": a_paired_mean,
    "MME sum": an_mme_sum,
    "MME difference": an_mme_difference,
    "user's median": a_users_median,
}
HARD_CASES = {f"{chance:.0%} right": nearly_all_right(chance) for chance in (0.8, 0.9, 0.95, 0.98)}

JUDGED_CASES = {
    "1 verdict a doc": judged(1),
    "3 verdicts a doc": judged(3),
    "share of noise, 3 verdicts": a_noise_share,
    "kappa of two judges": a_kappa,
}
CORRECTED_CASES = {
    "the judge's number": by_people(corrected=False),
    "corrected, 100 of the docs labelled": by_people(corrected=True),
    "corrected, 100 other docs labelled": by_people(corrected=True, others=True),
}


def table(cases: dict[str, Callable[[int], Simulation]], sizes: Sequence[int], count: int, head: str) -> Iterator[str]:
    """A row a case, a column a size; each as soon as it is known."""
    yield f"| {head} | {' | '.join(map(str, sizes))} |"
    yield f"|---|{'---|' * len(sizes)}"
    for name, case in cases.items():
        shares = [covered(simulate, count, truth) for simulate, truth in map(case, sizes)]
        yield f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--clusters", default="10,20,30,60,120", metavar="N,...")
    args = parser.parse_args()
    sizes = [int(size) for size in args.clusters.split(",")]
    for line in table(CASES, sizes, args.evaluations, "pictures, two questions each"):
        print(line, flush=True)
    print()
    for line in table(HARD_CASES, [*sizes, 240], args.evaluations, "single docs"):
        print(line, flush=True)
    print()
    for line in table(
        JUDGED_CASES, [60, 200], args.evaluations, f"single docs, {NOISE:.0%} of a verdict's variance is noise"
    ):
        print(line, flush=True)
    widths = [statistics.fmean(_margin(judged(k), seed) for seed in range(200)) for k in (1, 3)]
    print(f"Half the interval at 200 docs: {widths[0]:.3f} with 1 verdict a doc, {widths[1]:.3f} with 3.\n")
    for line in table(CORRECTED_CASES, [50, 70, 90], args.evaluations, "300 docs, so many percent of them right"):
        print(line, flush=True)


if __name__ == "__main__":
    main()
