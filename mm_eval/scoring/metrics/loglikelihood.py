"""Metrics of log-likelihoods: of one doc (accuracies), then of a whole corpus (perplexities).

references: the index of the right choice, or several indices; -100 means that no choice is right, so none matches.
predictions: the log-likelihoods of the doc's choices. A NaN among them is an error of the doc, never the best choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mm_eval.scoring.metrics.aggregation import bits_per_byte, mean, perplexity, weighted_perplexity
from mm_eval.scoring.metrics.bounds import remark
from mm_eval.scoring.metrics.ll_results import LLResults
from mm_eval.scoring.metrics.metric import metric
from mm_eval.scoring.metrics.traits import CorpusMetric, SumStatistics, of_log_likelihoods, traits_of
from mm_eval.values.errors import DataError, ScoringError
from mm_eval.values.words import listed

if TYPE_CHECKING:
    from mm_eval.values.types import Floats

_T = TypeVar("_T")

NO_GOLD = -100
_CHOICE = "multiple_choice"
_LIKELIHOOD = ("loglikelihood", "multiple_choice")


def argmax(scores: Floats) -> int:
    """The index of the highest score, the first of equal ones; ScoringError if any is NaN."""
    values: list[float] = scores.tolist()  # of a few numbers, Python's functions are five times as fast as numpy's
    if math.isnan(sum(values)) and any(map(math.isnan, values)):  # the sum of +inf and -inf is NaN, too
        raise ScoringError(f"A log-likelihood is NaN: {values}.")
    return values.index(max(values))


def is_tied(predictions: LLResults, metrics: Collection[str]) -> bool:
    """Whether several choices share the best score of a metric, or the best log-likelihood if no metric picks a choice."""
    chosen = [scores(predictions) for name, scores in _PICKS.items() if name in metrics] or [predictions.lls]
    return any(len(values) > 1 and values.count(max(values)) > 1 for values in (scores.tolist() for scores in chosen))


_PICKS: Mapping[str, Callable[[LLResults], Floats]] = {
    "acc": lambda predictions: predictions.lls,
    "acc_mutual_info": lambda predictions: predictions.lls_mutual_info,
    "acc_norm": lambda predictions: _per_unit(predictions.lls, predictions.char_len()),
    "acc_bytes": lambda predictions: _per_unit(predictions.lls, predictions.byte_len()),
}
"""The scores by which a metric picks a choice."""


_OF_LIKELIEST = ("acc", "acc_norm", "acc_bytes", "exact_match_mc", "bypass")
"""Metrics for which it is enough to know the likeliest option."""


def check_bounds(predictions: LLResults, metrics: Collection[str]) -> None:
    """DataError if options have only an upper bound, and a metric needs their numbers or the likeliest option is not certain."""
    if not predictions.bounds:
        return
    options = [
        str(predictions.choices[place]).strip() for place in predictions.bounds if place < len(predictions.choices)
    ]
    unlisted = f"the server does not list {listed(options, 5)} among its likeliest tokens"
    if needing := [name for name in metrics if name not in _OF_LIKELIEST]:
        of = needing[0].strip("'")
        raise DataError(f"{of} needs the log-likelihoods of all options, and {unlisted}.", hint=_UNLISTED)
    for pick in [_PICKS[name] for name in metrics if name in _PICKS] or [_PICKS["acc"]]:
        scores: list[float] = pick(predictions).tolist()
        known = [score for place, score in enumerate(scores) if place not in predictions.bounds]
        if not known or max(known) <= max(scores[place] for place in predictions.bounds):
            raise DataError(f"the likeliest option is not certain: {unlisted}.", hint=_UNLISTED)
    remark("options are not among the server's likeliest tokens, and another one is likelier for certain.")


_UNLISTED = "Use a server that lists more tokens (top_logprobs) or scores prompts (vLLM), or NAME@generate."


def gold_indices(references: Any, count: int) -> list[int]:
    """The indices of the right choices among `count`; ScoringError if there are none."""
    golds = [int(gold) for gold in (references if isinstance(references, (list, tuple)) else [references])]
    golds = [gold for gold in golds if 0 <= gold < count]
    if not golds:
        raise ScoringError(f"None of the {count} choices is right: the target is {references!r}.")
    return golds


def _is_gold(references: Any, choice: int) -> int:
    if type(references) is int:
        return int(references == choice)
    golds = references if isinstance(references, (list, tuple)) else [references]
    return int(any(gold != NO_GOLD and int(gold) == choice for gold in golds))


def _per_unit(lls: Floats, lengths: Floats) -> Floats:
    """Log-likelihoods per unit of length; an empty choice is never the likeliest."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((lengths == 0) & ~np.isnan(lls), -np.inf, lls / lengths)


