"""Filters that choose among the repeats of a doc."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from mm_eval.errors import ConfigError
from mm_eval.filters.base import Filter, is_unread, register_filter
from mm_eval.types import Doc


@register_filter("noop")
class NoopFilter(Filter):
    """Keeps every answer as it is."""

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return resps


@register_filter("take_first")
class TakeFirstFilter(Filter):
    """Keeps the first answer of each doc; None if there is none."""

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([answers[0] if answers else None] for answers in resps)


@register_filter("take_first_k")
class TakeFirstKFilter(Filter):
    """Keeps the first k answers of each doc, or all if there are fewer.

    k: at least 1. `Scorer.check_repeats` rejects a task with fewer `repeats`.
    """

    extracts: ClassVar[bool] = False

    def __init__(self, k: int) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise ConfigError(f"take_first_k: k must be a whole number of at least 1, not {k!r}.")
        self.k = k

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return (list(answers)[: self.k] or [None] for answers in resps)


@register_filter("majority_vote")
class MajorityVoteFilter(Filter):
    """Keeps the most frequent answer of each doc; the first of equally frequent ones.

    skip_unparsed: ignore unparsed answers if there are others. Off by default as in lm-eval, where "[invalid]" is counted like
        any answer.
    """

    extracts: ClassVar[bool] = False

    def __init__(self, skip_unparsed: bool = False) -> None:
        self.skip_unparsed = skip_unparsed

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self._vote(answers)] for answers in resps)

    def _vote(self, answers: Sequence[Any]) -> Any:
        candidates = [answer for answer in answers if not is_unread(answer)] if self.skip_unparsed else list(answers)
        candidates = candidates or list(answers)
        if not candidates:
            return None
        keys = [_hashable(answer) for answer in candidates]
        winner = Counter(keys).most_common(1)[0][0]
        return candidates[keys.index(winner)]


def _hashable(answer: Any) -> Any:
    return tuple(map(_hashable, answer)) if isinstance(answer, (list, tuple)) else answer
