"""CIDEr-D and BLEU of captions by the rules of coco-caption: items are (reference captions, [caption]).

Source: Vedantam et al. 2015, arXiv:1411.5726; Papineni et al. 2002; github.com/tylin/coco-caption.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from mm_eval.tasks.rules.captions.tokens import caption_tokens

from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import metric
from mm_eval.scoring.metrics.traits import CorpusMetric, SumStatistics, declare

if TYPE_CHECKING:
    from numpy.typing import NDArray

Item = tuple[list[str], list[str]]
Grams = Counter[tuple[str, ...]]

ORDER = 4
"""The longest n-grams, in words."""
SIGMA = 6.0
"""CIDEr-D's penalty of a length that differs by d: exp(-d^2 / (2 sigma^2))."""
_KEPT = 1 << 14
"""Captions and items whose counts are kept between the metrics of a task."""
_SMALL, _TINY = 1e-9, 1e-15
"""coco-caption adds them to denominators and numerators of BLEU."""


@lru_cache(maxsize=_KEPT)
def _grams(caption: str) -> Grams:
    """How often each n-gram of 1 to 4 words occurs in a caption."""
    words = caption_tokens(caption)
    return Counter(tuple(words[start : start + n]) for n in range(1, ORDER + 1) for start in range(len(words) - n + 1))


class _CaptionMetric(CorpusMetric[Any, Item]):
    """Base of both: an answer that is not there is an empty caption."""

    def __call__(self, references: Any, predictions: Any) -> Item:
        first = predictions[0] if isinstance(predictions, (list, tuple)) and predictions else predictions
        return _flat(references), ["" if first is None or isinstance(first, (list, tuple)) else str(first)]


def _flat(value: Any) -> list[str]:
    """The reference captions of a doc."""
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in _flat(part)]
    return [] if value is None else [str(value)]


def cider_scores(items: Sequence[Item]) -> list[float]:
    """CIDEr-D of each item, 0 to 10, with document frequencies from the references of all items."""
    found_in: Counter[tuple[str, ...]] = Counter()
    for references, _ in items:
        found_in.update({gram for reference in references for gram in _grams(reference)})
    whole = math.log(len(items)) if items else 0.0

    def weighed(caption: str) -> _Weighed:
        return _Weighed(_grams(caption), lambda gram: whole - math.log(max(1, found_in[gram])))

    scores = []
    for references, answers in items:
        said = weighed(answers[0])
        likeness = [said.likeness(weighed(reference)) for reference in references]
        scores.append(10 * math.fsum(likeness) / len(likeness) if likeness else 0.0)
    return scores


class _Weighed:
    """The n-grams of a caption with their tf-idf weights, and the length of each order's vector."""

    def __init__(self, grams: Grams, idf: Callable[[tuple[str, ...]], float]) -> None:
        self.weights = {gram: count * idf(gram) for gram, count in grams.items()}
        squares = [0.0] * ORDER
        for gram, weight in self.weights.items():
            squares[len(gram) - 1] += weight * weight
        self.norms = [math.sqrt(each) for each in squares]
        self.pairs = sum(count for gram, count in grams.items() if len(gram) == 2)

    def likeness(self, reference: _Weighed) -> float:
        """The mean over the orders of the clipped cosine, times the penalty of the length, which coco-caption counts in pairs."""
        products = [0.0] * ORDER
        for gram, weight in self.weights.items():
            other = reference.weights.get(gram, 0.0)
            products[len(gram) - 1] += min(weight, other) * other
        cosines = [
            product / (own * its) if own and its else product
            for product, own, its in zip(products, self.norms, reference.norms, strict=True)
        ]
        return math.exp(-((self.pairs - reference.pairs) ** 2) / (2 * SIGMA**2)) * sum(cosines) / ORDER


def _cider_influence(items: Sequence[Item]) -> list[float]:
    """How much each doc moves CIDEr with the document frequencies as given: they are a part of the benchmark."""
    scores = cider_scores(items)
    centre = mean(scores)
    return [(score - centre) / len(scores) for score in scores]


@declare(influence=_cider_influence, smooth=True)
def cider_of(items: Sequence[Item]) -> float:
    """CIDEr-D of a corpus: the mean of its docs' scores."""
    return mean(cider_scores(items))


@metric("cider", output_type="generate_until")
class Cider(_CaptionMetric):
    """CIDEr-D of coco-caption, 0 to 10 (papers print it times 100), with document frequencies from the task's own references."""

    aggregation = staticmethod(cider_of)


class CaptionBleu(_CaptionMetric):
    """BLEU of coco-caption, 0 to 1: n-grams up to `order`, the reference whose length is closest, no smoothing of sentences."""

    order: ClassVar[int]

    def aggregation(self, items: Sequence[Item]) -> float:
        return self.sums(items).value

    def sums(self, items: Sequence[Item]) -> SumStatistics:
        """A row a doc: the words of caption and closest reference, then the n-grams and those that a reference has."""
        import numpy as np

        rows = np.array([_bleu_counts(tuple(references), answers[0]) for references, answers in items], dtype=float)
        return SumStatistics(rows, lambda sums: _bleu(sums, self.order))


@lru_cache(maxsize=_KEPT)
def _bleu_counts(references: tuple[str, ...], answer: str) -> tuple[int, ...]:
    """(words, words of the closest reference, n-grams of 1 to 4 words, those of them that a reference has)."""
    said, most = _grams(answer), Counter[tuple[str, ...]]()
    for reference in references:
        most |= _grams(reference)
    length = _words(said)
    closest = min(((abs(words - length), words) for words in map(_words, map(_grams, references))), default=(0, 0))[1]
    right = [0] * ORDER
    for gram, count in said.items():
        right[len(gram) - 1] += min(count, most[gram])
    return (length, closest, *(max(0, length - n) for n in range(ORDER)), *right)


def _words(grams: Grams) -> int:
    return sum(count for gram, count in grams.items() if len(gram) == 1)


def _bleu(sums: NDArray[Any], order: int) -> NDArray[Any]:
    """BLEU of sums of such rows, shape (draws, 2 + 8) to (draws,)."""
    import numpy as np

    said, right = sums[:, 2 : 2 + order], sums[:, 2 + ORDER : 2 + ORDER + order]
    precision = np.prod((right + _TINY) / (said + _SMALL), axis=1) ** (1 / order)
    ratio = (sums[:, 0] + _TINY) / (sums[:, 1] + _SMALL)
    brevity = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    score: NDArray[Any] = precision * brevity
    return score


@metric("caption_bleu_1", output_type="generate_until")
class CaptionBleu1(CaptionBleu):
    """BLEU-1 of coco-caption, 0 to 1."""

    order = 1


@metric("caption_bleu_2", output_type="generate_until")
class CaptionBleu2(CaptionBleu):
    """BLEU-2 of coco-caption, 0 to 1."""

    order = 2


@metric("caption_bleu_3", output_type="generate_until")
class CaptionBleu3(CaptionBleu):
    """BLEU-3 of coco-caption, 0 to 1."""

    order = 3


@metric("caption_bleu_4", output_type="generate_until")
class CaptionBleu4(CaptionBleu):
    """BLEU-4 of coco-caption, 0 to 1."""

    order = 4
