"""Metric: how configs, names and arguments become one; aggregations and reductions."""

import importlib.metadata
import math

import pytest

from mm_eval.config.task_config import TaskConfig
from mm_eval.scoring.metrics.aggregation import (
    bits_per_byte,
    bypass_agg,
    mean,
    median,
    nanmean,
    pass_at_k,
    perplexity,
    weighted_mean,
    weighted_perplexity,
)
from mm_eval.scoring.metrics.corpus import Bleu
from mm_eval.scoring.metrics.metric import (
    AGGREGATIONS,
    DEFAULT_METRICS,
    METRIC_KEYS,
    METRICS,
    REDUCTIONS,
    AggregationFn,
    Metric,
    MetricFn,
    ReductionFn,
    aggregation,
    metric,
    reduction,
    register_aggregation,
    register_metric,
    register_reduction,
    take_first,
)
from mm_eval.scoring.metrics.traits import filter_kwargs
from mm_eval.scoring.of_task import scorers_of
from mm_eval.values import registry
from mm_eval.values.errors import ConfigError
from tests.sets import each_of

METRIC_NAMES = [
    "acc",
    "acc_norm",
    "acc_bytes",
    "acc_mutual_info",
    "exact_match_mc",
    "bpb",
    "logprob",
    "brier_score",
    "choice_logprob",
    "choice_prob_norm",
    "choice_logprob_norm",
    "likelihood",
    "exact_match",
    "anls",
    "relaxed_accuracy",
    "vqa_accuracy",
    "perplexity",
    "word_perplexity",
    "byte_perplexity",
    "bits_per_byte",
    "bleu",
    "chrf",
    "chrf++",
    "ter",
    "f1",
    "mcc",
    "bypass",
]


@pytest.mark.parametrize(
    ("registry", "names"),
    [
        (METRICS, METRIC_NAMES),
        (
            AGGREGATIONS,
            [
                "mean",
                "median",
                "nanmean",
                "weighted_mean",
                "perplexity",
                "weighted_perplexity",
                "bits_per_byte",
                "bypass",
            ],
        ),
        (REDUCTIONS, ["take_first", "mean", "max", "majority", "pass@k"]),
    ],
)
def test_every_name_is_registered_with_a_line_of_meaning(registry, names):
    assert set(names) <= set(registry.names())
    for name in names:
        assert len(registry.summary(name)) > 10, name


@each_of("kind", sorted(DEFAULT_METRICS))
def test_default_metrics_fit_their_output_type(kind):
    made = [Metric.from_dict({"metric": name}, kind) for name in DEFAULT_METRICS[kind]]
    assert [one.name for one in made] == list(DEFAULT_METRICS[kind])


def test_a_flat_yaml_entry_and_a_normalised_one_are_the_same():
    flat = Metric.from_dict(
        {"metric": "exact_match", "ignore_case": True, "aggregation": "median", "higher_is_better": False}
    )
    nested = Metric.from_dict(
        {"metric": "exact_match", "kwargs": {"ignore_case": True}, "aggregation": median, "higher_is_better": False,
         "reduction": None}
    )  # fmt: skip
    assert flat == nested
    assert flat.compute(["A"], ["a"]) == {"exact_match": [1]}
    assert set(METRIC_KEYS) == {"metric", "aggregation", "higher_is_better", "reduction", "kwargs", "worst", "range"}


def test_a_range_says_what_a_missing_answer_scores_under_a_mean() -> None:
    entry = {"metric": "exact_match", "range": [1, 5]}
    assert (
        Metric.from_dict(entry).of_missing == 1
        and Metric.from_dict({**entry, "higher_is_better": False}).of_missing == 5
    )
    assert Metric.from_dict({**entry, "worst": 0}).of_missing == 0
    assert Metric.from_dict({**entry, "aggregation": "median"}).of_missing is None  # its docs may have another scale
    assert Metric.from_dict({**entry, "higher_is_better": None}).of_missing is None
    with pytest.raises(ConfigError, match="two numbers"):
        Metric.from_dict({"metric": "exact_match", "range": [0, float("inf")]})


