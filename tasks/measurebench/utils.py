"""MeasureBench: whether the last number of an answer, or its first time of day, is in an interval, with the right unit.

Source: Lin et al. 2025, arXiv:2510.26865; evaluation/measure_bench_evaluator.py of flageval-baai/MeasureBench at d5bb865.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
MARKS = ("Answer:", "Answer", "答案：", "答案:", "答案")
PLAIN = str.maketrans("\u2032\u2009\u2010\u2212\u2013\u22c5", "' ---\u00b7")
SIGN = r"[-+\\u12]?"
"""The authors' class of signs. An escape is escaped once too often there, so that "u5" is no number."""
NUMBER = re.compile(rf"[-+]?\d+\s*/\s*[-+]?\d+|{SIGN}(?:\d*\.\d+|\d+\.\d*)|{SIGN}\d+")
TIME = re.compile(r"\b(\d{1,2}):(\d{2})(?::(\d{2}))?\b")


class Reading(NamedTuple):
    """What an answer says of one interval. unit: None where none is asked for. error: None where no number was read."""

    number: bool
    unit: bool | None
    error: float | None

    @property
    def is_right(self) -> bool:
        """Number and unit are right."""
        return self.number and self.unit is not False

    def is_better_than(self, other: "Reading") -> bool:
        """More of it is right, or its number is nearer."""
        if self.number + (self.unit is not False) > other.number + (other.unit is not False):
            return True
        return self.error is not None and other.error is not None and self.error < other.error


def last_words(answer: str) -> str:
    """What stands behind the last mark of an answer, else in the first box, else the whole answer."""
    mark = next((mark for mark in MARKS if mark in answer), None)
    boxed = re.search(r"\\boxed\{([^}]+)\}", answer)
    said = answer.rpartition(mark)[2].strip() if mark else boxed[1].strip() if boxed else answer
    return said.translate(PLAIN)


def numbers(text: str) -> Iterator[float]:
    """The numbers of a text; 3/4 is one."""
    for found in NUMBER.findall(text):
        top, slash, bottom = found.partition("/")
        try:
            yield int(top) / int(bottom) if slash else float(found)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue


def seconds(parts: Sequence[str]) -> int:
    """The seconds of hours, minutes and seconds."""
    return sum(scale * int(part) for scale, part in zip((3600, 60, 1), parts, strict=False) if part)


def folded(text: str) -> str:
    """A text in small letters, with one sign for each letter."""
    return unicodedata.normalize("NFKC", text.lower())


def reading(said: str, interval: Sequence[float | str], units: Sequence[str]) -> Reading:
    """What these words say of one interval; its ends count."""
    unit = any(folded(each) in folded(said) for each in units) if len(units) else None
    if isinstance(interval[0], str):
        low, high = (float(seconds(str(end).split(":"))) for end in interval)
        time = TIME.search(said)
        value = float(seconds(time.groups())) if time else math.nan
    else:
        low, high = (float(end) for end in interval)
        value = ([*numbers(said)] or [math.nan])[-1]
    if not math.isfinite(value):
        return Reading(False, unit, None)
    if low <= value <= high:
        return Reading(True, unit, 0.0)
    return Reading(False, unit, min(abs((value - end) / (end + 1e-6)) for end in (low, high)))


def choices(doc: Doc) -> list[tuple[Sequence[float | str], Sequence[str]]]:
    """The intervals of a document, each with the names of its unit."""
    stated = json.loads(doc["evaluator_kwargs"])
    if doc["evaluator"] == "interval_matching":
        return [(stated["interval"], stated["units"])]
    return [*zip(stated["intervals"], stated["units"] or [[]] * len(stated["intervals"]), strict=False)]


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """The best reading of an answer; one without a number is unparsed. unit_acc has no value where no unit is asked for."""
    said = last_words(results[0] or "")
    best, *others = (reading(said, *choice) for choice in choices(doc))
    for other in others:
        best = other if not best.is_right and other.is_better_than(best) else best
    scores: dict[str, Any] = {"acc": float(best.is_right), "number_acc": float(best.number)}
    scores |= {} if best.unit is None else {"unit_acc": float(best.unit)}
    return scores | {"__rule__": UNPARSED if best.error is None else "time" if TIME.search(said) else "number"}


def doc_to_target(doc: Doc) -> str:
    """The intervals and their units."""
    return " or ".join(" ".join([f"{low} to {high}", *list(units)[:1]]).strip() for (low, high), units in choices(doc))


def gold_answer(doc: Doc) -> str:
    """The middle of the first interval. Its unit comes first, since a unit's digit would be the last number."""
    (low, high), units = choices(doc)[0]
    number = low if isinstance(low, str) else f"{(float(low) + float(high)) / 2:.9f}"
    return f"Final Answer: {' '.join(list(units)[:1])} {number}"


def design(doc: Doc) -> str:
    """The instrument's design, in small letters as the authors count it."""
    return str(doc["design"]).lower()
