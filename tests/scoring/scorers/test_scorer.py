"""Scorers: from answers to numbers, in the three ways to make one's own, and with one doc's error alone."""

import json
import math
from dataclasses import dataclass, replace
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
    assert none["bleu_stderr,none"] == none["exact_match_stderr,none"] == "N/A", "as in lm-eval, by no method"
    assert none["exact_match,none"] == first["exact_match,none"]
    why = [f"{name},none: bootstrap_iters is 0: no standard error." for name in ("exact_match", "bleu")]
    assert alone.notes == why
    assert alone.aggregate(bootstrap_iters=None) == (none, 8) and alone.notes == why


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
    """As in lm-eval: the metric's own comes first, then the override, then the mean, of which a note says so."""
    scorer = gen()
    docs: dict[int, ReducedDoc] = {
        0: {"exact_match": 1, "other": 5.0},
        1: {"exact_match": 0, "other": 1.0},
        2: {"exact_match": 0, "other": 0.0},
    }
    jumpy = not_smooth(lambda values: float(max(values)))
    for stated, expected in ((jumpy, 5.0), ("median", 1.0)):
        row, _ = scorer.aggregate(docs, 50, {"exact_match": stated, "other": stated})
        assert (row["exact_match,none"], row["other,none"]) == (pytest.approx(1 / 3), expected) and scorer.notes == []
    assert scorer.aggregate(docs, 50)[0]["other,none"] == 2.0
    assert scorer.notes == [
        "other,none: no metric of that name says how it is aggregated: it is the mean of its values."
    ]
    scorer.metrics = [replace(metric, aggregation=None) for metric in scorer.metrics or ()]
    assert scorer.aggregate(docs, 50, {"exact_match": "median"})[0]["exact_match,none"] == 0


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


class OfLogLikelihoods(LLScorer):
    """Scores a doc of choices."""

    def score_doc(self, doc_id, doc_instances):
        return ScoredDoc(doc_id, 0, {"margin": [doc_instances[0].resps[0][0] - doc_instances[1].resps[0][0]]})


def test_metric_list_says_how_the_scores_of_a_scorer_of_ones_own_become_numbers():
    entry = {"metric": "custom", "reduction": "pass@k", "k": [1, 2], "higher_is_better": False, "range": [0, 4]}
    scorer = gen({"metric_list": [entry]}, kind="test_per_doc")
    scorer.run(generated(0, ["4", "5"], 4) + generated(1, ["5", "5"], 4))
    row, n = scorer.aggregate(bootstrap_iters=10)
    assert (row["pass@1(custom),none"], row["pass@2(custom),none"], n) == (0.25, 0.5, 2) and scorer.notes == []
    assert scorer.higher_is_better == {"custom": False, "pass@1(custom)": False, "pass@2(custom)": False}
    scorer.check_repeats(2)
    with pytest.raises(ConfigError, match="pass@2 of 'custom' needs 2 repeats"):
        scorer.check_repeats(1)

    lls = build_scorer(
        {"metric_list": [{"metric": "margin", "aggregation": "median"}]}, "multiple_choice", OfLogLikelihoods
    )
    lls.run(choices(0, [-1.0, -2.0], 0) + choices(1, [-1.0, -5.0], 0) + choices(2, [-1.0, -9.0], 0))
    assert lls.aggregate(bootstrap_iters=10)[0]["margin,none"] == 4.0

    other_kind = gen({"metric_list": [{"metric": "acc", "aggregation": max}]}, kind="test_per_doc").metrics
    assert other_kind is not None and other_kind[0].aggregation is max, "acc is a metric of choices: here a name"
    batch = gen({"metric_list": [{"metric": "judge", "higher_is_better": False}]}, kind="test_batch")
    batch.run(generated(0, ["four"], "x"))
    assert batch.higher_is_better == {"judge": False} and "judge" not in str(batch.notes[1:])


def test_a_name_that_only_configures_a_scorer_of_ones_own_is_checked_all_the_same():
    assert gen({"metric_list": [{"metric": "exact_match"}]}, kind="test_per_doc").metrics == gen().metrics
    for kind in ("generate_until", "test_configured", "first_token"):
        with pytest.raises(ConfigError, match=r"[Uu]nknown metric 'exact_mtach'\. Did you mean 'exact_match'"):
            gen({"metric_list": [{"metric": "exact_mtach"}]}, kind=kind)
    with pytest.raises(ConfigError, match="unknown key 'agregation' of metric 'custom'. Did you mean 'aggregation'"):
        gen({"metric_list": [{"metric": "custom", "agregation": "mean"}]}, kind="test_per_doc")
    with pytest.raises(ConfigError, match="`worst` of metric 'custom' is 'x'"):
        gen({"metric_list": [{"metric": "custom", "worst": "x"}]}, kind="test_per_doc")

    scorer = gen({"metric_list": [{"metric": "cutsom"}]}, kind="test_per_doc")
    scorer.run(generated(0, ["4"], 4))
    scorer.aggregate(bootstrap_iters=10)
    assert scorer.notes[1:] == [
        "custom,none: no metric of that name says how it is aggregated: it is the mean of its values.",
        "cutsom,none: PerDoc gives no such score. Did you mean 'custom'?",
    ]


