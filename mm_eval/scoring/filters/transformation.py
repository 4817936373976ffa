"""Filters that rewrite answers (case, white space, a mapping, named entities, thinking removed) or choose among repeats."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from mm_eval.scoring.filters.base import (
    TRUNCATED,
    UNPARSED,
    EachAnswer,
    Filter,
    found_by,
    is_unanswered,
    is_unread,
    like,
    register_filter,
)
from mm_eval.values.errors import InvalidValue
from mm_eval.values.reasoning.recorded import Recorded, parts_of
from mm_eval.values.reasoning.split import unframed
from mm_eval.values.types import Doc


class Rewriting(EachAnswer):
    """Base of filters that rewrite text: implement `one(answer)`. An answer that is not text (None above all) is kept."""

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self.one(answer) if isinstance(answer, str) else answer for answer in answers] for answers in resps)


@register_filter("lowercase")
class LowercaseFilter(Rewriting):
    """Turns each answer into lower case."""

    def one(self, answer: str) -> Any:
        return like(answer.lower(), answer)


@register_filter("uppercase")
class UppercaseFilter(Rewriting):
    """Turns each answer into upper case."""

    def one(self, answer: str) -> object:
        return like(answer.upper(), answer)


@register_filter("remove_whitespace")
class WhitespaceFilter(Rewriting):
    """Removes white space at both ends of each answer."""

    def one(self, answer: str) -> Any:
        return like(answer.strip(), answer)


@register_filter("map")
class MapFilter(EachAnswer):
    """Replaces each answer by its value in a mapping; an answer that is not in it is unparsed.

    default_value: replaces such an answer (default None).
    """

    extracts: ClassVar[bool] = False

    def __init__(self, mapping_dict: Mapping[object, object] | None = None, default_value: object = None) -> None:
        if mapping_dict is not None and not isinstance(mapping_dict, Mapping):
            raise InvalidValue(f"map: mapping_dict must be a mapping, not {mapping_dict!r}.")
        self.mapping, self.default_value = dict(mapping_dict or {}), default_value

    def one(self, answer: Any) -> Any:
        try:
            known = answer in self.mapping
        except TypeError:
            known = False
        if not known:
            return found_by(self.default_value, answer.rule if is_unanswered(answer) else UNPARSED)
        return found_by(self.mapping[answer], getattr(answer, "rule", None) or "map")


_ENTITY_LABELS = {
    "person": "PER", "location": "LOC", "organization": "ORG", "counties": "LOC", "places": "LOC", "people": "PER",
    "persons": "PER", "company": "ORG", "country": "LOC", "continent": "LOC", "time": "DATE", "date": "DATE",
    "per": "PER", "loc": "LOC", "org": "ORG",
}  # fmt: skip
_LABEL = re.compile(rf"\b({'|'.join(_ENTITY_LABELS)})\s*:")
_ENTITY = re.compile(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)")


@register_filter("format_span")
class FormatSpanFilter(Rewriting):
    """Writes named entities in one form, "per: a $ loc: b", whatever words the model used for the labels.

    Only a word before a colon is a label, so "perth" and "time magazine" are kept.
    """

    def one(self, answer: str) -> Any:
        text = _LABEL.sub(lambda label: _ENTITY_LABELS[label[1]] + ":", answer.lower())
        text = text.replace("$$", "$").replace("\n", "$").strip()
        spans = [
            f"{label.lower()}: {entity.strip()}"
            for label, entities in _ENTITY.findall(text)
            for entity in entities.split(",")
            if entity.strip().lower() != "none"
        ]
        return like(" $ ".join(spans), answer)


@register_filter("strip_thinking")
class StripThinkingFilter(Rewriting):
    """Removes the reasoning and the frame around the answer. An answer that ends inside the reasoning is "truncated".

    An answer with nothing outside its reasoning is "unparsed". The rules stand in `mm_eval.values.reasoning.split`.

    keeps: frames that the task reads itself, such as "<answer>".
    """

    marks_missing: ClassVar[bool] = True

    def __init__(self, keeps: Sequence[str] = ()) -> None:
        self.keeps = tuple(keeps)

    def one(self, answer: str) -> object:
        if isinstance(answer, Recorded) and answer.listed:
            return answer
        found = parts_of(answer)
        if not found.closed:
            return found_by("", TRUNCATED)
        text = unframed(found.answer, self.keeps)
        if found.cut and not text.strip():
            return found_by("", UNPARSED)
        return answer if text == answer else like(str(text), answer)


@register_filter("noop")
class NoopFilter(Filter):
    """Keeps every answer as it is."""

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return resps


@register_filter("take_first")
class TakeFirstFilter(Filter):
    """Keeps the first answer of each doc; None if there is none."""

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([answers[0] if answers else None] for answers in resps)


@register_filter("take_first_k")
class TakeFirstKFilter(Filter):
    """Keeps the first k answers of each doc, or all if there are fewer.

    k: at least 1. `Scorer.check_repeats` rejects a task with fewer `repeats`.
    """

    extracts: ClassVar[bool] = False

    def __init__(self, k: int) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidValue(f"take_first_k: k must be a whole number of at least 1, not {k!r}.")
        self.k = k

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
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

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self._vote(answers)] for answers in resps)

    def _vote(self, answers: Sequence[object]) -> object:
        candidates = [answer for answer in answers if not is_unread(answer)] if self.skip_unparsed else list(answers)
        candidates = candidates or list(answers)
        if not candidates:
            return None
        keys = [_hashable(answer) for answer in candidates]
        winner = Counter(keys).most_common(1)[0][0]
        return candidates[keys.index(winner)]


def _hashable(answer: object) -> object:
    return tuple(map(_hashable, answer)) if isinstance(answer, (list, tuple)) else answer
