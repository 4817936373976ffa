"""Scorers: from answers to numbers, in the three ways to make one's own, and with one doc's error alone."""

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from mm_eval.scorers import (
    SCORERS,
    GenScorer,
    LLScorer,
    MetricKey,
    ReducedDoc,
    ScoredDoc,
    Scorer,
    build_scorer,
    register_scorer,
)
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import metric
from mm_eval.scoring.metrics.stderr import standard_error
from mm_eval.scoring.metrics.traits import not_smooth
from mm_eval.scoring.number import number_of
from mm_eval.values.errors import ConfigError, ModelError, ScoringError
from mm_eval.values.types import Instance
from tests.scoring.scorers.answered import choices, gen, generated
from tests.sets import each_of

KEY = MetricKey("acc", "none")


def test_answers_become_numbers_with_a_standard_error():
    scorer = gen({"filter": [{"function": "yes_no"}], "metric_list": [{"metric": "exact_match", "ignore_case": True}]})
    scorer.run(generated(0, ["Yes, it is"], "yes") + generated(1, ["no"], "yes") + generated(2, ["hm"], "no"))
    assert isinstance(scorer, GenScorer)
    assert scorer.reduced_docs == {0: {"exact_match": 1}, 1: {"exact_match": 0}, 2: {"exact_match": 0}}
    numbers, n = scorer.aggregate(scorer.reduced_docs, bootstrap_iters=100)
    assert n == 3
    assert numbers == {"exact_match,none": pytest.approx(1 / 3), "exact_match_stderr,none": pytest.approx(1 / 3)}
    assert [doc.rules for doc in scorer.raw_docs.values()] == [("yes_no:first",), ("yes_no:word",), ("unparsed",)]
    assert scorer.counts == {"failed": 0, "unparsed": 1, "truncated": 0}
    assert scorer.higher_is_better == {"exact_match": True}


def test_thinking_is_removed_before_extraction_unless_it_is_turned_off():
    answer = "<think>B? no</think>A"
    assert gen({"filter": ["mcq_letter"]}).filter.chain([[answer]], [{}]) == [["A"]]
    assert gen().filter.chain([[answer]], [{}]) == [["A"]]
    assert gen({"strip_thinking": False}).filter.chain([[answer]], [{}]) == [[answer]]
    twice = gen({"filter": ["noop", "strip_thinking"]})
    assert len(twice.filter.filters) == 2
    assert len(build_scorer(None, "multiple_choice").filter.filters) == 1, "log-likelihoods have no thinking"


def test_an_answer_cut_while_thinking_is_wrong_and_counted_as_truncated():
    scorer = gen()
    scorer.run(generated(0, ["<think>so"], ""))
    assert scorer.reduced_docs == {0: {"exact_match": 0}}
    assert scorer.counts == {"failed": 0, "unparsed": 0, "truncated": 1}


def test_repeats_are_reduced_and_the_composite_key_goes_back_to_its_metric():
    scorer = gen({"metric_list": [{"metric": "exact_match", "k": [1, 3]}]})
    scorer.run(generated(0, ["4", "x", "4"], "4") + generated(1, ["a", "b", "c"], "4"))
    assert scorer.reduced_docs[0] == {"pass@1(exact_match)": pytest.approx(2 / 3), "pass@3(exact_match)": 1.0}
    numbers, _ = scorer.aggregate()
    assert numbers["pass@1(exact_match),none"] == pytest.approx(1 / 3)
    assert "pass@3(exact_match)_stderr,none" in numbers
    assert scorer.higher_is_better["pass@3(exact_match)"] is True
    assert MetricKey.parse("pass@3(exact_match)_stderr,none").parent_metric == "exact_match"
    assert MetricKey.parse("(z),none").parent_metric == "z"


@each_of(
    ("config", "repeats", "fine"),
    [
        ({"metric_list": [{"metric": "exact_match", "k": 4}]}, 3, False),
        ({"metric_list": [{"metric": "exact_match", "k": 3}]}, 3, True),
        ({"filter": [("take_first_k", {"k": 4})]}, 3, False), ({"filter": [("take_first_k", {"k": 3})]}, 3, True),
        ({"filter": ["take_first"], "metric_list": [{"metric": "exact_match", "k": 2}]}, 5, False), ({}, 1, True),
    ],
)  # fmt: skip
def test_fault_k_above_repeats_is_a_config_error(config, repeats, fine):
    scorer = gen(config)
    if fine:
        scorer.check_repeats(repeats)
    else:
        with pytest.raises(ConfigError, match="repeats"):
            scorer.check_repeats(repeats)