def test_several_answers_without_a_reduction_are_an_error_that_names_the_way_out():
    scorer = gen(kind="test_per_doc")
    with pytest.raises(
        ValueError, match=r"doc 0: 'custom' has 2 scores per document .* \{metric: custom, reduction: mean\}"
    ):
        scorer.run(generated(0, ["4", "5"], 4) + generated(1, ["5"], 4))
    assert scorer.reduced_docs == {1: {"custom": 0.0}}, "of the others the results are kept"
    by_doc = {0: generated(0, ["4", "5"], 4)}
    assert "no reduction" in str(scorer.run_docs(by_doc)[0].error), "in a run the document fails, and no other"


def test_a_scorer_may_give_all_docs_one_id_in_its_values():
    class Careless(GenScorer):
        def score_instances(self, instances):
            return {doc_id: ScoredDoc(0, None, {"exact_match": [doc_id]}) for doc_id in instances}

    scorer = gen(kind=Careless)
    scorer.run(generated(3, ["a"], "a") + generated(4, ["a"], "a"))
    assert scorer.reduced_docs == {3: {"exact_match": 3}, 4: {"exact_match": 4}}


def test_parts_of_a_metric_are_their_mean_and_a_note_says_so_where_its_aggregation_is_another():
    def parts(references, predictions):
        return {"first": len(predictions[0]), "second": 1.0}

    for aggregation, notes in (("mean", 0), ("median", 2)):
        scorer = gen({"metric_list": [{"metric": parts, "aggregation": aggregation}]})
        scorer.run(generated(0, ["a"], "a") + generated(1, ["abc"], "a") + generated(2, ["abc"], "a"))
        row, _ = scorer.aggregate(bootstrap_iters=10)
        assert row["first,none"] == pytest.approx(7 / 3)
        assert sum("it is the mean of its values" in note for note in scorer.notes) == notes


def test_set_results_reduces_and_a_doc_that_cannot_be_reduced_is_failed():
    scorer = Configured.default_scorer()
    docs = {0: ScoredDoc(0, "a", {"odd": [1, 2]}), 1: ScoredDoc(1, "a", {"odd": [1]})}
    for raises in (scorer.reduce, scorer.set_results):
        with pytest.raises(
            ValueError, match=r"'odd' has 2 scores per document and no reduction. State one in metric_list, as in"
        ):
            raises(docs)
    assert scorer.reduced_docs == {1: {"odd": 1}}
    assert "no reduction" in str(scorer.raw_docs[0].error)
    assert scorer.reduce({7: ScoredDoc(1, "a", {"odd": [1]})}) == {1: {"odd": 1}}, "by the document's own id"


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
    told = number_of(KEY, mean, {0: -2.5, 1: -2.5, 2: -2.5}, None, 100, 0)
    assert (told.stderr, told.interval) == (0.0, None) and "scored the same" in told.note
    right = number_of(KEY, mean, {0: 1.0, 1: 1.0, 2: 1.0}, None, 100, 0)
    assert (right.stderr, right.note) == (0.0, "") and right.interval == pytest.approx((0.025 ** (1 / 3), 1.0))


def test_equal_clusters_have_no_standard_error_of_rounding():
    """Three docs a picture, one of them right: the sums of the deviations are 1e-16, not 0."""
    values = {doc_id: float(doc_id % 3 == 0) for doc_id in range(30)}
    clusters = {doc_id: doc_id // 3 for doc_id in values}
    assert standard_error(mean, list(values.values()), list(clusters.values())).value != 0, "else this tests nothing"
    found = number_of(KEY, mean, values, clusters, 100, 0)
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


def test_an_aggregation_that_ends_the_program_costs_its_number_alone() -> None:
    def ends(values: object) -> float:
        raise SystemExit(0)

    found = number_of(MetricKey("m", "none"), ends, {0: 1.0}, None, 0, 0)
    assert found.value is None and found.note == "the aggregation raised SystemExit: 0."


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


def test_a_metric_name_that_a_guide_misspells_is_reported_under_the_right_one_with_a_note():
    for stated, returned in (
        ("mme_percetion_score", "mme_perception_score"),
        ("mme_perception_score", "mme_percetion_score"),
    ):
        scorer = build_scorer(
            {"metric_list": [{"metric": stated}]},
            "generate_until",
            process_results=lambda doc, results, n=returned: {n: 1.0},
        )
        scorer.run(generated(0, ["a"], "a") + generated(1, ["a"], "a"))
        assert scorer.aggregate(bootstrap_iters=10)[0]["mme_perception_score,none"] == 1.0
        said = "'mme_percetion_score', a slip of lmms-eval's guide, is reported as 'mme_perception_score'."
        assert scorer.notes.count(said) == 1