@each_of(
    ("entry", "message"),
    [
        ({"metric": "exact_mach"}, "Did you mean 'exact_match'"),
        ({"metric": "exact_match", "ignore_cse": True}, "Did you mean 'ignore_case'"),
        ({"metric": "acc", "aggregation": "maen"}, "Did you mean 'mean'"),
        ({"metric": "acc", "reduction": "tak_first"}, "Did you mean 'take_first'"),
        ({"metric": "exact_match", "reduction": {"function": "pass@k", "kk": 1}}, "no argument 'kk'"),
        ({"aggregation": "mean"}, "needs `metric`"),
        ({"metric": 3}, "a registered name or a function"),
        ({"metric": "acc", "aggregation": 3}, "a name or a function"),
        ({"metric": "acc", "reduction": 3}, "a name or a function"),
    ],
)
def test_an_unknown_name_or_argument_is_a_config_error_with_a_suggestion(entry, message):
    with pytest.raises(ConfigError, match=message):
        Metric.from_dict(entry)


def test_a_metric_that_does_not_fit_the_output_type_is_an_error_that_names_those_that_do():
    with pytest.raises(ConfigError, match="Fitting: .*exact_match"):
        Metric.from_dict({"metric": "acc"}, "generate_until")


@each_of("name", ["a,b", "acc_stderr", "f(x", "x)(", "", " a", "a\nb"])
def test_a_name_that_would_not_be_read_back_is_refused_at_registration(name):
    for register in (metric, register_metric, aggregation, register_reduction):
        with pytest.raises(ConfigError, match="can't be a metric's name"):
            register(name)(lambda references, predictions: 0)
    with pytest.raises(ConfigError, match="can't be a metric's name"):
        Metric(name, lambda references, predictions: 0)


def test_decorators_register_functions_under_names():
    @aggregation("test_widest")
    def widest(values):
        """The widest gap."""
        return float(max(values) - min(values))

    @reduction("test_last")
    def last(references, predictions):
        """The last score."""
        return predictions[-1]

    @metric("test_length", aggregation="test_widest", reduction="test_last", higher_is_better=False)
    def length(references, predictions, offset=0):
        """How long the answers are."""
        return [len(answer) + offset for answer in predictions]

    made = Metric.from_dict({"metric": "test_length", "offset": 1}, "generate_until")
    assert made.compute([""], ["ab", "abc"], unknown="is left out") == [3, 4]
    assert made.reduction(None, [3, 4]) == 4
    assert made.aggregate([3, 4, 9]) == 6.0
    assert not made.higher_is_better
    assert METRICS.summary("test_length") == "How long the answers are."
    assert Metric.from_dict({"metric": length}).reduction is last, (
        "!function of a decorated function keeps what it declared"
    )


def test_what_a_registered_metric_gives_missing_answers_holds_in_a_task():
    kinds = frozenset(["generate_until"])
    METRICS.register("test_distance")(
        Metric("test_distance", lambda references, predictions: 0.5, worst=7.0, output_type=kinds)
    )
    keys = {"dataset_path": "d", "test_split": "test", "doc_to_text": "q", "doc_to_target": "a", "task": "t"}
    entries = [{"metric": "test_distance"}, {"metric": "exact_match", "worst": -1}]
    [scorer] = scorers_of(TaskConfig.from_mapping({**keys, "metric_list": entries}))
    assert [each.worst for each in scorer.metrics] == [7.0, -1]


def test_the_register_forms_and_lm_evals_keyword_work_too():
    @register_metric(metric="test_half", output_type=["multiple_choice"], aggregation="mean")
    def half(items, **kwargs):
        """Half of it."""
        return items / 2

    register_aggregation("test_sum")(sum)
    register_reduction("test_min")(lambda references, predictions: min(predictions))
    made = Metric.from_dict(
        {"metric": "test_half", "aggregation": "test_sum", "reduction": "test_min"}, "multiple_choice"
    )
    assert (made.aggregate([1, 2]), made.reduction(None, [2, 1])) == (3, 1)


def test_a_plain_function_is_a_metric_and_keeps_its_name():
    def closeness(references, predictions):
        return 1.0

    made = Metric.from_dict({"metric": closeness, "aggregation": "mean"}, "generate_until")
    assert (made.name, made.fn, made.aggregation) == ("closeness", closeness, mean)
    fn: MetricFn[float] = closeness
    combine: AggregationFn[float] = mean
    reduce: ReductionFn[float, float] = take_first
    assert (fn([], []), combine([1.0]), reduce(None, [2.0])) == (1.0, 1.0, 2.0)


def test_corpus_aggregations_are_found_by_the_metrics_name():
    assert (
        Metric.from_dict({"metric": lambda references, predictions: None, "aggregation": "mcc"}).aggregate(
            [(0, 0), (1, 1)]
        )
        == 1
    )
    made = Metric.from_dict({"metric": "bleu", "aggregation": "bleu", "lowercase": True})
    assert isinstance(made.fn, Bleu) and made.aggregation.__self__ is made.fn


