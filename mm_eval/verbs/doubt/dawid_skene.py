"""The probability that a gold answer is wrong, from the answers of several models: Dawid and Skene's model with three additions.

Each document has a true answer. The gold is that answer with probability 1 - prior. A model gives the true answer with a
probability that depends on its ability and on how hard the document is; else it gives a wrong one. Without more than that, ten
models that agree on a wrong answer would prove any gold wrong, since independent mistakes hardly ever meet. Mistakes do meet:

- A hard document is hard for all models: difficulty is normal on the logistic scale, and its spread is estimated.
- A document has one tempting wrong answer. It is more or less tempting: there are three grades, whose shares are estimated.
- Models of one family repeat each other: a member gives the family's answer with an estimated probability, else its own.

    fit(answers, options, families, prior=0.03).probabilities
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

GOLD, MISSING, RARE = 0, -1, -2
"""Codes of answers: the gold; none that counts; a wrong answer that no other model gives, beyond the first `SLOTS`."""
SLOTS = 5
"""Different answers of a document that are told apart, with the gold. Of more wrong ones the most frequent are."""
NODES, WEIGHTS = (values for values in np.polynomial.hermite_e.hermegauss(9))
WEIGHTS = WEIGHTS / WEIGHTS.sum()
TEMPTING = np.array([0.1, 0.5, 0.9])
"""How much of its wrong answers a document's tempting one gets, in the three grades."""
GRADE_PRIOR = np.array([6.0, 6.0, 3.0])
"""Documents of each grade that are added to those that were seen, so that few documents do not settle the shares."""
SPREADS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
COPYING = np.array([0.0, 0.25, 0.5, 0.75, 0.95])
MOST_DOCS = 600
"""Documents from which the spread, the grades and the copying are estimated, drawn at random where there are more."""


@dataclass(frozen=True)
class Fitted:
    """What was estimated, and the posterior of each document.

    abilities: of each model, the share of documents of average difficulty that it answers right. spread: of difficulty.
    grades: shares of documents whose tempting answer gets 10%, 50% and 90% of wrong answers. copying: in a family.
    probabilities: that the gold is wrong. truths: the most probable answer other than the gold, as its code, 0 for one that no
    model gave.
    """

    abilities: Floats
    spread: float
    grades: Floats
    copying: float
    probabilities: Floats
    truths: Ints
    of_truth: Floats = field(repr=False)


def fit(answers: Ints, options: Ints, families: Sequence[int], prior: float) -> Fitted:
    """Estimates the model on documents and gives the probability that each gold is wrong.

    answers: (documents, models) codes: `GOLD`, a wrong answer from 1 on, `MISSING` or `RARE`. options: how many answers each
    document has, at least one more than differ. families: of each model, a number. prior: the share of golds that are wrong
    where another answer is right; it is not estimated.
    """
    patterns, place, _ = _patterns(answers, options)
    docs = np.random.default_rng(0).permutation(len(answers))[:MOST_DOCS]
    few, _, of_few = _patterns(answers[docs], options[docs])
    right, answered = _right_of(answers)
    has_family = len(set(families)) < len(families)

    def likelihood(spread: float, copying: float) -> tuple[float, float, float, Floats]:
        levels = _abilities(right, answered, spread, prior)
        found, grades = _likelihood_of_grades(few, of_few.astype(float), levels, spread, copying, families, prior)
        penalty = (spread - 1.25) ** 2 / 2 + 2 * (copying - 0.5) ** 2 * has_family
        return found - penalty, spread, copying, grades

    start = 0.5 if has_family else 0.0
    best = max((likelihood(spread, start) for spread in SPREADS), key=lambda each: each[0])
    if has_family:
        best = max((likelihood(best[1], copying) for copying in COPYING), key=lambda each: each[0])
        around = SPREADS[abs(SPREADS - best[1]) <= 1]
        best = max((likelihood(spread, best[2]) for spread in around), key=lambda each: each[0])
    _, spread, copying, grades = best
    levels = _abilities(right, answered, spread, prior)
    joint = np.concatenate(
        [
            _joint(part, levels, spread, copying, families, prior) @ grades
            for part in np.array_split(patterns, max(1, len(patterns) // 500))
        ]
    )
    posterior = joint / joint.sum(axis=1, keepdims=True)
    others = posterior[:, 1:]
    truths = np.where(others.argmax(axis=1) == SLOTS - 1, 0, others.argmax(axis=1) + 1)
    return Fitted(
        abilities=_logistic(levels),
        spread=float(spread),
        grades=grades,
        copying=float(copying),
        probabilities=others.sum(axis=1)[place],
        truths=truths[place],
        of_truth=others.max(axis=1)[place],
    )


def independent(answers: Ints, options: Ints, prior: float) -> Floats:
    """The same by Dawid and Skene's model as it is: mistakes of all models are independent and spread evenly. To compare with."""
    right, answered = _right_of(answers)
    patterns, place, _ = _patterns(answers, options)
    levels = _abilities(right, answered, 0.0, prior)
    flat = _joint(patterns, levels, 0.0, 0.0, range(answers.shape[1]), prior, np.array([0.0]))[:, :, 0]
    return np.asarray(1 - flat[:, 0] / flat.sum(axis=1))[place]


def _patterns(answers: Ints, options: Ints) -> tuple[Ints, Ints, Ints]:
    """The different rows (answers, then the count of options), the place of each document's among them, and their counts."""
    rows = np.column_stack([answers, options])
    patterns, place, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return patterns, place.reshape(-1), counts


def _right_of(answers: Ints) -> tuple[Ints, Ints]:
    """How many documents each model answered as the gold says, and how many it answered."""
    return (answers == GOLD).sum(axis=0), (answers != MISSING).sum(axis=0)


def _logistic(levels: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-levels)))


