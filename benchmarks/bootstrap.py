"""What a resampled standard error costs, the fast and the plain way, and that both agree.

    python benchmarks/bootstrap.py [--plain_seconds 5]

BLEU of 1,000 docs x 1,000 draws, F1 and MCC of 2,000 docs x 100,000 draws, in CPU seconds. The plain way scores every draw of
docs anew; it is timed on as many draws as fit into --plain_seconds and extrapolated. Agreement: the same draws give the same
scores, and the standard errors differ by no more than what so few plain draws are uncertain by (one over sqrt(2 (draws - 1))).

HallusionBench's average of 20,000 docs is a jackknife: its fast and its plain way are the same replicates, and agree to 1e-12.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mm_eval.tasks.rules.whole_groups import whole_groups

from mm_eval.scoring.metrics.corpus import F1, MCC, Bleu
from mm_eval.scoring.metrics.stderr import bootstrap_stderr, standard_error
from mm_eval.scoring.metrics.traits import CorpusMetric, smooth

WORDS = [
    a + b
    for a in ("ba", "ko", "mi", "tu", "re", "sha", "lon")
    for b in ("da", "ne", "ri", "so", "lu", "ka", "ti", "po")
]


def sentences(docs: int) -> list[tuple[list[str], list[str]]]:
    """References of 5 to 40 words and answers that have about three of four words right."""
    generator = random.Random(0)
    items = []
    for _ in range(docs):
        reference = [generator.choice(WORDS) for _ in range(generator.randint(5, 40))]
        answer = [word if generator.random() < 0.75 else generator.choice(WORDS) for word in reference]
        items.append(([" ".join(reference)], [" ".join(answer)]))
    return items


def labels(docs: int) -> list[tuple[int, int]]:
    """Pairs of right and chosen label, four of five equal."""
    generator = random.Random(0)
    right = [generator.randint(0, 1) for _ in range(docs)]
    return [(label, label if generator.random() < 0.8 else 1 - label) for label in right]


def plain_bleu(items: Sequence[Any]) -> float:
    """BLEU of texts, counted anew."""
    import sacrebleu

    return float(sacrebleu.corpus_bleu([answers[0] for _, answers in items], [[refs[0] for refs, _ in items]]).score)


def plain_f1(items: Sequence[Any]) -> float:
    """F1 of label 1 by counting pairs."""
    hit = sum(1 for right, chosen in items if right == chosen == 1)
    wrong = sum(1 for right, chosen in items if right != chosen)
    return 2 * hit / (2 * hit + wrong) if hit or wrong else 0.0


def plain_mcc(items: Sequence[Any]) -> float:
    """MCC of two labels by counting pairs."""
    cells = [[0, 0], [0, 0]]
    for right, chosen in items:
        cells[right][chosen] += 1
    (tn, fp), (fn, tp) = cells
    spread = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(spread) if spread else 0.0


def measure(
    name: str, metric: CorpusMetric[Any, Any], plain: Callable[[Sequence[Any]], float], items: Sequence[Any], iters: int,
    plain_seconds: float,
) -> bool:  # fmt: skip
    """Prints one line of figures; whether both ways agree."""
    started = time.process_time()
    value = metric.aggregation(items)
    fast = bootstrap_stderr(metric.aggregation, items, iters) or math.nan
    seconds = time.process_time() - started

    sums = metric.sums(items)
    generator, drawn, difference = random.Random(1), list[float](), 0.0
    spent = 0.0
    while (spent < plain_seconds or len(drawn) < 20) and len(drawn) < iters:
        rows = generator.choices(range(len(items)), k=len(items))
        started = time.process_time()
        drawn.append(plain([items[i] for i in rows]))
        spent += time.process_time() - started
        if sums is not None and len(drawn) <= 100:
            same = float(sums.score(sums.rows[rows].sum(axis=0, keepdims=True))[0])
            difference = max(difference, abs(same - drawn[-1]))
    slow = float(np.std(drawn, ddof=1))
    uncertain = 1 / math.sqrt(2 * (len(drawn) - 1)) + 1 / math.sqrt(2 * (iters - 1))
    off = abs(fast - slow) / slow
    agrees = difference < 1e-9 and off < 3 * uncertain
    plain_cost = spent / len(drawn) * iters
    print(
        f"{name:<5} {len(items):>6,} docs x {iters:>7,} draws   value {value:9.4f}   "
        f"from sums {seconds:6.3f} CPU s (stderr {fast:.5f})   "
        f"plain {plain_cost:8.1f} CPU s, extrapolated from {len(drawn)} draws (stderr {slow:.5f})   "
        f"off by {off:.1%}, {'within' if off < 3 * uncertain else 'NOT within'} 3 x {uncertain:.1%}; "
        f"same draws differ by {difference:.0e}"
    )
    return agrees


def measure_jackknife(docs: int) -> bool:
    """Prints one line for shares of whole groups; whether both ways agree."""
    generator = random.Random(0)
    items = [
        {"right": generator.random() < 0.8, "question": (n // 6, n % 2), "figure": (n // 6, n % 3)} for n in range(docs)
    ]
    average, clusters = whole_groups("question", "figure", with_items=True), [n // 3 for n in range(docs)]
    plain = smooth(lambda items: average(items))
    found, seconds = list[float](), list[float]()
    for function in (average, plain):
        started = time.process_time()
        found.append(standard_error(function, items, clusters).value or math.nan)
        seconds.append(time.process_time() - started)
    agrees = math.isclose(*found, rel_tol=1e-12)
    print(
        f"whole groups {docs:>6,} docs   fast {seconds[0]:6.3f} CPU s   plain {seconds[1]:8.1f} CPU s: "
        f"{seconds[1] / seconds[0]:.0f} times   (stderr {found[0]:.7f}, {'equal' if agrees else 'NOT equal'})"
    )
    return agrees


def main() -> int:
    """Prints the figures; 1 where the two ways do not agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain_seconds", type=float, default=5.0, help="CPU seconds for each plain bootstrap")
    seconds = parser.parse_args().plain_seconds
    np.zeros(1) @ np.zeros(1)
    import sacrebleu  # noqa: F401  so that imports are in no figure

    agreed = [
        measure("BLEU", Bleu(), plain_bleu, sentences(1000), 1000, seconds),
        measure("F1", F1(), plain_f1, labels(2000), 100_000, seconds),
        measure("MCC", MCC(), plain_mcc, labels(2000), 100_000, seconds),
        measure_jackknife(20_000),
    ]
    return 0 if all(agreed) else 1


if __name__ == "__main__":
    raise SystemExit(main())