def test_without_an_aggregation_aggregate_says_so():
    with pytest.raises(ConfigError, match="no aggregation"):
        Metric("x", lambda references, predictions: 0).aggregate([1])
    with pytest.raises(ConfigError, match="must be a function"):
        Metric("x", "not one")


def test_only_the_arguments_that_a_function_takes_are_passed():
    assert filter_kwargs(lambda a, *, b: 0, {"a": 1, "b": 2, "c": 3}) == {"a": 1, "b": 2}
    assert filter_kwargs(lambda **kwargs: 0, {"c": 3}) == {"c": 3}


def test_a_function_gets_references_and_predictions_by_name_where_it_has_the_names():
    """lm-eval's super_glue-cb-t5-prompt has `mean_3class_f1(predictions, references)`; the other order would swap them."""

    def turned(predictions, references):
        return f"{predictions} for {references}"

    def named(*, references, predictions, more=""):
        return f"{predictions} for {references}{more}"

    def unnamed(gold, said):
        return f"{said} for {gold}"

    for fn in (turned, named, unnamed):
        assert Metric("m", fn).compute("gold", "said") == "said for gold"
    assert Metric("m", named, kwargs={"more": "!"}).compute("gold", "said") == "said for gold!"


def test_aggregations():
    assert mean([1, 0, 1, 1]) == 0.75
    assert median([4, 1, 3]) == 3 and median([4, 1, 3, 2]) == 2.5
    assert nanmean([1.0, math.nan, 3.0]) == 2.0 and math.isnan(nanmean([math.nan]))
    assert weighted_mean([(3.0, 1), (1.0, 3)]) == 1.0
    assert perplexity([-1.0, -3.0]) == pytest.approx(math.exp(2))
    assert weighted_perplexity([(-6.0, 2)]) == pytest.approx(math.exp(3))
    assert bits_per_byte([(-6.0, 2)]) == pytest.approx(3 / math.log(2))
    assert bypass_agg([-1]) == 999


@pytest.mark.parametrize(
    ("aggregate", "items"), [(perplexity, [-1.0, math.nan]), (weighted_perplexity, [(-1.0, 2), (math.nan, 3)])]
)
def test_a_perplexity_of_nan_is_nan_and_not_infinite(aggregate, items):
    assert math.isnan(aggregate(items))


def test_the_largest_perplexities_are_numbers_and_larger_ones_infinite():
    assert perplexity([-709.5]) == pytest.approx(math.exp(709.5))
    assert perplexity([-1000.0]) == math.inf


def test_sums_without_a_finite_value_are_infinite_or_nan_and_no_error():
    assert mean([1e308, 1e308]) == math.inf
    assert math.isnan(mean([math.inf, -math.inf]))
    assert math.isnan(bits_per_byte([(math.inf, 1), (-math.inf, 1)]))


def test_reductions():
    scores = [0, 1, 1]
    reduced = {name: REDUCTIONS.get(name)(None, scores) for name in ("take_first", "mean", "max", "majority")}
    assert reduced == {"take_first": 0, "mean": pytest.approx(2 / 3), "max": 1, "majority": 1}


def test_pass_at_k_is_the_unbiased_estimate():
    n, passed = 6, 2
    for k in (1, 2, 5):
        exact = 1 - math.comb(n - passed, k) / math.comb(n, k)
        assert pass_at_k(None, [1] * passed + [0] * (n - passed), k=k) == {f"pass@{k}": pytest.approx(exact)}


def test_fault_pass_at_k_above_n_has_no_estimate():
    assert pass_at_k(None, [1, 0], k=[1, 3]) == {"pass@1": 0.5}
    assert pass_at_k(None, [1, 0], k=3) == {}


@pytest.mark.parametrize(
    "entry", [{"k": [1, 2]}, {"reduction": "pass@k", "k": [1, 2]}, {"reduction": {"function": "pass@k", "k": [1, 2]}}]
)
def test_k_comes_from_yaml(entry):
    made = Metric.from_dict({"metric": "exact_match", **entry})
    assert set(made.reduction(None, [1, 0, 0])) == {"pass@1", "pass@2"}


def test_pass_at_5_is_a_name():
    made = Metric.from_dict({"metric": "exact_match", "reduction": "pass@5"})
    assert set(made.reduction(None, [1] * 9)) == {"pass@5"}
    for k in (0, 1.5, True, "2"):
        with pytest.raises(ConfigError, match="at least 1"):
            pass_at_k(None, [1], k=k)


