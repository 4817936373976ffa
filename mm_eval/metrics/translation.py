"""BLEU, chrF and TER of sacrebleu, with the counts of each sentence kept apart so that a bootstrap only adds them up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mm_eval.metrics.corpus_metric import CorpusMetric
from mm_eval.metrics.metric import metric
from mm_eval.metrics.traits import SumStatistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

Pair = tuple[list[str], list[str]]

_KEPT_SENTENCES = 1 << 14
"""Sentences whose counts are remembered between the number and its standard error."""


class TranslationMetric(CorpusMetric[list[str], Pair]):
    """Base: items are (references, [prediction]) of a doc; docs may have different numbers of references.

    options: of sacrebleu's class.
    """

    def __init__(self, **options: Any) -> None:
        self.options = options
        self._scorer: Any = None
        self._row = lru_cache(maxsize=_KEPT_SENTENCES)(self._count)

    def __call__(self, references: Any, predictions: Any) -> Pair:
        first = predictions[0] if isinstance(predictions, (list, tuple)) and predictions else predictions
        return _texts(references) or [""], ["" if first is None or isinstance(first, (list, tuple)) else str(first)]

    def aggregation(self, items: Sequence[Any]) -> float:
        rows = [self._row(*_sentence(item)) for item in items]
        return float(self.scorer._compute_score_from_stats([sum(column) for column in zip(*rows, strict=True)]).score)

    def sums(self, items: Sequence[Any]) -> SumStatistics:
        """The counts of each sentence, shape (docs, counts)."""
        import numpy as np

        return SumStatistics(np.array([self._row(*_sentence(item)) for item in items], dtype=float), self.of_counts)

    @property
    def scorer(self) -> Any:
        """sacrebleu's object for this metric; imported when first used."""
        if self._scorer is None:
            self._scorer = self.make()
        return self._scorer

    def make(self) -> Any:
        """A new object of sacrebleu's class."""
        raise NotImplementedError

    def of_counts(self, sums: NDArray[Any]) -> NDArray[Any]:
        """The score of each draw from summed counts of shape (draws, counts)."""
        import numpy as np

        return np.array([self.scorer._compute_score_from_stats([int(n) for n in row]).score for row in sums])

    def _count(self, references: tuple[str, ...], prediction: str) -> tuple[float, ...]:
        return tuple(self.scorer._extract_corpus_statistics([prediction], [[text] for text in references])[0])


def _texts(value: Any) -> list[str]:
    """The texts of a reference that may be nested in lists."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in _texts(part)]
    return [str(value)]


def _sentence(item: Any) -> tuple[tuple[str, ...], str]:
    references, predictions = item
    prediction = _texts(predictions)
    return tuple(_texts(references) or [""]), prediction[0] if prediction else ""


def _divide(above: NDArray[Any], below: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    ratio: NDArray[Any] = np.divide(above, below, out=np.zeros_like(above, dtype=float), where=below > 0)
    return ratio


@metric("bleu", output_type="generate_until")
class Bleu(TranslationMetric):
    """BLEU of sacrebleu (13a tokens, exponential smoothing), 0 to 100."""

    def __init__(
        self,
        lowercase: bool = False,
        tokenize: str | None = None,
        smooth_method: str = "exp",
        smooth_value: float | None = None,
        max_ngram_order: int = 4,
        effective_order: bool = False,
        trg_lang: str = "",
    ) -> None:
        super().__init__(
            lowercase=lowercase,
            tokenize=tokenize,
            smooth_method=smooth_method,
            smooth_value=smooth_value,
            max_ngram_order=max_ngram_order,
            effective_order=effective_order,
            trg_lang=trg_lang,
        )

    def make(self) -> Any:
        """sacrebleu's BLEU."""
        from sacrebleu.metrics.bleu import BLEU

        return BLEU(force=True, **self.options)

    def of_counts(self, sums: NDArray[Any]) -> NDArray[Any]:
        """BLEU from (hypothesis length, reference length, correct n-grams, all n-grams)."""
        import numpy as np

        if self.options["smooth_method"] != "exp" or self.options["effective_order"]:
            return super().of_counts(sums)
        order = self.options["max_ngram_order"]
        correct, total = sums[:, 2 : 2 + order], sums[:, 2 + order : 2 + 2 * order]
        halvings = np.cumsum((correct == 0) & (total > 0), axis=1)
        precision = _divide(np.where(correct == 0, 0.5**halvings, correct), total)
        with np.errstate(divide="ignore"):
            mean_log = np.log(precision).mean(axis=1)
        brevity = np.exp(np.minimum(0.0, 1.0 - _divide(sums[:, 1], sums[:, 0])))
        score: NDArray[Any] = 100.0 * brevity * np.exp(mean_log) * correct.any(axis=1)
        return score


@metric("chrf", output_type="generate_until")
class Chrf(TranslationMetric):
    """chrF of sacrebleu (characters up to 6-grams, no words unless word_order says so), 0 to 100."""

    def __init__(
        self,
        char_order: int = 6,
        word_order: int = 0,
        beta: int = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        super().__init__(
            char_order=char_order,
            word_order=word_order,
            beta=beta,
            lowercase=lowercase,
            whitespace=whitespace,
            eps_smoothing=eps_smoothing,
        )

    def make(self) -> Any:
        """sacrebleu's CHRF."""
        from sacrebleu.metrics.chrf import CHRF

        return CHRF(**self.options)

    def of_counts(self, sums: NDArray[Any]) -> NDArray[Any]:
        """chrF from triplets (hypothesis, reference, matching) of each n-gram order."""
        if self.options["eps_smoothing"]:
            return super().of_counts(sums)
        hypothesis, reference, match = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
        counted = (hypothesis > 0) & (reference > 0)
        orders = counted.sum(axis=1)
        precision = _divide((_divide(match, hypothesis) * counted).sum(axis=1), orders)
        recall = _divide((_divide(match, reference) * counted).sum(axis=1), orders)
        factor = self.options["beta"] ** 2
        return 100.0 * _divide((1 + factor) * precision * recall, factor * precision + recall)


@metric("chrf++", output_type="generate_until")
class ChrfWithWords(Chrf):
    """chrF++ of sacrebleu: chrF of characters, and of words up to pairs, 0 to 100."""

    def __init__(
        self,
        char_order: int = 6,
        word_order: int = 2,
        beta: int = 2,
        lowercase: bool = False,
        whitespace: bool = False,
        eps_smoothing: bool = False,
    ) -> None:
        super().__init__(char_order, word_order, beta, lowercase, whitespace, eps_smoothing)


@metric("ter", higher_is_better=False, output_type="generate_until")
class Ter(TranslationMetric):
    """Translation edit rate of sacrebleu: edits per 100 words of the reference."""

    def __init__(
        self,
        normalized: bool = False,
        no_punct: bool = False,
        asian_support: bool = False,
        case_sensitive: bool = False,
    ) -> None:
        super().__init__(
            normalized=normalized, no_punct=no_punct, asian_support=asian_support, case_sensitive=case_sensitive
        )

    def make(self) -> Any:
        """sacrebleu's TER."""
        from sacrebleu.metrics.ter import TER

        return TER(**self.options)

    def of_counts(self, sums: NDArray[Any]) -> NDArray[Any]:
        """TER from (edits, reference words)."""
        import numpy as np

        score: NDArray[Any] = 100.0 * np.where(sums[:, 1] > 0, _divide(sums[:, 0], sums[:, 1]), sums[:, 0] > 0)
        return score
