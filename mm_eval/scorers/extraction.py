"""Scorers that bring their own way of finding the answer."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mm_eval.filters.base import rule_of
from mm_eval.filters.letters import McqLetterFilter
from mm_eval.scorers.base import register_scorer
from mm_eval.scorers.generation import GenScorer
from mm_eval.types import Instance, ScoredDoc

_EXACT_MATCH: Sequence[Mapping[str, Any]] = (
    {"metric": "exact_match", "aggregation": "mean", "kwargs": {"ignore_case": True, "ignore_punctuation": True}},
)

_ANNOUNCED = re.compile(r"\b(?:best|final|correct)\s+answer\s*(?:is\b|:)\s*:?", re.IGNORECASE)


@register_scorer("first_token")
@dataclass
class FirstTokenScorer(GenScorer):
    """Compares the first token of the answer, or as many as the target has.

    Where the answer announces itself ("The best answer is B", as the formats generate and cot ask for), the first token after
    the last announcement counts.
    """

    default_filter_cfg: ClassVar[Sequence[Any] | None] = [{"function": "remove_whitespace"}]
    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH

    def score(
        self, reference: Any, predictions: list[Any], metric_kwargs: Mapping[str, Any] | None = None
    ) -> dict[str, list[Any]]:
        """The scores of the answers cut after as many tokens as the longest accepted target has."""
        targets = reference if isinstance(reference, (list, tuple)) else [reference]
        size = max((len(str(target).split()) for target in targets), default=1) or 1
        heads = [_head(answer, size) if isinstance(answer, str) else answer for answer in predictions]
        return super().score(reference, heads, metric_kwargs)


def _head(answer: str, size: int) -> str:
    """The first tokens of an answer, after the last "answer is" where there is one."""
    announced = _ANNOUNCED.split(answer)[-1]
    return " ".join((announced if announced.strip() else answer).split()[:size])


@register_scorer("regex", "regex_extraction")
@dataclass
class RegexExtractionScorer(GenScorer):
    """Finds the answer by a regular expression and compares it.

    regex_pattern, group_select, fallback: of the filter "regex", where the config names no filters.
    """

    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH

    regex_pattern: str | None = None
    group_select: int | None = None
    fallback: str | None = None

    @classmethod
    def default_filters(cls, **kwargs: Any) -> Sequence[Any]:
        """The filter "regex" with the scorer's arguments."""
        names = ("regex_pattern", "group_select", "fallback")
        options = {name: kwargs[name] for name in names if kwargs.get(name) is not None}
        return cls.default_filter_cfg or [{"function": "regex", "kwargs": options}]


@register_scorer("choice_match")
@dataclass
class ChoiceMatchScorer(GenScorer):
    """Finds which of the doc's choices the answer means, and compares it with the target.

    The choices are the instance's metadata "choices", else the doc's field `choices_field`; without any the answer as a whole
    is compared. The target is a choice's text, its letter or its index.
    """

    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH

    choices_field: str = "choices"

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        """The scores of one doc, its answers replaced by the texts of the choices that they mean."""
        reference, predictions, metric_kwargs = self._extract_inputs(doc_instances)
        choices = self._choices(doc_instances[0])
        if not choices:
            return super().score_doc(doc_id, doc_instances)
        reader = McqLetterFilter(letters=string.ascii_uppercase)
        letters = [reader.one(answer, choices) for answer in predictions]
        texts = [None if letter is None else choices[ord(letter) - ord("A")] for letter in letters]
        scores = self.score(_as_text(reference, choices), texts, metric_kwargs=metric_kwargs)
        return ScoredDoc(doc_id, reference, scores, tuple(rule_of(letter) for letter in letters))

    def _choices(self, instance: Instance) -> list[str]:
        found = instance.metadata.get("choices", instance.doc.get(self.choices_field))
        if isinstance(found, Mapping):
            found = found.get("text")
        return [str(choice) for choice in found] if isinstance(found, (list, tuple)) else []


def _as_text(target: Any, choices: Sequence[str]) -> Any:
    """The text of the choice that a target names by text, letter or index."""
    if isinstance(target, (list, tuple)):
        return [_as_text(one, choices) for one in target]
    if isinstance(target, int) and not isinstance(target, bool) and 0 <= target < len(choices):
        return choices[target]
    text = str(target)
    if text not in choices and len(text) == 1 and text.isupper() and ord(text) - ord("A") < len(choices):
        return choices[ord(text) - ord("A")]
    return text