def test_a_metric_of_another_package_is_found_by_its_entry_point(tmp_path, monkeypatch):
    (tmp_path / "their_metrics.py").write_text(
        "from mm_eval.scoring.metrics import metric\n"
        "@metric('their_score', higher_is_better=False)\n"
        "def score(references, predictions):\n"
        "    '''Their score.'''\n"
        "    return 7.0\n"
        "def plain(references, predictions):\n"
        "    return 8.0\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    points = [
        importlib.metadata.EntryPoint("their_score", "their_metrics:score", "mm_eval.scoring.metrics"),
        importlib.metadata.EntryPoint("their_plain", "their_metrics:plain", "mm_eval.scoring.metrics"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "mm_eval.metrics" else [])
    monkeypatch.setattr(METRICS, "_looked_for", set())
    monkeypatch.setattr(METRICS, "_objects", dict(METRICS._objects))
    made = Metric.from_dict({"metric": "their_score"}, "generate_until")
    assert (made.name, made.higher_is_better, made.compute([], [])) == ("their_score", False, 7.0)
    assert Metric.from_dict({"metric": "their_plain"}, "generate_until").name == "their_plain"


def test_the_files_of_installed_packages_are_read_once_for_all_groups(monkeypatch):
    real, calls = importlib.metadata.entry_points, []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **of: calls.append(of) or real(**of))
    registry._entry_points.cache_clear()
    for group in ("mm_eval.models", "mm_eval.scoring.metrics", "console_scripts"):
        assert {point.name for point in registry.entry_points(group)} == {point.name for point in real(group=group)}
    assert len(calls) == 1


def test_a_name_that_no_file_declares_is_looked_for_once(monkeypatch):
    searched = []
    monkeypatch.setattr(registry, "_declared", lambda package, decorator, text="": searched.append(text) or [])
    of_task = registry.Registry("metric", package=("a", "b"), decorator="metric")
    assert "of_a_task" not in of_task and "of_a_task" not in of_task and searched == ['"of_a_task"'] * 2
    of_task.register("of_a_task")(len)
    assert "of_a_task" in of_task and of_task.get("of_a_task") is len


@each_of(
    ("entry", "output_type", "unused"),
    [
        ({"metric": "f1", "ignore_case": True, "ignore_punctuation": False}, "multiple_choice", ("ignore_case",)),
        ({"metric": "acc", "regexes_to_ignore": [","], "weight_by_size": True}, "multiple_choice", None),
        ({"metric": "f1", "hf_evaluate": True, "average": "weighted"}, "multiple_choice", ("hf_evaluate",)),
        ({"metric": "exact_match", "ignore_case": True}, "multiple_choice", ("ignore_case",)),
        ({"metric": "f1", "ignore_case": True}, "generate_until", ("ignore_case",)),
        ({"metric": "exact_match", "ignore_case": True}, "generate_until", ()),
    ],
)
def test_keys_that_do_nothing_in_lm_eval_do_nothing_here_and_are_named(entry, output_type, unused):
    """afrimmlu, afrixnli, belebele: lm-eval hands the keys of an entry to functions of generated texts only."""
    found = Metric.from_dict(entry, output_type)
    assert found.unused == (unused if unused is not None else ("regexes_to_ignore", "weight_by_size"))
    for key in ("ignore_cases", "weight_by_sizes"):
        with pytest.raises(ConfigError, match=key):
            Metric.from_dict({**entry, key: True}, output_type)


def test_a_metric_of_choices_with_a_function_of_all_generated_answers_hands_them_on():
    """masakhapos: `metric: acc` of generated answers with `aggregation: !function`."""
    entry = {
        "metric": "acc",
        "aggregation": lambda pairs: sum(target == answer for target, answer in pairs) / len(pairs),
    }
    found = Metric.from_dict(entry, "generate_until")
    assert found.aggregate([found.compute([7], ["7"]), found.compute(["a"], [None])]) == 0.5
    with pytest.raises(ConfigError, match="does not fit output_type"):
        Metric.from_dict({"metric": "acc", "aggregation": "mean"}, "generate_until")


def test_a_metric_of_the_hub_is_refused_in_words_and_not_replaced():
    """lm-eval's kobest and polemo2 say `hf_evaluate: true`: a mean of F1 per doc, which our F1 of the corpus is not."""
    with pytest.raises(ConfigError, match="loads no metric from the hub, and its own 'f1'"):
        Metric.from_dict({"metric": "f1", "average": "macro", "hf_evaluate": True})
    assert Metric.from_dict({"metric": "f1", "average": "macro", "hf_evaluate": False}).name == "f1"