def _gold_ll(references: object, lls: Floats) -> tuple[int, float]:
    """The index of the likeliest right choice and its log-likelihood; a single choice is the right one."""
    argmax(lls)
    golds = [0] if len(lls) == 1 else gold_indices(references, len(lls))
    best = max(golds, key=lambda gold: float(lls[gold]))
    return best, float(lls[best])


@metric("acc", output_type=_LIKELIHOOD, aggregation="mean")
def acc(references: object, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the likeliest choice is right; for a single continuation, 1 if greedy decoding gives it."""
    best = argmax(predictions.lls)
    if len(predictions.lls) == 1 and not predictions.is_choice:
        return int(bool(predictions.is_greedy[0]))
    return _is_gold(references, best)


@metric("acc_norm", output_type=_CHOICE, aggregation="mean")
def acc_norm(references: object, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the choice with the highest log-likelihood per character is right."""
    return _is_gold(references, argmax(_PICKS["acc_norm"](predictions)))


@metric("acc_bytes", output_type=_CHOICE, aggregation="mean")
def acc_bytes(references: object, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the choice with the highest log-likelihood per byte is right."""
    return _is_gold(references, argmax(_PICKS["acc_bytes"](predictions)))


@metric("acc_mutual_info", output_type=_CHOICE, aggregation="mean")
def acc_mutual_info_fn(references: object, predictions: LLResults, multiple_targets: bool = False) -> int:
    """1 if the choice whose log-likelihood the question raises most is right."""
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
def bpb(references: object, predictions: LLResults) -> float:
    """Bits per byte of the right choice: minus its log-likelihood in bits, over its bytes."""
    gold, ll = _gold_ll(references, predictions.lls)
    size = float(predictions.byte_len()[gold])
    if size == 0:
        raise ScoringError("Bits per byte of an empty choice are not defined.")
    return -ll / size / math.log(2)


@metric("logprob", output_type=_LIKELIHOOD, aggregation="mean")
def logprob_fn(references: object, predictions: LLResults) -> float:
    """Log-likelihood of the right choice, in nats."""
    return _gold_ll(references, predictions.lls)[1]


def _log_share(references: object, scores: Floats) -> float:
    """Log of the right choices' share under a softmax of the scores."""
    import numpy as np

    argmax(scores)
    golds = gold_indices(references, len(scores))
    with np.errstate(invalid="ignore"):  # NaN, which fails the doc, where all choices are impossible
        return float(np.logaddexp.reduce(scores[golds]) - np.logaddexp.reduce(scores))


@metric("choice_logprob", output_type=_CHOICE, aggregation="mean")
def choice_logprob(references: object, predictions: LLResults) -> float:
    """Log-probability of the right choice among the choices."""
    return _log_share(references, predictions.lls)


@metric("choice_prob_norm", output_type=_CHOICE, aggregation="mean")
def choice_prob_norm(references: object, predictions: LLResults) -> float:
    """Probability of the right choice among the choices, from log-likelihoods per byte."""
    return math.exp(choice_logprob_norm(references, predictions))


@metric("choice_logprob_norm", output_type=_CHOICE, aggregation="mean")
def choice_logprob_norm(references: object, predictions: LLResults) -> float:
    """Log-probability of the right choice among the choices, from log-likelihoods per byte."""
    return _log_share(references, _per_unit(predictions.lls, predictions.byte_len()))


@metric("brier_score", higher_is_better=False, output_type=_CHOICE, aggregation="mean")
def brier_score(references: object, predictions: LLResults) -> float:
    """Squared distance between the choices' probabilities and the truth, 0 to 2."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        shift = predictions.lls - predictions.lls[argmax(predictions.lls)]
    shares = np.exp(shift) / np.exp(shift).sum()
    truth = np.zeros_like(shares)
    truth[gold_indices(references, len(shares))] = 1.0
    return float(((shares - truth) ** 2).sum())


@metric("bypass", output_type=("loglikelihood", "multiple_choice", "generate_until"), aggregation="bypass")
def bypass(references: object = None, predictions: object = None, **kwargs: object) -> int:
    """Scores nothing, for runs that only collect answers."""
    return -1


class _OfLogLikelihoods(CorpusMetric[LLResults, _T]):
    """Base of a corpus metric that applies a registered aggregation, and its sums, to log-likelihoods."""

    combine: staticmethod[[Sequence[Any]], float]

    @of_log_likelihoods
    def aggregation(self, items: Sequence[_T]) -> float:
        return self.combine(items)

    def sums(self, items: Sequence[_T]) -> SumStatistics | None:
        declared = traits_of(self.combine).sums
        return declared(items) if declared else None


@metric("perplexity", higher_is_better=False, output_type=_LIKELIHOOD)
class Perplexity(_OfLogLikelihoods[float]):
    """exp of minus the mean log-likelihood of the right continuation, over docs."""

    combine = staticmethod(perplexity)

    def __call__(self, references: object, predictions: LLResults) -> float:
        return float(predictions.lls[_gold(references, predictions)])


class _PerUnit(_OfLogLikelihoods[tuple[float, int]]):
    """Base of numbers per word or byte. Items are (log-likelihood, units)."""

    combine = staticmethod(weighted_perplexity)

    def units(self, predictions: LLResults) -> Floats:
        """The length of each choice, shape (choices,)."""
        return predictions.byte_len()

    def __call__(self, references: object, predictions: LLResults) -> tuple[float, int]:
        gold = _gold(references, predictions)
        return float(predictions.lls[gold]), int(self.units(predictions)[gold])


@metric("word_perplexity", higher_is_better=False, output_type="loglikelihood_rolling")
class WordPerplexity(_PerUnit):
    """exp of minus the log-likelihood per word, over all words of the corpus."""

    def units(self, predictions: LLResults) -> Floats:
        """Words of each choice."""
        return predictions.word_len()


@metric("byte_perplexity", higher_is_better=False, output_type="loglikelihood_rolling")
class BytePerplexity(_PerUnit):
    """exp of minus the log-likelihood per byte, over all bytes of the corpus."""


@metric("bits_per_byte", higher_is_better=False, output_type="loglikelihood_rolling")
class BitsPerByte(_PerUnit):
    """Minus the log-likelihood per byte in bits, over all bytes of the corpus."""

    combine = staticmethod(bits_per_byte)


@metric("likelihood", output_type=_CHOICE)
class Likelihood(CorpusMetric[LLResults, tuple[int, tuple[float, ...]]]):
    """Mean log-likelihood of the right choice. Items are (right index, log-likelihoods of all choices)."""

    def __call__(self, references: object, predictions: LLResults) -> tuple[int, tuple[float, ...]]:
        return _gold(references, predictions), tuple(float(ll) for ll in predictions.lls)

    def aggregation(self, items: Sequence[tuple[int, Sequence[float]]]) -> float:
        return mean([lls[gold] for gold, lls in items])


def _gold(references: object, predictions: LLResults) -> int:
    """The index of the right choice, the first of several; 0 for a continuation, which is the only one."""
    argmax(predictions.lls)
    return 0 if len(predictions.lls) == 1 else gold_indices(references, len(predictions.lls))[0]
