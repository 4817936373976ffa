"""Groups: micro, macro and functions over the leaf tasks, with standard errors."""

import math

import pytest

from mm_eval.config.group import MemberMetric
from mm_eval.scorers import GroupMetric, GroupResult, Member, aggregate_group
from mm_eval.scoring.groups import average_of
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import NO_SHARE, MetricKey, Number
from tests.sets import each_of


def member(value, stderr, n, metric="acc", pipeline="none"):
    return Member({f"{metric},{pipeline}": value, f"{metric}_stderr,{pipeline}": stderr}, n)


TASKS = {"a": member(0.9, 0.03, 100), "b": member(0.1, 0.09, 10)}


def test_micro_is_as_if_all_docs_were_one_task():
    result = aggregate_group(TASKS, [{"metric": "acc"}])
    assert isinstance(result, GroupResult) and (result.n, result.sizes) == (110, {"acc,none": 110})
    assert result.numbers["acc,none"] == pytest.approx((90 + 1) / 110)
    assert result.numbers["acc_stderr,none"] == pytest.approx(math.hypot(100 / 110 * 0.03, 10 / 110 * 0.09))


def test_fault_macro_groups_report_their_own_standard_error_not_the_pooled_one():
    result = aggregate_group(TASKS, [GroupMetric("acc", weight_by_size=False)])
    assert result.numbers["acc,none"] == pytest.approx(0.5)
    assert result.numbers["acc_stderr,none"] == pytest.approx(math.hypot(0.03, 0.09) / 2)


def test_micro_of_means_is_the_standard_error_of_all_docs_but_for_the_spread_between_tasks():
    same = {"a": member(0.5, 0.1, 25), "b": member(0.5, 0.1, 25)}
    assert aggregate_group(same, [{"metric": "acc"}]).numbers["acc_stderr,none"] == pytest.approx(0.1 / math.sqrt(2))


@pytest.mark.parametrize("missing", [None, "N/A", math.nan])
def test_the_standard_error_is_none_where_a_member_has_none(missing):
    result = aggregate_group({**TASKS, "c": member(0.5, missing, 5)}, [{"metric": "acc"}])
    assert result.numbers["acc,none"] is not None and result.numbers["acc_stderr,none"] is None
    assert result.notes == ["acc,none has no standard error, since these have none: c."]


def test_a_function_of_the_members_values_is_honoured_with_a_standard_error():
    result = aggregate_group(TASKS, [{"metric": "acc", "aggregation": max}])
    assert result.numbers["acc,none"] == 0.9
    assert result.numbers["acc_stderr,none"] == pytest.approx(0.03)

    def lm_evals(values, sizes, weight_by_size):
        return sum(v * s for v, s in zip(values, sizes, strict=True)) / sum(sizes) if weight_by_size else 0.0

    same = aggregate_group(TASKS, [{"metric": "acc", "aggregation": lm_evals}])
    assert same.numbers == pytest.approx(aggregate_group(TASKS, [{"metric": "acc"}]).numbers)
    assert aggregate_group(TASKS, [{"metric": "acc", "aggregation": "median"}]).numbers["acc,none"] == pytest.approx(
        0.5
    )


def test_a_function_that_fails_leaves_a_note():
    result = aggregate_group(TASKS, [{"metric": "acc", "aggregation": lambda values: 1 / 0}])
    assert result.numbers == {"acc,none": None, "acc_stderr,none": None}
    assert "ZeroDivisionError" in result.notes[0]


BOTH = {
    "a": Member({"em,strict": 0.5, "em,flex": 0.7, "alias": "x"}, 10),
    "b": Member({"em,strict": 0.2, "em,flex": 0.4}, 30),
}


@each_of(
    ("filters", "keys"),
    [
        ({}, {"em,strict", "em,flex"}), ({"filter_list": None}, {"em,strict", "em,flex"}),
        ({"filter_list": "strict"}, {"em,strict"}),
        ({"filter_list": ["flex", "strict"]}, {"em,strict", "em,flex"}), ({"filter_list": []}, set()),
        ({"filter_list": "nope"}, set()),
    ],
)  # fmt: skip
def test_filter_list_selects_pipelines(filters, keys):
    result = aggregate_group(BOTH, [{"metric": "em", **filters}])
    assert set(result.sizes) == keys
    assert result.n == 40


