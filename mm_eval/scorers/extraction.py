"""Scorers that bring their own way of finding the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mm_eval.scorers.base import register_scorer
from mm_eval.scorers.generation import GenScorer

_EXACT_MATCH: Sequence[Mapping[str, Any]] = (
    {"metric": "exact_match", "aggregation": "mean", "kwargs": {"ignore_case": True, "ignore_punctuation": True}},
)


@register_scorer("first_token")
@dataclass
class FirstTokenScorer(GenScorer):
    """Compares the first token of the answer, or as many as the target has."""

    default_filter_cfg: ClassVar[Sequence[Any] | None] = [{"function": "remove_whitespace"}]
    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH

    def score(
        self, reference: Any, predictions: list[Any], metric_kwargs: Mapping[str, Any] | None = None
    ) -> dict[str, list[Any]]:
        """The scores of the answers cut after as many tokens as the longest accepted target has."""
        targets = reference if isinstance(reference, (list, tuple)) else [reference]
        size = max((len(str(target).split()) for target in targets), default=1) or 1
        heads = [" ".join(answer.split()[:size]) if isinstance(answer, str) else answer for answer in predictions]
        return super().score(reference, heads, metric_kwargs)


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
    """Finds which of the doc's choices the answer means, and compares it with the target."""

    default_metric_cfg: ClassVar[Sequence[Any] | None] = _EXACT_MATCH
