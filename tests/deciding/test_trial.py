"""The pairs of a release at their looks: tested, corrected for their number, ended."""

import numpy as np
import pytest

from mm_eval.deciding.boundaries import group_sequential
from mm_eval.deciding.trial import ALL_DOCS, BROKEN, DIFFERS, EQUIVALENT, Trial
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import paired_difference
from mm_eval.values.types import UNNAMED, Number

TIMES = [0.25, 0.5, 0.75, 1.0]
AB, AC = ("t", "a", "b"), ("t", "a", "c")


def a_difference(z: float, stderr: float = 0.01) -> Number:
    return Number(UNNAMED, z * stderr, stderr, n=10**6, clusters=10**6, freedom=10**6, rarer=10**5, scale=(-1, 1))


def test_a_pair_ends_where_its_boundary_is_crossed_and_not_before() -> None:
    trial = Trial({AB: TIMES})
    critical = group_sequential(tuple(TIMES), 0.05).critical
    trial.add(1, {AB: a_difference(critical[0] - 0.01)})
    trial.add(2, {AB: a_difference(-critical[1] + 0.01)})
    assert trial.open == [AB]
    trial.add(3, {AB: a_difference(-critical[2] - 0.01)})
    assert trial.ended[AB].why == DIFFERS and trial.ended[AB].look == 3
    found = trial.result(AB)
    assert found["spent"] < 0.05 and len(found["looks"]) == 3 and found["difference"] < 0
    assert abs(found["corrected"]["difference"]) < abs(found["difference"])
    assert found["corrected"]["interval"][1] < 0 and found["corrected"]["p"] < 0.05


def test_a_pair_that_differs_leaves_its_alpha_to_the_others() -> None:
    """Holm's correction: the second is tested with alpha / 2 while the first is open, and with alpha after it differs."""
    alone, halved = (group_sequential(tuple(TIMES), alpha).critical[2] for alpha in (0.05, 0.025))
    between = (alone + halved) / 2
    together = Trial({AB: TIMES, AC: TIMES})
    together.add(3, {AB: a_difference(1.0), AC: a_difference(between)})
    assert together.open == [AB, AC]
    passed_on = Trial({AB: TIMES, AC: TIMES})
    passed_on.add(3, {AC: a_difference(between), AB: a_difference(9.0)})
    assert {end.why for end in passed_on.ended.values()} == {DIFFERS} and not passed_on.open
    assert passed_on.looks[AC][-1].alpha == 0.05 and passed_on.looks[AB][-1].alpha == 0.025


def test_a_pair_within_the_margin_is_equivalent_and_one_at_the_end_is_open_to_both() -> None:
    trial = Trial({AB: TIMES, AC: TIMES}, margins={AB: 0.05})
    trial.add(2, {AB: a_difference(0.1), AC: a_difference(0.1)})
    assert trial.ended[AB].why == EQUIVALENT and AC in trial.open
    assert trial.result(AB)["corrected"] is None and trial.result(AB)["interval"][1] < 0.05
    trial.add(4, {AC: a_difference(0.3)})
    assert trial.ended[AC].why == ALL_DOCS


def test_two_models_that_answer_alike_are_equivalent_only_after_enough_docs() -> None:
    """No doc flipped: a standard error of 0 is no proof."""

    def alike(docs: int) -> Number:
        return paired_difference(mean, [1.0] * docs, [1.0] * docs)

    trial = Trial({AB: TIMES}, margins={AB: 0.01})
    trial.add(2, {AB: alike(300)})
    assert trial.open
    trial.add(3, {AB: alike(3000)})
    assert trial.ended[AB].why == EQUIVALENT


def test_a_look_without_new_docs_or_without_a_number_tests_nothing() -> None:
    trial = Trial({AB: [0.0, 0.0, 0.6, 1.0]})
    trial.add(1, {AB: a_difference(99)})
    trial.add(3, {AB: None})
    assert trial.open and not trial.looks
    trial.break_off(AB, 3)
    assert trial.ended[AB].why == BROKEN and trial.result(AB)["looks"] == []


@pytest.mark.full
def test_false_alarms_over_all_pairs_and_looks_stay_below_alpha() -> None:
    """Three equal models, looks from 40% of 200 docs on: the family of pairs errs in at most 5%."""
    generator, alarms, count = np.random.default_rng(5), 0, 60
    times = [(k + 1) / 10 for k in range(10)]
    for _ in range(count):
        answers = generator.binomial(1, generator.uniform(0.2, 1, 200), (3, 200)).astype(float)
        trial = Trial({("t", str(i), str(j)): times for i in range(3) for j in range(i)})
        for look in range(4, 11):
            docs = 20 * look
            first_and_second = {pair: (answers[int(pair[1])], answers[int(pair[2])]) for pair in trial.open}
            trial.add(
                look,
                {
                    pair: paired_difference(mean, a[:docs].tolist(), b[:docs].tolist())
                    for pair, (a, b) in first_and_second.items()
                },
            )
        alarms += any(end.why == DIFFERS for end in trial.ended.values())
    assert alarms / count <= 0.05 + 2 * (0.05 * 0.95 / count) ** 0.5


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_the_pairs_changes_nothing(order: int) -> None:
    trial = Trial(dict([(AB, TIMES), (AC, TIMES)][::order]))
    trial.add(2, dict([(AB, a_difference(3.5)), (AC, a_difference(3.1))][::order]))
    assert {pair: end.why for pair, end in trial.ended.items()} == {AB: DIFFERS, AC: DIFFERS}