def test_a_metric_that_some_members_lack_is_of_the_others_with_a_note():
    result = aggregate_group({**TASKS, "c": Member({"em,none": 1.0}, 7)}, [{"metric": "acc"}])
    assert result.sizes == {"acc,none": 110} and result.n == 117
    assert result.notes == ["acc,none is of 2 of 3 tasks; without: c."]
    absent = aggregate_group(TASKS, [{"metric": "ac"}])
    assert absent.numbers == {} and "Did you mean 'acc'" in absent.notes[0]
    assert aggregate_group({"a": member(None, None, 3)}, [{"metric": "acc"}]).numbers == {}


def test_the_plain_name_of_a_metric_finds_its_reduced_forms():
    members = {name: member(0.5, 0.1, 10, "pass@1(exact_match)", "maj") for name in "ab"}
    result = aggregate_group(members, [{"metric": "exact_match"}])
    assert result.numbers["pass@1(exact_match),maj"] == 0.5
    assert result.numbers["pass@1(exact_match)_stderr,maj"] == pytest.approx(0.1 / math.sqrt(2))


def test_higher_is_better_is_passed_on_and_no_entries_give_no_numbers():
    assert aggregate_group(TASKS, [{"metric": "acc", "higher_is_better": False}]).higher_is_better == {"acc": False}
    assert aggregate_group(TASKS, None) == GroupResult({}, 110, {})
    assert aggregate_group({}, [{"metric": "acc"}]).numbers == {}


@each_of(
    ("entry", "message"),
    [
        ({"metrc": "acc"}, "Did you mean 'metric'"), ({"metric": "acc", "agregation": "mean"}, "Did you mean 'aggregation'"),
        ({"metric": "acc", "aggregation": "maen"}, "Did you mean 'mean'"),
        ({"metric": "acc", "weight_by_size": "no"}, "true or false"), ({"aggregation": "mean"}, "needs a `metric`"),
    ],
)  # fmt: skip
def test_a_wrong_entry_is_a_config_error(entry, message):
    with pytest.raises(ConfigError, match=message):
        aggregate_group(TASKS, [entry])


@each_of(
    ("scales", "of_parts", "value", "range_"),
    [
        ((100.0, 1.0), ((0.0, 1.0), (0.0, 100.0)), 0.5, (0.0, 100.0)),
        ((100.0, 1.0), (None, (0.0, 100.0)), 0.5, (0.0, 100.0)),
        ((1.0, 0.01), (None, (0.0, 100.0)), 0.005, None),
        ((1.0, 1.0), (None, NO_SHARE), 0.01, NO_SHARE),
        ((1.0, 0.001), (None, NO_SHARE), 0.01, None),
        ((1.0, 1.0), (None, None), 0.01, None),
    ],
)
def test_a_mean_of_unlike_metrics_in_points_is_no_share_where_a_model_earns_nearly_nothing(
    scales, of_parts, value, range_
):
    """0.5 of 100 points was shown as 50.0 in percent."""
    key = MetricKey("points", "none")
    parts = tuple(MemberMetric(name, key, scale) for name, scale in zip("ab", scales, strict=True))
    members = {
        name: {key: Number(key, value / scale, 0.1, n=9, scale=range_of)}
        for name, scale, range_of in zip("ab", scales, of_parts, strict=True)
    }
    found = average_of(GroupMetric("average", of=parts), members)
    assert found.value == pytest.approx(value) and found.scale == range_


def test_a_mean_of_unlike_metrics_of_which_one_has_no_exact_interval_and_none_varies() -> None:
    """All answers refused: every standard error is 0. The run ended in a traceback, and all its numbers were lost."""
    key = MetricKey("points", "none")
    parts = (MemberMetric("a", key, 1.0), MemberMetric("b", key, -1.0))
    members = {
        "a": {key: Number(key, 0.0, 0.0, exact=(0.0, 0.4), n=9)},
        "b": {key: Number(key, 0.0, 0.0, n=9)},
    }
    found = average_of(GroupMetric("average", of=parts), members)
    assert (found.value, found.stderr, found.interval) == (0, 0, pytest.approx((0, 0.2)))


@each_of("given", [math.nan, math.inf])
def test_a_groups_function_that_gives_no_finite_number_is_a_note(given):
    members = {
        name: Member({"acc,none": value, "acc_stderr,none": 0.1}, 10) for name, value in (("a", 0.5), ("b", 0.7))
    }
    found = aggregate_group(members, [{"metric": "acc", "aggregation": lambda values: given}])
    assert found.numbers["acc,none"] is None and any("aggregation raised" in note for note in found.notes)