def test_fault_one_docs_scoring_error_fails_that_doc_and_loses_nothing_else():
    def picky(references, predictions):
        return [1 / int(answer) for answer in predictions]

    scorer = gen({"metric_list": [{"metric": picky}]})
    scorer.run(generated(0, ["1"], "") + generated(1, ["0"], "") + generated(2, ["4"], ""))
    assert scorer.reduced_docs == {0: {"picky": 1.0}, 2: {"picky": 0.25}}
    error = scorer.raw_docs[1].error
    assert isinstance(error, ScoringError) and str(error).startswith("t, doc 1: ") and "ZeroDivisionError" in str(error)
    assert scorer.counts["failed"] == 1
    assert scorer.aggregate()[1] == 2


def test_a_filters_error_and_a_failed_request_fail_their_docs_too():
    scorer = gen({"filter": [lambda resps, docs: [[a + "!" for a in answers] for answers in resps]]})
    broken = ModelError("no answer")
    instances = generated(0, ["a"], "a!") + generated(1, [None], "b") + generated(2, ["c"], "c", error=broken)
    scorer.run(instances)
    assert scorer.reduced_docs == {0: {"exact_match": 1}}
    assert scorer.raw_docs[2].error is broken
    assert "doc 1" in str(scorer.raw_docs[1].error)


def test_fault_nan_log_likelihood_makes_the_doc_failed():
    scorer = build_scorer(None, "multiple_choice")
    scorer.run(choices(0, [-1.0, math.nan], 0) + choices(1, [-1.0, -2.0], 0))
    assert scorer.reduced_docs == {1: {"acc": 1, "acc_norm": 1}}
    assert "NaN" in str(scorer.raw_docs[0].error)


