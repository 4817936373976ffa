"""How far the probabilities of `mm-eval doubt` can be trusted, on made-up answers of models that make mistakes together.

    python benchmarks/doubt.py --repetitions 20
    python benchmarks/doubt.py --repetitions 20 --csv docs/tables/doubt.csv

The documents are not drawn from the model that `doubt` estimates. Each has a difficulty with heavy tails, to which models are
unlike sensitive; a tempting wrong answer whose pull is anything from 0 to 1; and each family of models has a tempting answer of
its own on a fifth of the documents. Models of a family repeat each other at a rate of their own. The gold is wrong on a share of
the documents: it is then another answer, mostly the tempting one.

Printed for each case, over all repetitions: of the documents whose stated probability is at least 90%, 50% to 90%, and so on, the
mean of what was stated and the share whose gold is truly wrong; and the share among the first 50. `independent` is Dawid and
Skene's model as it is, which takes mistakes for independent.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mm_eval.verbs.doubt.dawid_skene import GOLD, fit, independent

FIRST = 50
BINS = ((0.9, 1.01), (0.5, 0.9), (0.2, 0.5), (0.05, 0.2))


@dataclass(frozen=True)
class Case:
    """A benchmark and its models. families: how many models each has. stated: the prior; wrong: the true share of wrong golds."""

    name: str
    families: tuple[int, ...]
    docs: int = 1000
    options: int = 4
    wrong: float = 0.03
    stated: float = 0.03
    right: tuple[float, float] = (0.55, 0.9)
    copying: tuple[float, float] = (0.2, 0.7)


CASES = (
    Case("8 unlike models", (1,) * 8),
    Case("4 families of 3", (3,) * 4),
    Case("2 families of 5", (5, 5)),
    Case("one family of 6, 2 others", (6, 1, 1), copying=(0.7, 0.9)),
    Case("3 unlike models", (1,) * 3),
    Case("weak models", (3,) * 4, right=(0.35, 0.55)),
    Case("yes or no", (3,) * 4, options=2),
    Case("open answers", (3,) * 4, options=10),
    Case("200 documents", (3,) * 4, docs=200),
    Case("5000 documents, 1% wrong, 3% stated", (3,) * 4, docs=5000, wrong=0.01),
    Case("9% wrong, 3% stated", (3,) * 4, wrong=0.09),
    Case("no gold is wrong", (3,) * 4, wrong=0.0),
)


def drawn(case: Case, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """(answers, whether each gold is wrong, families): codes as `fit` takes them."""
    families = [family for family, size in enumerate(case.families) for _ in range(size)]
    models, docs, options = len(families), case.docs, case.options
    truth = generator.integers(options, size=docs)
    tempting = (truth + generator.integers(1, options, size=docs)) % options
    pull = generator.beta(0.7, 1.0, size=docs)
    difficulty = generator.standard_t(5, size=docs) * 1.2
    share = generator.uniform(*case.right, size=models)
    sharpness = generator.uniform(0.7, 1.3, size=models)
    level = np.log(share / (1 - share)) * 1.4

    def own(model: int, tempted: np.ndarray) -> np.ndarray:
        is_right = generator.random(docs) < 1 / (1 + np.exp(-(level[model] - sharpness[model] * difficulty)))
        other = (truth + generator.integers(1, options, size=docs)) % options
        wrong = np.where(generator.random(docs) < pull, tempted, other)
        return np.where(is_right, truth, wrong)

    answers = np.zeros((docs, models), dtype=np.int64)
    for family in range(len(case.families)):
        members = [model for model, of in enumerate(families) if of == family]
        own_lure = (truth + generator.integers(1, options, size=docs)) % options
        tempted = np.where(generator.random(docs) < 0.2, own_lure, tempting)
        leader = own(members[0], tempted)
        copying = generator.uniform(*case.copying)
        for model in members:
            copies = generator.random(docs) < (copying if len(members) > 1 else 0.0)
            answers[:, model] = np.where(copies, leader, own(model, tempted))
    is_wrong = generator.random(docs) < case.wrong
    other = np.where(
        generator.random(docs) < 0.7, tempting, (truth + generator.integers(1, options, size=docs)) % options
    )
    return coded(answers, np.where(is_wrong, other, truth)), is_wrong, families


def coded(answers: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Answers as codes: 0 for the gold, the wrong ones from 1 on in the order of their votes."""
    found = np.zeros_like(answers)
    for place, row in enumerate(answers):
        wrong = [int(each) for each in row if each != gold[place]]
        order = sorted(dict.fromkeys(wrong), key=lambda each: -wrong.count(each))
        codes = {each: number if number < 5 else -2 for number, each in enumerate(order, 1)}
        found[place] = [GOLD if each == gold[place] else codes[int(each)] for each in row]
    return found


def tried(case: Case, repetitions: int, seed: int) -> dict[str, list[tuple[np.ndarray, np.ndarray]]]:
    """{way: (stated probabilities, whether each gold is wrong) of each repetition}"""
    found: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {"doubt": [], "independent": []}
    for repetition in range(repetitions):
        answers, is_wrong, families = drawn(case, np.random.default_rng([seed, repetition]))
        options = np.full(case.docs, case.options)
        found["doubt"].append((fit(answers, options, families, case.stated).probabilities, is_wrong))
        found["independent"].append((independent(answers, options, case.stated), is_wrong))
    return found


def row(case: Case, way: str, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> dict[str, str]:
    """The figures of a case as cells."""
    stated, wrong = (np.concatenate([pair[place] for pair in pairs]) for place in (0, 1))
    cells = {"case": case.name, "way": way}
    for low, high in BINS:
        inside = (stated >= low) & (stated < high)
        name = f"stated {low:.0%} to {min(high, 1):.0%}"
        cells[name] = (
            f"{wrong[inside].mean():.0%} for {stated[inside].mean():.0%} ({inside.sum():,})" if inside.any() else "-"
        )
    first = [mine[np.argsort(-said, kind="stable")[:FIRST]].mean() for said, mine in pairs]
    cells["of the first 50"] = f"{np.mean(first):.0%}"
    least = [min(1.0, mine.sum() / FIRST) for _, mine in pairs]
    cells["at most"] = f"{np.mean(least):.0%}"
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--csv", help="a file for the table")
    given = parser.parse_args()
    rows = []
    for case in CASES:
        for way, pairs in tried(case, given.repetitions, given.seed).items():
            rows.append(row(case, way, pairs))
            print("  ".join(rows[-1].values()), flush=True)
    with open(given.csv, "w", newline="") if given.csv else sys.stdout as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