def _abilities(right: Ints, answered: Ints, spread: float, prior: float) -> Floats:
    """The ability of each model on the logistic scale at which its expected share of golds is the one it has.

    A model that answers all documents right is taken to have one wrong, and the other way round.
    """
    share = (right + 1) / (answered + 2) / (1 - prior)
    low, high = np.full(len(share), -12.0), np.full(len(share), 12.0)
    for _ in range(40):
        middle = (low + high) / 2
        expected = _logistic(middle[:, None] - spread * NODES) @ WEIGHTS
        low, high = np.where(expected < share, middle, low), np.where(expected < share, high, middle)
    return np.asarray(np.clip((low + high) / 2, -6, 6))


def _likelihood_of_grades(
    patterns: Ints,
    counts: Floats,
    levels: Floats,
    spread: float,
    copying: float,
    families: Sequence[int],
    prior: float,
) -> tuple[float, Floats]:
    """The log-likelihood at the best shares of the three grades, and these shares."""
    by_grade = _joint(patterns, levels, spread, copying, families, prior).sum(axis=1)
    scale = by_grade.max(axis=1, keepdims=True)
    by_grade, grades = by_grade / scale, GRADE_PRIOR / GRADE_PRIOR.sum()
    for _ in range(60):
        mine = by_grade * grades
        expected = (mine / mine.sum(axis=1, keepdims=True) * counts[:, None]).sum(axis=0) + GRADE_PRIOR
        grades = expected / expected.sum()
    found = float((np.log(by_grade @ grades) + np.log(scale[:, 0])) @ counts + GRADE_PRIOR @ np.log(grades))
    return found, grades


def _joint(
    patterns: Ints,
    levels: Floats,
    spread: float,
    copying: float,
    families: Sequence[int],
    prior: float,
    tempting: Floats = TEMPTING,
) -> Floats:
    """(patterns, truths, grades): the probability of each truth with these answers. Truth 0 is the gold, the last one an answer
    that no model gave (among those that are told apart)."""
    answers, options = patterns[:, :-1], patterns[:, -1].astype(float)
    slots = range(SLOTS + 1)  # the last: any answer that is not told apart
    given = np.stack([(answers == slot).any(axis=1) for slot in range(SLOTS)], axis=1)
    given[:, GOLD] = True
    unseen = np.maximum(options - given.sum(axis=1), 0)
    many = np.column_stack([given.astype(float), unseen])  # how many answers each slot stands for
    right = _logistic(levels[:, None] - spread * NODES)  # (models, nodes)
    found = np.zeros((len(patterns), SLOTS + 1, len(tempting)))
    for truth in slots:
        weight = np.full(len(patterns), 1 - prior) if truth == GOLD else many[:, truth] * prior / (options - 1)
        for tempted in slots:
            left = many[:, tempted] - (1 if tempted == truth else 0)
            if tempted == truth and truth != SLOTS:
                continue
            chance = weight * np.maximum(left, 0) / (options - 1)
            rows = np.flatnonzero(chance)
            if not len(rows):
                continue
            lure = SLOTS + 1 if truth == tempted else tempted  # two answers that no model gave, one of them the truth
            found_here = _of_answers(answers[rows], options[rows], right, truth, lure, tempting, copying, families)
            found[rows, truth] += chance[rows][:, None] * (found_here @ WEIGHTS)
    return found


def _of_answers(
    answers: Ints,
    options: Floats,
    right: Floats,
    truth: int,
    tempted: int,
    tempting: Floats,
    copying: float,
    families: Sequence[int],
) -> Floats:
    """(patterns, grades, nodes): the probability of the answers, given the true and the tempting one."""
    apart = (1 - tempting) / (options[:, None] - 1)  # (patterns, grades): any wrong answer but the tempting one
    lured = tempting + apart

    def of_wrong(slot: Ints) -> Floats:
        return np.where((slot == tempted)[:, None], lured, apart)

    def alone(model_right: Floats, slot: Ints) -> Floats:
        """The probability that a model answers with these slots."""
        wrong = (1 - model_right)[None, None, :] * of_wrong(slot)[:, :, None]
        of_slot = np.where((slot == truth)[:, None, None], model_right[None, None, :], wrong)
        return np.where((slot == MISSING)[:, None, None], 1.0, of_slot)

    product = np.ones((len(answers), len(tempting), right.shape[1]))
    for family in dict.fromkeys(families):
        members = [model for model, own in enumerate(families) if own == family]
        each = [alone(right[model], answers[:, model]) for model in members]
        if len(members) == 1 or not copying:
            for one in each:
                product *= one
            continue
        together = right[members].mean(axis=0)
        nobody, rest = np.ones_like(product), np.ones_like(product)
        for model, one in zip(members, each, strict=True):
            nobody = nobody * np.where((answers[:, model] == MISSING)[:, None, None], 1.0, (1 - copying) * one)
        of_family = np.zeros_like(product)
        for slot in range(SLOTS):
            says = (answers[:, members] == slot).any(axis=1)
            if not says.any():
                continue
            voiced = np.where(says[:, None, None], alone(together, np.full(len(answers), slot)), 0.0)
            with_slot = np.ones_like(product)
            for model, one in zip(members, each, strict=True):
                copies = copying * (answers[:, model] == slot)[:, None, None] + (1 - copying) * one
                with_slot = with_slot * np.where((answers[:, model] == MISSING)[:, None, None], 1.0, copies)
            of_family += voiced * with_slot
            rest = rest - voiced
        product *= of_family + np.maximum(rest, 0.0) * nobody
    return product
