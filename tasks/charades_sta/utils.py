"""Charades-STA: the time in a video at which something happens that a sentence describes.

Source: Gao et al. 2017, arXiv:1705.02101 (recall of one span at an overlap); the spans in an answer as in lmms-eval,
lmms_eval/tasks/charades_sta, which has them from TimeChat and VTimeLLM.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.base import UNPARSED
from mm_eval.values.types import Video

OVERLAPS = (0.3, 0.5, 0.7)
NAMED = ("start", "end", "happen")
"""If some line has one of these, only such lines are read."""

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?"
_NUMBER = r"\d+(?:\.\d+)?"
_RANGES = (
    re.compile(rf"\b({_CLOCK})\s*[–-]\s*({_CLOCK})\b"),
    re.compile(rf"(?<!\d)({_NUMBER})\s*[–-]\s*({_NUMBER})"),
)
_LAST_RANGE = re.compile(rf"(?<!\d)({_NUMBER})\s*s?\s*[–-]\s*({_NUMBER})\s*s?")
_CLOCKS = re.compile(rf"\b{_CLOCK}\b")
_FIRST_NUMBER = re.compile(rf"\b{_NUMBER}\b")

Span = tuple[float, float]


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(doc["video"])]


def gold(doc: Mapping[str, Any]) -> Span:
    """The span in seconds, which the hub stores with 16 bits: 24.3 is 24.296875 there."""
    start, end = doc["timestamp"]
    return float(start), float(end)


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The span as an answer."""
    return "{} - {}".format(*gold(doc))


def seconds(time: str) -> float:
    """Seconds of "24.3", "0:24" or "1:00:24"."""
    total = 0.0
    for part in time.split(":"):
        total = 60 * total + float(part)
    return total


def spans(answer: str) -> list[Span]:
    """The different spans that an answer names, each from the earlier to the later time.

    "to" is a dash. Of these forms the first that occurs counts: "0:03 - 0:05" or "3.2 - 5" in one line, clock times in pairs, the
    first numbers of two lines, "3.2s - 5s". So "starts at 3 and ends at 5" names none, unless a new line stands between them.
    """
    lines = re.split(r"[!?\n]", answer.lower().replace("to", "-"))
    lines = [line for line in lines if any(word in line for word in NAMED)] or lines
    clocks = [time for line in lines for time in _CLOCKS.findall(line)]
    firsts = [match[0] for match in map(_FIRST_NUMBER.search, lines) if match]
    forms: list[Sequence[tuple[str, str]]] = [
        *(pattern.findall(line) for pattern in _RANGES for line in lines),
        *(list(zip(times[::2], times[1::2], strict=False)) for times in (clocks, firsts)),
        *(_LAST_RANGE.findall(line) for line in lines),
    ]
    found: Sequence[tuple[str, str]] = next(filter(None, forms), [])
    times = [sorted((seconds(start), seconds(end))) for start, end in found]
    return list(dict.fromkeys((start, end) for start, end in times))


def overlap(one: Span, other: Span) -> float:
    """Intersection over union of two spans; 0 if both have no length."""
    union = max(one[1], other[1]) - min(one[0], other[0])
    return max(min(one[1], other[1]) - max(one[0], other[0]), 0.0) / union if union > 0 else 0.0


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The overlap with the right span, and whether it reaches each bound; 0 for an answer without a span or with two."""
    said = spans(results[0] or "")
    value = overlap(said[0], gold(doc)) if len(said) == 1 else 0.0
    rule = {0: UNPARSED, 1: "one_span"}.get(len(said), "several_spans")
    return {"miou": value, **{f"iou_{bound}": float(value >= bound) for bound in OVERLAPS}, "__rule__": rule}
