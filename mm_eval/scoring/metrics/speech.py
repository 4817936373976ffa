"""Error rates of transcriptions, counted by jiwer: `wer` in words, `cer` in characters, and Whisper's text normalisers.

A rate is that of the corpus: the errors of all documents over the words of all references, times 100. Its standard error is a
bootstrap over clusters, so a task states `cluster_key: speaker_id`.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.scoring.metrics.bounds import too_large
from mm_eval.scoring.metrics.corpus import texts_within
from mm_eval.scoring.metrics.metric import metric
from mm_eval.scoring.metrics.traits import CorpusMetric, SumStatistics, Undefined
from mm_eval.values.errors import ConfigError, InvalidValue

if TYPE_CHECKING:
    from mm_eval.values.types import Floats

MOST_PAIRS = 4_000_000_000
"""Texts with more pairs of words, or of characters, are not compared: every word of the longer one is an error."""
_KEPT_PAIRS = 1 << 14
"""Pairs of texts whose counts are kept between the number and its standard error."""
_INSTALL = "Install it: pip install 'mm-eval[audio]'"


def english(text: str) -> str:
    """Whisper's normaliser of English: small letters, no punctuation, digits for numbers, American spelling, no brackets.

    It is transformers' copy with the spelling table of Whisper's authors, which transformers reads from a checkpoint.

    >>> english("Mr. Smith's grey (laughs) colour won't cost $20 million")
    'mister smith is gray color will not cost $20000000'
    """
    return str(_whisper_english()(text)).strip()


def basic(text: str) -> str:
    """Whisper's normaliser of any language: small letters, no brackets, a blank for each mark, symbol and punctuation.

    The signs of vowels of Indian scripts are marks, so it takes them away.

    >>> basic("Straße, l'été!"), basic("हिन्दी")
    ('straße l été', 'ह न द')
    """
    return str(_whisper_basic()(text)).strip()


NORMALIZERS: dict[str, Callable[[str], str]] = {"english": english, "basic": basic}


@cache
def _whisper_basic() -> Callable[[str], str]:
    from transformers.models.whisper.english_normalizer import BasicTextNormalizer

    return BasicTextNormalizer()  # type: ignore[no-any-return]


@cache
def _whisper_english() -> Callable[[str], str]:
    from transformers.models.whisper.english_normalizer import EnglishTextNormalizer

    return EnglishTextNormalizer(_spellings())  # type: ignore[no-any-return]


@cache
def _spellings() -> dict[str, str]:
    """British words and their American spelling, from the file that whisper-normalizer has of Whisper's repository."""
    found = importlib.util.find_spec("whisper_normalizer")
    if found is None or not found.submodule_search_locations:
        raise ConfigError(
            "Whisper's English normaliser needs the spelling table of whisper-normalizer, which is not installed.",
            hint=_INSTALL,
        )
    path = Path(found.submodule_search_locations[0]) / "normalizers" / "english.json"
    spellings: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return spellings


def _jiwer() -> Any:
    try:
        import jiwer
    except ModuleNotFoundError as error:
        if error.name not in ("jiwer", "rapidfuzz"):
            raise
        hint = _INSTALL
        raise ConfigError(f"error rates are counted by jiwer; {error.name} is not installed.", hint=hint) from error
    return jiwer


class _ErrorRate(CorpusMetric[list[str], tuple[list[str], str]]):
    """Base of both rates. Items are (references, prediction), normalised: what is compared."""

    def __init__(self, normalizer: str | None) -> None:
        if normalizer is not None and normalizer not in NORMALIZERS:
            known = ", ".join(NORMALIZERS)
            raise InvalidValue(f"unknown normalizer {normalizer!r}.", hint=f"Known: {known}; leave it out for none.")
        _jiwer()  # a missing package is found before the first request
        self._normalize = NORMALIZERS[normalizer] if normalizer else str
        if normalizer:
            self._normalize("")
        self._row = lru_cache(maxsize=_KEPT_PAIRS)(self._count)

    def __call__(self, references: object, predictions: object) -> tuple[list[str], str]:
        first = predictions[0] if isinstance(predictions, (list, tuple)) and predictions else predictions
        said = "" if first is None or isinstance(first, (list, tuple)) else str(first)
        return [self.text(each) for each in texts_within(references)] or [""], self.text(said)

    def text(self, text: str) -> str:
        """The text as it is compared; words are what stands between white space of any kind."""
        return " ".join(self._normalize(text).split())

    def aggregation(self, items: Sequence[object]) -> float:
        return self.sums(items).value

    def sums(self, items: Sequence[Any]) -> SumStatistics:
        """(errors, units of the reference) of each doc."""
        import numpy as np

        rows = np.array([self._row(tuple(references), said) for references, said in items], dtype=float)
        if not rows[:, 1].sum():
            raise Undefined("no reference has a word")

        def score(sums: Floats) -> Floats:
            # A draw of silent documents alone has no rate.
            rates: Floats = 100 * np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=sums[:, 1] > 0)
            return rates

        return SumStatistics(rows, score)

    def _count(self, references: tuple[str, ...], said: str) -> tuple[int, int]:
        """(errors, length) of the nearest reference: that with the lowest rate."""
        found = [self._errors(reference, said) for reference in references]
        return min(found, key=lambda pair: (pair[0] / max(1, pair[1]), pair))

    def _errors(self, reference: str, said: str) -> tuple[int, int]:
        length, other = self.length(reference), self.length(said)
        if reference == said:
            return 0, length
        if length * other > MOST_PAIRS:
            too_large(f"an error rate (at most {MOST_PAIRS:,} pairs of words or characters)")
            return max(length, other), length
        if not length:
            return other, 0  # nothing was said
        found = self.aligned(reference, said)
        return found.substitutions + found.deletions + found.insertions, length

    def length(self, text: str) -> int:
        """How many words or characters a text as it is compared has."""
        raise NotImplementedError

    def aligned(self, reference: str, said: str) -> Any:
        """jiwer's counts of two texts as they are compared."""
        raise NotImplementedError


@metric("wer", higher_is_better=False, output_type="generate_until")
class WordErrorRate(_ErrorRate):
    """Word error rate: substituted, deleted and inserted words per 100 words of the references; above 100 for answers that go on.

    normalizer: "english" or "basic" for Whisper's, by default none. Words are what stands between white space, so a line break
    parts them; jiwer alone splits at blanks only, and joins two words at a line break.
    """

    def __init__(self, normalizer: str | None = None) -> None:
        super().__init__(normalizer)

    def length(self, text: str) -> int:
        return len(text.split())

    def aligned(self, reference: str, said: str) -> Any:
        return _jiwer().process_words(reference, said)


@metric("cer", higher_is_better=False, output_type="generate_until")
class CharacterErrorRate(_ErrorRate):
    """Character error rate: wrong characters per 100 of the references. It is that of languages that put no blanks between words.

    normalizer: as of `wer`. whitespace: whether a blank is a character, as it is to jiwer; false for Chinese or Japanese. With
    "basic" and without blanks it is Whisper's rate of languages without them.
    """

    def __init__(self, normalizer: str | None = None, whitespace: bool = True) -> None:
        self.whitespace = whitespace
        super().__init__(normalizer)

    def text(self, text: str) -> str:
        normal = super().text(text)
        return normal if self.whitespace else normal.replace(" ", "")

    def length(self, text: str) -> int:
        return len(text)

    def aligned(self, reference: str, said: str) -> Any:
        return _jiwer().process_characters(reference, said)
