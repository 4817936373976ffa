"""Metrics of one doc from the log-likelihoods of its choices: `(references, predictions) -> number`.

references: the index of the right choice, or several indices; -100 says that there is no right choice, which nothing matches.
A log-likelihood that is NaN says nothing about which choice is best, so it is an error of the doc, never a winner.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mm_eval.errors import ScoringError
from mm_eval.metrics.ll_results import LLResults
from mm_eval.metrics.metric import metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_GOLD = -100
_CHOICE = "multiple_choice"
_LIKELIHOOD = ("loglikelihood", "multiple_choice")


def argmax(scores: NDArray[Any]) -> int:
    """The index of the highest score, the first of equal ones; ScoringError where one is NaN."""
    import numpy as np

    if np.isnan(scores).any():
        raise ScoringError(f"A log-likelihood is NaN: {[float(score) for score in scores]}.")
    return int(np.argmax(scores))


def is_tied(predictions: LLResults, metrics: Iterable[str]) -> bool:
    """Whether several choices share the best score of one of the metrics (of the log-likelihoods, if none picks a choice)."""
    picks = {"acc": predictions.lls, "acc_mutual_info": predictions.lls_mutual_info}
    names = set(metrics)
    if "acc_norm" in names:
        picks["acc_norm"] = _per_unit(predictions.lls, predictions.char_len())
    if "acc_bytes" in names:
        picks["acc_bytes"] = _per_unit(predictions.lls, predictions.byte_len())
    chosen = [picks[name] for name in picks if name in names] or [predictions.lls]
    return any(len(scores) > 1 and int((scores == scores.max()).sum()) > 1 for scores in chosen)


def gold_indices(references: Any, count: int) -> list[int]:
    """The right choices as indices below count; ScoringError where there is none."""
    golds = [int(gold) for gold in (references if isinstance(references, (list, tuple)) else [references])]
    golds = [gold for gold in golds if 0 <= gold < count]
    if not golds:
        raise ScoringError(f"None of {count} choices is the right one: the target is {references!r}.")
    return golds


def _is_gold(references: Any, choice: int) -> int:
    golds = references if isinstance(references, (list, tuple)) else [references]
    return int(any(gold != NO_GOLD and int(gold) == choice for gold in golds))


def _per_unit(lls: NDArray[Any], lengths: NDArray[Any]) -> NDArray[Any]:
    """Log-likelihoods per unit of length; a choice without length is never the likeliest."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((lengths == 0) & ~np.isnan(lls), -np.inf, lls / lengths)


def _gold_ll(references: Any, lls: NDArray[Any]) -> tuple[int, float]:
    """The likeliest right choice and its log-likelihood; the only one there is where there is one."""
    argmax(lls)
    golds = [0] if len(lls) == 1 else gold_indices(references, len(lls))
    best = max(golds, key=lambda gold: float(lls[gold]))
    return best, float(lls[best])


@metric("acc", output_type=_LIKELIHOOD, aggregation="mean")
def acc(references: Any, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the likeliest choice is right; for a continuation that is no choice, if greedy decoding gives it."""
    best = argmax(predictions.lls)
    if len(predictions.lls) == 1 and not predictions.is_choice:
        return int(bool(predictions.is_greedy[0]))
    return _is_gold(references, best)


@metric("acc_norm", output_type=_CHOICE, aggregation="mean")
def acc_norm(references: Any, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the choice with the highest log-likelihood per character is right."""
    return _is_gold(references, argmax(_per_unit(predictions.lls, predictions.char_len())))


@metric("acc_bytes", output_type=_CHOICE, aggregation="mean")
def acc_bytes(references: Any, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the choice with the highest log-likelihood per byte is right."""
    return _is_gold(references, argmax(_per_unit(predictions.lls, predictions.byte_len())))


@metric("acc_mutual_info", output_type=_CHOICE, aggregation="mean")
def acc_mutual_info_fn(references: Any, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the choice that the question makes likelier by most is right."""
    if not len(predictions.lls_mutual_info):
        raise ScoringError("acc_mutual_info needs the choices' log-likelihoods without the question.")
    return _is_gold(references, argmax(predictions.lls_mutual_info))


@metric("exact_match_mc", output_type=_CHOICE, aggregation="mean")
def exact_match_mc(references: Any, predictions: LLResults) -> int:
    """1 if greedy decoding gives a right choice."""
    argmax(predictions.lls)
    golds = references if isinstance(references, (list, tuple)) else [references]
    greedy = predictions.is_greedy
    return int(any(0 <= int(gold) < len(greedy) and greedy[int(gold)] for gold in golds))


@metric("bpb", higher_is_better=False, output_type=_LIKELIHOOD, aggregation="mean")
def bpb(references: Any, predictions: LLResults) -> float:
    """Bits that the model needs per byte of the right choice."""
    gold, ll = _gold_ll(references, predictions.lls)
    size = float(predictions.byte_len()[gold])
    if size == 0:
        raise ScoringError("Bits per byte of an empty choice are not defined.")
    return -ll / size / math.log(2)


@metric("logprob", output_type=_LIKELIHOOD, aggregation="mean")
def logprob_fn(references: Any, predictions: LLResults) -> float:
    """Log-likelihood of the right choice, in nats."""
    return _gold_ll(references, predictions.lls)[1]


def _log_share(references: Any, scores: NDArray[Any]) -> float:
    """Log of the right choices' share under a softmax of the scores."""
    import numpy as np

    argmax(scores)
    golds = gold_indices(references, len(scores))
    return float(np.logaddexp.reduce(scores[golds]) - np.logaddexp.reduce(scores))


@metric("choice_logprob", output_type=_CHOICE, aggregation="mean")
def choice_logprob(references: Any, predictions: LLResults) -> float:
    """Log-probability of the right choice among the choices."""
    return _log_share(references, predictions.lls)


@metric("choice_prob_norm", output_type=_CHOICE, aggregation="mean")
def choice_prob_norm(references: Any, predictions: LLResults) -> float:
    """Probability of the right choice among the choices, each weighed by its log-likelihood per byte."""
    return math.exp(choice_logprob_norm(references, predictions))


@metric("choice_logprob_norm", output_type=_CHOICE, aggregation="mean")
def choice_logprob_norm(references: Any, predictions: LLResults) -> float:
    """Log-probability of the right choice among the choices, each weighed by its log-likelihood per byte."""
    return _log_share(references, _per_unit(predictions.lls, predictions.byte_len()))


@metric("brier_score", higher_is_better=False, output_type=_CHOICE, aggregation="mean")
def brier_score(references: Any, predictions: LLResults) -> float:
    """Squared distance between the choices' probabilities and the truth, 0 to 2."""
    import numpy as np

    shift = predictions.lls - predictions.lls[argmax(predictions.lls)]
    shares = np.exp(shift) / np.exp(shift).sum()
    truth = np.zeros_like(shares)
    truth[gold_indices(references, len(shares))] = 1.0
    return float(((shares - truth) ** 2).sum())


@metric("bypass", output_type=("loglikelihood", "multiple_choice", "generate_until"), aggregation="bypass")
def bypass(references: Any = None, predictions: Any = None, **kwargs: Any) -> int:
    """Scores nothing: for runs that only collect answers."""
    return -1
