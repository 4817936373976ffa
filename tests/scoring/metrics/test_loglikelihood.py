"""Metrics of log-likelihoods, and LLResults from which they are computed."""

import math

import numpy as np
import pytest

from mm_eval.scoring.metrics.ll_results import LLResults
from mm_eval.scoring.metrics.loglikelihood import (
    acc,
    acc_bytes,
    acc_mutual_info_fn,
    acc_norm,
    bpb,
    brier_score,
    bypass,
    choice_logprob,
    choice_logprob_norm,
    choice_prob_norm,
    exact_match_mc,
    logprob_fn,
)
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.values.errors import ConfigError, ScoringError
from mm_eval.values.types import Instance
from tests.sets import each_of


def results(lls, choices=None, greedy=None, targets=0, bare=None):
    lls = np.array(lls, dtype=float)
    return LLResults(
        results=[],
        targets=targets,
        choices=choices or [chr(97 + i) for i in range(len(lls))],
        lls_mutual_info=lls - np.array(bare) if bare is not None else np.array([]),
        lls=lls,
        is_greedy=greedy or [False] * len(lls),
    )


def test_acc_is_the_likeliest_choice_or_greedy_decoding_of_a_single_one():
    assert acc(1, results([-2.0, -1.0])) == 1
    assert acc(0, results([-2.0, -1.0])) == 0
    assert acc("anything", results([-2.0], greedy=[True])) == 1
    assert acc([0, 1], results([-2.0, -1.0]), multiple_targets=True) == 1


def test_acc_norm_divides_by_characters_and_acc_bytes_by_bytes():
    doc = results([-4.0, -7.0], ["xyz", "日本語です"])  # 3 and 5 characters, 3 and 15 bytes
    assert acc_norm(0, doc) == 1
    assert acc_bytes(1, doc) == 1


def test_a_choice_without_length_never_wins_by_dividing():
    assert acc_norm(1, results([0.0, -9.0], ["", "x"])) == 1
    assert acc_bytes(1, results([-1.0, -9.0], ["", "x"])) == 1
    with pytest.raises(ScoringError, match="empty choice"):
        bpb(0, results([-1.0], [""]))


def test_acc_mutual_info_takes_what_the_question_makes_likelier():
    assert acc_mutual_info_fn(0, results([-3.0, -2.0], bare=[-9.0, -2.5])) == 1
    with pytest.raises(ScoringError, match="without the question"):
        acc_mutual_info_fn(0, results([-3.0, -2.0]))


def test_exact_match_mc_asks_whether_greedy_decoding_gives_a_right_choice():
    doc = results([-1.0, -2.0], greedy=[False, True])
    assert [exact_match_mc(gold, doc) for gold in (0, 1, [0, 1], -100, [-100])] == [0, 1, 1, 0, 0]


def test_exact_match_of_choices_is_lm_evals_name_for_it():
    """Its webqs says `metric: exact_match`; the number keeps that name. Options of the generated one do nothing."""
    made = Metric.from_dict({"metric": "exact_match"}, "multiple_choice")
    assert made.name == "exact_match" and made.fn is exact_match_mc
    assert Metric.from_dict({"metric": "exact_match"}, "generate_until").fn is not exact_match_mc
    assert Metric.from_dict({"metric": "exact_match", "ignore_case": True}, "multiple_choice").fn is exact_match_mc
    with pytest.raises(ConfigError, match="ignore_cose"):
        Metric.from_dict({"metric": "exact_match", "ignore_cose": True}, "multiple_choice")


@each_of("metric", [acc, acc_norm, acc_bytes])
@each_of("gold", [-100, [-100]])
def test_no_gold_is_matched_by_nothing(metric, gold):
    assert metric(gold, results([-1.0, -2.0])) == 0


@each_of("metric", [logprob_fn, choice_logprob, choice_prob_norm, choice_logprob_norm, brier_score, bpb])
def test_a_probability_of_the_right_choice_needs_one(metric):
    with pytest.raises(ScoringError, match="-100"):
        metric(-100, results([-1.0, -2.0]))


def test_probabilities_of_the_right_choice():
    doc = results([math.log(0.2), math.log(0.6)], ["ab", "abcd"])
    assert math.exp(choice_logprob(1, doc)) == pytest.approx(0.75)
    assert logprob_fn(1, doc) == pytest.approx(math.log(0.6))
    assert brier_score(1, doc) == pytest.approx(0.25**2 + 0.25**2)
    assert bpb(0, doc) == pytest.approx(-math.log2(0.2) / 2)
    weights = [0.2**0.5, 0.6**0.25]
    assert choice_prob_norm(0, doc) == pytest.approx(weights[0] / sum(weights))
    assert math.exp(choice_logprob_norm(0, doc)) == pytest.approx(choice_prob_norm(0, doc))


