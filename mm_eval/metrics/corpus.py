"""Corpus metrics of log-likelihoods and labels: perplexities, F1, MCC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.errors import ConfigError, ScoringError
from mm_eval.metrics.aggregation import bits_per_byte, mean, perplexity, weighted_perplexity
from mm_eval.metrics.corpus_metric import CorpusMetric
from mm_eval.metrics.ll_results import LLResults
from mm_eval.metrics.loglikelihood import NO_GOLD, argmax, gold_indices
from mm_eval.metrics.metric import metric
from mm_eval.metrics.traits import SumStatistics, of_log_likelihoods, traits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LABELS = ("multiple_choice", "generate_until")


def _gold(references: Any, predictions: LLResults) -> int:
    """The choice that counts: the only one, or the right one."""
    argmax(predictions.lls)
    return 0 if len(predictions.lls) == 1 else gold_indices(references, len(predictions.lls))[0]


@metric("perplexity", higher_is_better=False, output_type=("loglikelihood", "multiple_choice"))
class Perplexity(CorpusMetric[LLResults, float]):
    """exp of minus the mean log-likelihood of the right continuation, over docs."""

    def __call__(self, references: Any, predictions: LLResults) -> float:
        return float(predictions.lls[_gold(references, predictions)])

    @of_log_likelihoods
    def aggregation(self, items: Sequence[float]) -> float:
        return perplexity(items)

    def sums(self, items: Sequence[float]) -> SumStatistics | None:
        declared = traits_of(perplexity).sums
        return declared(items) if declared else None


class _PerUnit(CorpusMetric[LLResults, tuple[float, int]]):
    """Base of numbers per word or byte: items are (log-likelihood, units)."""

    unit_lengths = "byte_len"
    combine = staticmethod(weighted_perplexity)

    def __call__(self, references: Any, predictions: LLResults) -> tuple[float, int]:
        gold = _gold(references, predictions)
        return float(predictions.lls[gold]), int(getattr(predictions, self.unit_lengths)()[gold])

    @of_log_likelihoods
    def aggregation(self, items: Sequence[tuple[float, int]]) -> float:
        return self.combine(items)

    def sums(self, items: Sequence[tuple[float, int]]) -> SumStatistics | None:
        declared = traits_of(self.combine).sums
        return declared(items) if declared else None


@metric("word_perplexity", higher_is_better=False, output_type="loglikelihood_rolling")
class WordPerplexity(_PerUnit):
    """exp of minus the log-likelihood per word, over all words of the corpus."""

    unit_lengths = "word_len"


@metric("byte_perplexity", higher_is_better=False, output_type="loglikelihood_rolling")
class BytePerplexity(_PerUnit):
    """exp of minus the log-likelihood per byte, over all bytes of the corpus."""


@metric("bits_per_byte", higher_is_better=False, output_type="loglikelihood_rolling")
class BitsPerByte(_PerUnit):
    """Minus the log-likelihood per byte in bits, over all bytes of the corpus."""

    combine = staticmethod(bits_per_byte)


@metric("likelihood", output_type="multiple_choice")
class Likelihood(CorpusMetric[LLResults, tuple[int, tuple[float, ...]]]):
    """The right index and the log-likelihoods of all choices of a doc; by itself the mean log-likelihood of the right one."""

    def __call__(self, references: Any, predictions: LLResults) -> tuple[int, tuple[float, ...]]:
        return _gold(references, predictions), tuple(float(ll) for ll in predictions.lls)

    def aggregation(self, items: Sequence[tuple[int, Sequence[float]]]) -> float:
        return mean([lls[gold] for gold, lls in items])


def _label_pair(references: Any, predictions: Any) -> tuple[Any, Any]:
    """(right label, chosen label) of a doc: indices of choices, or texts of generated answers."""
    if isinstance(predictions, LLResults):
        chosen: Any = argmax(predictions.lls)
    else:
        chosen = predictions[0] if isinstance(predictions, (list, tuple)) else predictions
        references = references[0] if isinstance(references, (list, tuple)) and len(references) == 1 else references
        chosen = "" if chosen is None else chosen
    golds = list(references) if isinstance(references, (list, tuple)) else [references]
    golds = [gold for gold in golds if gold != NO_GOLD]
    if not golds:
        raise ScoringError(f"There is no right label: the target is {references!r}.")
    return (chosen if chosen in golds else golds[0]), chosen


def _label_counts(items: Sequence[tuple[Any, Any]]) -> tuple[list[Any], NDArray[Any]]:
    """The labels in order, and for each doc and label three counts: hit, right, chosen. Shape (docs, 3 * labels)."""
    import numpy as np

    pairs = [(gold, chosen) for gold, chosen in items]
    if len({type(label) is str for pair in pairs for label in pair}) > 1:
        pairs = [(str(gold), str(chosen)) for gold, chosen in pairs]
    labels = sorted({label for pair in pairs for label in pair})
    place = {label: i for i, label in enumerate(labels)}
    rows = np.zeros((len(pairs), 3, len(labels)))
    for row, (gold, chosen) in zip(rows, pairs, strict=True):
        row[0, place[gold]] = gold == chosen
        row[1, place[gold]] = 1
        row[2, place[chosen]] = 1
    return labels, rows.reshape(len(pairs), -1)


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[Any]:
    """A ratio that is 0 where the denominator is."""
    import numpy as np

    ratio: NDArray[Any] = np.divide(above, below, out=np.zeros_like(above, dtype=float), where=below != 0)
    return ratio


class _LabelMetric(CorpusMetric[Any, tuple[Any, Any]]):
    """Base of metrics of a confusion table: items are (right label, chosen label)."""

    def __call__(self, references: Any, predictions: Any) -> tuple[Any, Any]:
        return _label_pair(references, predictions)

    def aggregation(self, items: Sequence[tuple[Any, Any]]) -> float:
        sums = self.sums(items)
        return float(sums.score(sums.rows.sum(axis=0, keepdims=True))[0])

    def sums(self, items: Sequence[tuple[Any, Any]]) -> SumStatistics:
        labels, rows = _label_counts(items)

        def score(sums: NDArray[Any]) -> NDArray[Any]:
            hit, right, chosen = sums.reshape(len(sums), 3, len(labels)).swapaxes(0, 1)
            return self.of_counts(labels, hit, right, chosen)

        return SumStatistics(rows, score)

    def of_counts(
        self, labels: list[Any], hit: NDArray[Any], right: NDArray[Any], chosen: NDArray[Any]
    ) -> NDArray[Any]:
        """The number of each draw from counts of shape (draws, labels)."""
        raise NotImplementedError


@metric("f1", output_type=_LABELS)
class F1(_LabelMetric):
    """Harmonic mean of precision and recall, 0 where both are 0.

    average: "binary" (of pos_label among at most two labels), "macro", "micro" or "weighted" (over the labels that occur).
    """

    def __init__(self, average: str = "binary", pos_label: Any = 1) -> None:
        if average not in ("binary", "macro", "micro", "weighted"):
            raise ConfigError(f"f1 has no average {average!r}.", hint="Known: binary, macro, micro, weighted.")
        self.average, self.pos_label = average, pos_label

    def of_counts(
        self, labels: list[Any], hit: NDArray[Any], right: NDArray[Any], chosen: NDArray[Any]
    ) -> NDArray[Any]:
        """F1 of each draw."""
        each = _ratio(2 * hit, right + chosen)
        if self.average == "binary":
            return self._binary(labels, each)
        if self.average == "micro":
            return _ratio(2 * hit.sum(axis=1), (right + chosen).sum(axis=1))
        weights = right if self.average == "weighted" else (right + chosen > 0).astype(float)
        return _ratio((each * weights).sum(axis=1), weights.sum(axis=1))

    def _binary(self, labels: list[Any], each: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        if len(labels) > 2:
            raise ScoringError(f"f1 has {len(labels)} labels and average='binary'.", hint="Set `average: macro`.")
        all_positive = labels == [
            str(self.pos_label)
        ]  # as text: no other label says whether these are texts or numbers
        if all_positive or self.pos_label in labels:
            found: NDArray[Any] = each[:, 0 if all_positive else labels.index(self.pos_label)]
            return found
        if len(labels) == 2:
            raise ScoringError(f"f1 has labels {labels!r} and pos_label {self.pos_label!r}.", hint="Set `pos_label`.")
        return np.zeros(len(each))


@metric("mcc", "matthews_corrcoef", output_type=_LABELS)
class MCC(_LabelMetric):
    """Matthews correlation of right and chosen labels, -1 to 1; 0 where one label is always right or always chosen."""

    def of_counts(
        self, labels: list[Any], hit: NDArray[Any], right: NDArray[Any], chosen: NDArray[Any]
    ) -> NDArray[Any]:
        """MCC of each draw, by Gorodkin's formula for any number of labels."""
        import numpy as np

        n = right.sum(axis=1)
        covariance = hit.sum(axis=1) * n - (right * chosen).sum(axis=1)
        spread = (n**2 - (right**2).sum(axis=1)) * (n**2 - (chosen**2).sum(axis=1))
        return _ratio(covariance, np.sqrt(spread))