def test_choices_are_scored_by_their_log_likelihoods():
    scorer = build_scorer({"metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]}, "multiple_choice")
    scorer.run(choices(0, [-3.0, -4.0], 1, ["xx", "yyyy"]))
    assert isinstance(scorer, LLScorer)
    assert scorer.reduced_docs == {0: {"acc": 0, "acc_norm": 1}}
    assert scorer.raw_docs[0].rules == ()


def test_a_single_continuation_and_a_rolling_text():
    single = build_scorer(None, "loglikelihood")
    single.run(choices(0, [-2.0], "Paris", greedy={0}))
    assert single.reduced_docs == {0: {"perplexity": -2.0, "acc": 1}}
    rolling = build_scorer(None, "loglikelihood_rolling")
    text = Instance("loglikelihood_rolling", "t", 0, {}, continuation="two words", resps=[(-6.0, False)])
    bare = Instance("loglikelihood_rolling", "t", 1, {}, continuation="one", resps=[-2.0])
    rolling.run([text, bare])
    numbers, _ = rolling.aggregate(bootstrap_iters=50)
    assert numbers["word_perplexity,none"] == pytest.approx(math.exp(8 / 3))
    assert numbers["bits_per_byte,none"] == pytest.approx(8 / 12 / math.log(2))
    assert numbers["word_perplexity_stderr,none"] > 0 and numbers["byte_perplexity_stderr,none"] == 0, (
        "2/3 nats a byte in both"
    )


def test_clusters_and_bootstrap_iterations_reach_the_standard_error():
    config = {"metric_list": [{"metric": "exact_match"}, {"metric": "bleu"}]}
    instances = [one for i in range(8) for one in generated(i, ["a b c d" if i % 3 else "x"], "a b c d")]
    alone, together = gen(config), gen(config, clusters={i: i // 2 for i in range(8)})
    for scorer in (alone, together):
        scorer.run(instances)
    first, second = alone.aggregate(bootstrap_iters=200)[0], together.aggregate(bootstrap_iters=200)[0]
    assert first["exact_match_stderr,none"] != second["exact_match_stderr,none"]
    assert first["bleu_stderr,none"] > 0 and first["bleu_stderr,none"] != second["bleu_stderr,none"]
    none, _ = alone.aggregate(bootstrap_iters=0)
    assert none["bleu_stderr,none"] == "N/A" and none["exact_match_stderr,none"] == first["exact_match_stderr,none"]
    assert alone.notes == ["bleu,none: bootstrap_iters is 0: no standard error."]


def test_one_doc_has_a_number_without_a_standard_error_and_a_note():
    scorer = gen()
    scorer.run(generated(0, ["a"], "a"))
    numbers, _ = scorer.aggregate()
    assert numbers == {"exact_match,none": 1.0, "exact_match_stderr,none": "N/A"}
    assert "no standard error" in scorer.notes[0]


def test_an_aggregation_that_fails_loses_only_its_own_number():
    def broken(values):
        raise ValueError("no such thing")

    scorer = gen({"metric_list": [{"metric": "exact_match", "aggregation": broken}, {"metric": "anls"}]})
    scorer.run(generated(0, ["a"], "a") + generated(1, ["b"], "a"))
    numbers, _ = scorer.aggregate()
    assert numbers["exact_match,none"] is None and numbers["anls,none"] == 0.5
    assert "ValueError: no such thing" in scorer.notes[0]


def test_the_order_of_docs_changes_no_number():
    scorer = gen({"metric_list": [{"metric": "anls"}]})
    docs = {i: {"anls": 0.1 * i} for i in range(10)}
    assert scorer.aggregate(docs) == scorer.aggregate(dict(reversed(docs.items())))


def test_aggregation_overrides_by_function_or_name():
    scorer = gen()
    docs: dict[int, ReducedDoc] = {
        0: {"exact_match": 1},
        1: {"exact_match": 0},
        2: {"exact_match": 0},
        3: {"other": 2.0},
    }
    jumpy = not_smooth(lambda values: float(max(values)))
    assert scorer.aggregate(docs, 50, {"exact_match": jumpy})[0]["exact_match,none"] == 1.0
    assert scorer.aggregate(docs, 50, {"exact_match": "median"})[0]["exact_match,none"] == 0.0
    assert scorer.aggregate(docs, 50)[0]["other,none"] == 2.0


def test_parts_of_several_processes_merge_with_update():
    whole, part = gen(), gen()
    instances = generated(0, ["a"], "a") + generated(1, ["b"], "a")
    whole.run(instances)
    merged = {}
    for half in (instances[:1], instances[1:]):
        part.run(half)
        merged.update(part.export_reduced())
    part.import_reduced(merged)
    assert part.aggregate() == whole.aggregate()
    assert part.raw_docs == {} and part.reduced_docs == whole.reduced_docs


def test_several_repeats_without_a_reduction_of_their_own_take_the_first():
    scorer = gen({"metric_list": [{"metric": "anls"}, {"metric": "bleu"}]})
    scorer.run(generated(0, ["a b c d", "zzz"], "a b c d"))
    assert scorer.reduced_docs[0]["anls"] == 1.0
    assert scorer.aggregate()[0]["bleu,none"] == pytest.approx(100.0)


# Three ways to make one's own


@register_scorer("test_configured")
@dataclass
class Configured(GenScorer):
    """Only configured."""

    default_filter_cfg: ClassVar[list[Any]] = [{"function": "remove_whitespace"}, {"function": "lowercase"}]
    default_metric_cfg: ClassVar[list[Any]] = [{"metric": "exact_match", "kwargs": {"ignore_punctuation": True}}]


@register_scorer("test_per_doc")
@dataclass
class PerDoc(GenScorer):
    """Scores a doc."""

    bonus: float = 0.0

    def score(self, reference, predictions):
        return {"custom": [float(prediction == str(reference)) + self.bonus for prediction in predictions]}


@register_scorer("test_batch")
@dataclass
class Batch(GenScorer):
    """Scores a batch."""

    def score_instances(self, instances):
        inputs = {doc_id: self._extract_inputs(group) for doc_id, group in instances.items()}
        if any(predictions == ["boom"] for _, predictions, _ in inputs.values()):
            raise RuntimeError("the judge is down")
        return {
            doc_id: ScoredDoc(doc_id=doc_id, reference=reference, scores={"judge": [len(predictions[0])]})
            for doc_id, (reference, predictions, _) in inputs.items()
        }


def test_tier_one_class_defaults_and_their_precedence():
    scorer = gen(kind="test_configured")
    scorer.run(generated(0, ["  YES. "], "yes"))
    assert scorer.reduced_docs == {0: {"exact_match": 1}}
    explicit = gen({"filter": ["noop"], "metric_list": [{"metric": "anls"}]}, kind="test_configured")
    explicit.run(generated(0, ["  YES. "], "yes"))
    assert explicit.reduced_docs == {0: {"anls": 1 - 1 / 7}}, "one edit in the seven characters given"


@pytest.mark.parametrize(
    "kind", [{"type": "test_per_doc", "kwargs": {"bonus": 1.0}}, {"type": "test_per_doc", "bonus": 1.0}]
)
def test_tier_two_scores_a_doc_and_takes_arguments_from_yaml(kind):
    scorer = gen(kind=kind)
    scorer.run(generated(0, ["4"], 4) + generated(1, ["5"], 4))
    assert scorer.reduced_docs == {0: {"custom": 2.0}, 1: {"custom": 1.0}}
    assert scorer.raw_docs[0].rules == ("whole_answer",)


def test_tier_three_scores_batches_and_a_failing_batch_doc_by_doc():
    scorer = gen(kind="test_batch")
    scorer.run(generated(0, ["four"], "x") + generated(1, ["boom"], "x"))
    assert scorer.reduced_docs == {0: {"judge": 4}}
    assert "the judge is down" in str(scorer.raw_docs[1].error) and "doc 1" in str(scorer.raw_docs[1].error)
    assert scorer.raw_docs[0].rules == ("whole_answer",)


def test_set_results_reduces_and_a_doc_that_cannot_be_reduced_is_failed():
    scorer = Configured.default_scorer()
    scorer.set_results({0: ScoredDoc(0, "a", {"odd": [1, 2]}), 1: ScoredDoc(1, "a", {"odd": [1]})})
    assert scorer.reduced_docs == {1: {"odd": 1}}
    assert "no reduction" in str(scorer.raw_docs[0].error)
    assert scorer.reduce({1: ScoredDoc(1, "a", {"odd": [1]})}) == {1: {"odd": 1}}


def test_apply_filter_score_instances_and_score_doc_are_the_steps_of_run():
    scorer = Configured.default_scorer("mine")
    instances = generated(0, [" A "], "a")
    scorer.apply_filter(instances)
    assert instances[0].filtered_resps == {"mine": ["a"]}
    assert scorer.score_doc(0, instances).scores == {"exact_match": [1]}
    assert scorer.score_instances({0: instances})[0].reference == "a"
    with pytest.raises(NotImplementedError, match="score_doc"):
        Scorer.default_scorer().score_doc(0, instances)
    assert scorer.score("a", ["a", None], metric_kwargs={"ignore_case": True}) == {"exact_match": [1, 0]}


def test_an_instance_may_carry_arguments_for_the_metrics():
    scorer = gen({"metric_list": [{"metric": "exact_match"}]}, context={"ignore_case": False})
    scorer.run(generated(0, ["A"], "a", metadata={"metric_kwargs": {"ignore_case": True}}))
    assert scorer.reduced_docs == {0: {"exact_match": 1}}


# Metric functions as lm-eval's documents write them


def shouted(references, predictions):
    return 1.0 if predictions.strip().lower() == references.strip().lower() else 0.0


def close(references, predictions, tolerance=0.0):
    try:
        return 1.0 if abs(float(references) - float(predictions)) <= tolerance else 0.0
    except (ValueError, TypeError):
        return 0.0


def indexed(references, predictions):
    return {"indexed": float(predictions[0] == references[0])}


@each_of(
    ("function", "options", "answers", "scores"),
    [
        (shouted, {}, ["  A"], [1.0]), (shouted, {}, ["b", "a "], [0.0, 1.0]), (indexed, {}, ["a"], [1.0]),
        (indexed, {}, ["b", "a"], [0.0, 1.0]),
        (lambda references, predictions: predictions == references, {}, ["a"], [True]),
        (lambda references, predictions: predictions == "a", {}, ["a", "b"], [True, False]),
        (lambda references, predictions: predictions != "a", {}, ["a", "b"], [False, True]),
        (lambda references, predictions: references in predictions, {}, ["it is a", "b"], [True, False]),
        (lambda references, predictions: predictions[0] in references, {}, ["a", "b"], [True, False]),
        (lambda references, predictions: predictions.startswith(references), {}, ["a3", "b"], [True, False]),
        (lambda references, predictions: {"a": 2}.get(predictions, 0), {}, ["a", "b"], [2, 0]),
    ],
)  # fmt: skip
def test_fault_documented_metric_functions_get_a_list_that_can_be_used_as_its_only_value(
    function, options, answers, scores
):
    scorer = gen({"metric_list": [{"metric": function, **options}]})
    scorer.run(generated(0, answers, "a"))
    assert scorer.raw_docs[0].error is None
    assert list(scorer.raw_docs[0].scores.values()) == [scores]


def test_a_documented_numeric_metric_and_its_argument():
    scorer = gen({"metric_list": [{"metric": close, "tolerance": 0.5}]})
    scorer.run(generated(0, ["4.2"], "4") + generated(1, ["6"], "4") + generated(2, ["four"], "4"))
    assert scorer.reduced_docs == {0: {"close": 1.0}, 1: {"close": 0.0}, 2: {"close": 0.0}}


def test_an_unread_answer_is_wrong_without_asking_a_metric_that_could_not_take_it():
    scorer = gen({"filter": ["mcq_letter"], "metric_list": [{"metric": shouted}]})
    scorer.run(generated(0, ["no idea", "A"], "A"))
    assert scorer.raw_docs[0].scores == {"shouted": [0, 1.0]}
    distance = gen({"filter": ["mcq_letter"], "metric_list": [{"metric": shouted, "higher_is_better": False}]})
    distance.run(generated(0, ["no idea"], "A"))
    assert distance.raw_docs[0].error is not None, "0 would be the best distance"


def test_a_metric_may_give_several_numbers():
    @metric("test_two", output_type="generate_until")
    def two(references, predictions):
        return {
            "long": [len(answer) > 2 for answer in predictions],
            "short": [len(answer) < 3 for answer in predictions],
        }

    scorer = gen({"metric_list": [{"metric": "test_two"}]})
    scorer.run(generated(0, ["abc"], ""))
    assert scorer.reduced_docs == {0: {"long": True, "short": False}}


# Config errors


@each_of(
    ("config", "kind", "message"),
    [
        ({"filter": ["regx"]}, None, "Did you mean 'regex'"),
        ({"metric_list": [{"metric": "exact_mtch"}]}, None, "exact_match"),
        ({}, "first_tken", "Did you mean 'first_token'"),
        ({}, {"type": "regex", "regex_patern": "x"}, "Did you mean 'regex_pattern'"),
        ({}, {"kwargs": {}}, "needs `type`"), ({}, 3, "a name or"), ({"name": ""}, None, "name of a filter pipeline"),
        ({"metric_list": [{"metric": "acc"}]}, None, "does not fit"),
    ],
)  # fmt: skip
def test_a_wrong_config_is_a_config_error_when_it_is_built(config, kind, message):
    with pytest.raises(ConfigError, match=message):
        gen(config, kind)


def test_an_unknown_output_type_is_an_error():
    with pytest.raises(ConfigError, match="output_type 'generate'"):
        build_scorer(None, "generate")


@each_of("name", ["first_token", "regex", "choice_match", "generate_until", "multiple_choice"])
def test_scorers_are_listed_with_a_line_of_meaning(name):
    assert name in SCORERS.names()
    assert len(SCORERS.summary(name)) > 20


@each_of("pipeline", ["none", "strict-match", "maj@8", "a,b", "é (x)"])
@each_of("name", ["acc", "pass@1(exact_match)", "mme_perception_score"])
def test_any_key_that_can_be_registered_is_read_back(name, pipeline):
    for is_stderr in (False, True):
        key = MetricKey(name, pipeline, is_stderr)
        assert MetricKey.parse(str(key)) == key


@pytest.mark.parametrize("spoilt", [None, "high", math.nan])
def test_a_value_that_is_no_number_fails_its_doc_and_all_others_count(spoilt):
    def half(references, predictions):
        return spoilt if predictions == "x" else 0.5

    for aggregation in ("mean", "median", max):
        scorer = gen({"metric_list": [{"metric": half, "aggregation": aggregation}]})
        scorer.run(generated(0, ["a"], "a") + generated(1, ["x"], "a") + generated(2, ["b"], "a"))
        assert scorer.aggregate()[0]["half,none"] == 0.5
        assert scorer.counts["failed"] == 1
        assert isinstance(scorer.raw_docs[1].error, ScoringError) and "doc 1" in str(scorer.raw_docs[1].error)


def test_an_infinite_number_is_none_and_the_note_names_the_doc():
    scorer = build_scorer({"metric_list": [{"metric": "perplexity"}]}, "loglikelihood")
    scorer.run(choices(0, [-1.0], 0) + choices(7, [-math.inf], 0))
    assert scorer.aggregate()[0] == {"perplexity,none": None, "perplexity_stderr,none": "N/A"}
    assert scorer.notes == ["perplexity,none: infinite: the log-likelihood of doc 7 is -inf."]


def test_text_is_no_log_likelihood():
    scorer = build_scorer({"metric_list": [{"metric": "acc"}]}, "multiple_choice")
    instances = choices(0, [-1.0, -2.0], 0)
    instances[0].resps = ["42"]
    scorer.run(instances)
    assert "is text" in str(scorer.raw_docs[0].error)


def test_a_standard_error_of_nothing_is_said_to_say_nothing_or_has_an_interval():
    told = number_of(KEY, mean, {0: -2.5, 1: -2.5, 2: -2.5}, None, 0, 0)
    assert (told.stderr, told.interval) == (0.0, None) and "do not vary" in told.note
    right = number_of(KEY, mean, {0: 1.0, 1: 1.0, 2: 1.0}, None, 0, 0)
    assert (right.stderr, right.note) == (0.0, "") and right.interval == pytest.approx((0.025 ** (1 / 3), 1.0))


def test_equal_clusters_have_no_standard_error_of_rounding():
    """Three docs a picture, one of them right: the sums of the deviations are 1e-16, not 0."""
    values = {doc_id: float(doc_id % 3 == 0) for doc_id in range(30)}
    clusters = {doc_id: doc_id // 3 for doc_id in values}
    assert standard_error(mean, list(values.values()), list(clusters.values())).value != 0, "else this tests nothing"
    found = number_of(KEY, mean, values, clusters, 0, 0)
    assert found.stderr == 0.0 and found.interval is not None and found.interval[0] < found.value < found.interval[1]


@each_of(
    ("given", "value"),
    [
        (np.array([0.5]), 0.5), (Decimal("0.5"), 0.5), (Fraction(1, 2), 0.5), (np.float32(0.5), 0.5), (True, True),
        ({"a": np.int64(3), "b": math.nan}, {"a": 3, "b": None}), ("a file", "a file"), (None, None), (10**17, 1e17),
        (np.array([0.5, 1.0]), ScoringError), ([0.5, 1.0], ScoringError), (b"x", ScoringError), (1j, ScoringError),
        ({"a": [1]}, ScoringError), (10**400, OverflowError),
    ],
)  # fmt: skip
def test_what_an_aggregation_gives_is_a_number_or_a_note_and_ends_no_run(given: Any, value: Any) -> None:
    number = number_of(MetricKey("m", "none"), lambda values: given, {0: 1.0, 1: 0.0}, None, 0, 0)
    if isinstance(value, type):
        assert number.value is None and f"raised {value.__name__}" in number.note
    else:
        assert json.loads(json.dumps(number.value, allow_nan=False)) == value and type(number.value) is type(value)


def test_a_doc_whose_value_is_no_number_spoils_no_mean() -> None:
    given = [np.array([1.0]), np.float32(0.5), Decimal("0.25"), [1, 0], (1, 2), {"a": 1}, b"1", 1j, 0]
    scorer = build_scorer(
        {"name": "none", "metric_list": [{"metric": "m", "aggregation": "mean"}]},
        "generate_until",
        process_results=lambda doc, results: {"m": given[doc["n"]]},
    )
    scorer.run([one for n in range(len(given)) for one in generated(n, ["x"], "x", {"n": n})])
    found = scorer.numbers(scorer.reduced_docs, 0)[0]
    assert (found.value, found.n) == (1.75 / 4, 4)
    assert [type(doc["m"]) for doc in scorer.reduced_docs.values()] == [float, float, float, int]
    assert [doc_id for doc_id, doc in scorer.raw_docs.items() if doc.error] == [3, 4, 5, 6, 7]


def test_a_metric_of_which_no_doc_has_a_number_costs_no_other_metric() -> None:
    entries = [{"metric": "rows", "aggregation": "mean"}, {"metric": "m", "aggregation": "mean"}]
    scorer = build_scorer(
        {"name": "none", "metric_list": entries},
        "generate_until",
        process_results=lambda doc, results: {"rows": {"id": doc["n"]}, "m": doc["n"]},
    )
    scorer.run([one for n in range(3) for one in generated(n, ["x"], "x", {"n": n})])
    rows, number = scorer.numbers(scorer.reduced_docs, 0)
    assert rows.value is None and "the aggregation raised TypeError" in rows.note
    assert (number.value, number.n) == (1.0, 3) and not any(doc.error for doc in scorer.raw_docs.values())