def test_of_several_right_choices_the_probability_is_their_sum_and_the_likelihood_the_best():
    doc = results([math.log(0.2), math.log(0.3), math.log(0.5)])
    assert math.exp(choice_logprob([0, 2], doc)) == pytest.approx(0.7)
    assert logprob_fn([0, 2], doc) == pytest.approx(math.log(0.5))


@each_of("metric", [acc, acc_norm, acc_bytes, exact_match_mc, bpb, logprob_fn, choice_logprob, brier_score])
def test_fault_nan_log_likelihood_wins_no_argmax(metric):
    with pytest.raises(ScoringError, match="NaN"):
        metric(0, results([-1.0, math.nan]))


def test_fault_nan_mutual_information_wins_no_argmax():
    with pytest.raises(ScoringError, match="NaN"):
        acc_mutual_info_fn(0, results([-1.0, -2.0], bare=[-1.0, math.nan]))


def test_an_impossible_choice_is_no_error():
    assert acc(0, results([-1.0, -math.inf])) == 1
    assert brier_score(0, results([-1.0, -math.inf])) == 0.0


def test_bypass_scores_nothing():
    assert Metric.from_dict({"metric": "bypass"}).aggregate([bypass(), bypass()]) == 999


def asked(choice, ll, greedy=False, text=None, unconditional=False, repeat=0):
    text = text or f"choice {choice}"
    metadata = {"choice_text": text, **({"acc_mutual_info": True} if unconditional else {})}
    made = Instance(
        "loglikelihood",
        "t",
        0,
        {},
        context="Q",
        continuation=" " + text,
        choice=choice,
        repeat=repeat,
        target=1,
        metadata=metadata,
    )
    made.filtered_resps["none"] = [(ll, greedy)]
    return made


def test_results_come_from_a_docs_instances_in_the_order_of_the_list():
    bundle = LLResults.from_instances([asked(0, -1.0), asked(1, -2.0, True), asked(2, -3.0)])
    assert list(bundle.lls) == [-1.0, -2.0, -3.0]
    assert bundle.is_greedy == [False, True, False]
    assert (bundle.targets, bundle.ctx, bundle.choices[0], len(bundle.lls_mutual_info)) == (1, "Q", "choice 0", 0)
    assert bundle.to_metric_inputs() == {"references": 1, "predictions": bundle}
    assert bundle.metadata["choice_text"] == "choice 0" and bundle.results[0] == [(-1.0, False)]


def test_instances_that_state_no_choice_and_went_through_no_filter_are_choices_in_their_order():
    bare = [asked(0, ll, text=text) for ll, text in ((-3.0, "c"), (-1.0, "a"))]
    for instance in bare:
        instance.resps, instance.filtered_resps = [(instance.filtered_resps.pop("none")[0])], {}
    bundle = LLResults.from_instances(bare)
    assert (list(bundle.lls), bundle.choices) == ([-3.0, -1.0], ["c", "a"])


def test_fault_lengths_leave_out_the_delimiter_between_prompt_and_answer():
    bundle = LLResults.from_instances([asked(0, -1.0, text="é"), asked(1, -2.0, text="two words")])
    assert list(bundle.char_len()) == [1, 9]
    assert list(bundle.byte_len()) == [2, 9] and list(bundle.byte_len(count_bytes=len)) == [1, 9]
    assert list(bundle.word_len()) == [1, 2] and list(bundle.word_len(count_words=len)) == [1, 9]


def test_mutual_information_pairs_choices_with_and_without_the_question():
    bundle = LLResults.from_instances(
        [asked(2, -5.0, text="a", unconditional=True), asked(0, -1.0, text="a"), asked(1, -2.0, text="b"),
         asked(3, -3.0, text="b", unconditional=True)]
    )  # fmt: skip
    assert list(bundle.lls_mutual_info) == [4.0, 1.0]
    with pytest.raises(ScoringError, match="not the same"):
        LLResults.from_instances([asked(0, -1.0, text="a"), asked(1, -3.0, text="b", unconditional=True)])


def test_results_under_another_name_or_without_a_number_are_errors():
    with pytest.raises(ScoringError, match="'strict'"):
        LLResults.from_instances([asked(0, -1.0)], "strict")
    empty = asked(0, -1.0)
    empty.filtered_resps["none"] = ["text"]
    with pytest.raises(ScoringError, match="log-likelihood"):
        LLResults.from_instances([empty])


def test_without_choices_every_length_is_one():
    bundle = LLResults([], 0, lls=np.array([-1.0, -2.0]), is_greedy=[False, False])
    assert list(bundle.char_len()) == list(bundle.byte_len()) == list(bundle.word_len()) == [1, 1]
