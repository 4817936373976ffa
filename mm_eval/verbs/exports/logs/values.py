"""What a log of another suite holds: for each of its tasks the rows with answers, golds and the suite's own scores."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.values.types import Fields, JsonObject


@dataclass(frozen=True)
class LogRow:
    """One document of a log, under one filter pipeline.

    where: file:line, for messages. resps: the answers, each a text or [log-likelihood, is_greedy], or None where it is missing;
    one a repeat, or one a choice.
    doc_id: its row in the data set, from 0, where the suite counts so. id: the suite's own name for it.
    doc: the row of the data set, as far as the log has it. prompt: what the model got. target: the gold, None if unknown.
    choices: the options in the order of the log-likelihoods, or of the letters. ended: how each answer ended; one that is not
    stated is unknown.
    scores: the suite's own values by metric. read: the answer as the suite read it. filter: its pipeline. prompts: how many
    prompts its answers are to.
    failed: why an answer is missing; empty where none is. raw: the entry of the log, for a map of columns.
    """

    where: str
    resps: Sequence[Any] = ()
    doc_id: int | None = None
    id: str = ""
    doc: Fields | None = None
    prompt: Any = None
    target: Any = None
    choices: Sequence[str] = ()
    ended: Sequence[str] = ()
    scores: Fields = field(default_factory=dict)
    read: Any = None
    filter: str = "none"
    prompts: int = 1
    failed: str = ""
    raw: Fields = field(default_factory=dict)


@dataclass(frozen=True)
class Log:
    """The log of one task of another suite.

    suite: "lm-eval", "lmms-eval", "VLMEvalKit", "inspect_ai" or "table". version: of the suite, empty if unknown.
    task: its name there. numbers: the suite's own numbers by "metric" or "metric,filter".
    rows: opens the stream of rows; it may be called more than once. notes: what a reader of the numbers should know.
    when: a text that sorts by time, so that the newer of two logs of a task is known. shots: few-shot examples; None if unknown.
    """

    suite: str
    task: str
    path: Path
    rows: Callable[[], Iterator[LogRow]]
    model: str = ""
    version: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    notes: Sequence[str] = ()
    when: str = ""
    shots: int | None = None

    @property
    def said(self) -> str:
        """The suite with its version, as far as it is known."""
        return f"{self.suite} {self.version}".strip()


def mapped(row: LogRow, columns: Mapping[str, str]) -> LogRow:
    """A row whose fields, or columns of its doc, are those that a map names: {field or column here: column of the log}.

    `scores.NAME` is a value of the suite's own under that name.
    """
    if not columns:
        return row
    found: JsonObject = {}
    doc = dict(row.doc or {})
    scores = dict(row.scores)
    for ours, theirs in columns.items():
        if theirs not in row.raw and theirs not in (row.doc or {}):
            raise KeyError(theirs)
        value = row.raw[theirs] if theirs in row.raw else (row.doc or {})[theirs]
        if ours.startswith("scores."):
            scores[ours.removeprefix("scores.")] = as_score(value)
        elif ours == "resps":
            found["resps"] = [_answer(each) for each in value] if _is_several(value) else [_answer(value)]
        elif ours == "doc_id":
            found["doc_id"] = _whole(value)
        elif ours == "id":
            found["id"] = cell_text(value)
        elif ours in ("prompt", "target", "read"):
            found[ours] = value
        else:
            doc[ours] = value
    return replace(row, **found, doc=doc or row.doc, scores=scores)


def _is_several(value: object) -> bool:
    """Whether a cell has a list of answers; a pair of a number and a bool is one log-likelihood."""
    return isinstance(value, list) and not (len(value) == 2 and isinstance(value[1], bool))


def _answer(value: object) -> object:
    """One answer of a table of one's own: a cell may have become a number; null and NaN are no answer."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return str(value) if type(value) in (int, float) else value


def _whole(value: object) -> int:
    number = cell_text(value)
    if isinstance(value, bool) or not re.fullmatch(r"\d+", number):
        raise ValueError(f"doc_id is {value!r}, which is not a row")
    return int(number)


def cell_text(value: object) -> str:
    """A cell as text. A spreadsheet may make a number of an index or an answer: 3.0 is 3."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def options_in(row: Mapping[str, object]) -> list[str]:
    """The options that a row of a table or data set states: in columns A, B, ..., or as a list under `choices` or `options`.

    >>> options_in({"A": "red", "B": 2, "C": None}), options_in({"choices": {"text": ["red", "blue"]}}), options_in({})
    (['red', '2'], ['red', 'blue'], [])
    """
    lettered = [cell_text(row[letter]) for letter in LETTERS if row.get(letter) not in (None, "")]
    if len(lettered) > 1:
        return lettered
    for name in ("choices", "options"):
        found = row.get(name)
        if isinstance(found, str) and found.lstrip()[:1] == "[":
            try:
                found = json.loads(found)
            except (ValueError, RecursionError):
                continue
        if isinstance(found, Mapping):
            found = found.get("text")
        if isinstance(found, list) and len(found) > 1 and all(isinstance(each, (str, int, float)) for each in found):
            return [cell_text(each) for each in found]
    return []


def finite(value: object) -> object:
    """A value as JSON can hold it: a number that is none, or endless, is None.

    >>> finite({"a": [1.5, float("nan")]})
    {'a': [1.5, None]}
    """
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


RIGHT, WRONG = ("c", "true", "yes", "correct"), ("i", "n", "false", "no", "incorrect")
MARKS = {**dict.fromkeys(RIGHT, 1.0), **dict.fromkeys(WRONG, 0.0), "p": 0.5}
"""What suites write for right and wrong; inspect_ai writes C, I, P (partly) and N (no answer)."""


def as_score(value: object) -> Any:
    """A score as a number where it is a finite one; mappings keep their `score`; anything else as it is."""
    if isinstance(value, Mapping):
        value = value.get("score", value.get("value"))
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().lower() in MARKS:
        return MARKS[value.strip().lower()]
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def as_numbers(stated: Mapping[str, Any]) -> tuple[dict[str, float], list[str]]:
    """The suite's own numbers that are finite, and a note on those that are not."""
    found = {}
    for name, value in stated.items():
        try:
            found[name] = float(value)
        except OverflowError:
            found[name] = math.inf
    odd = [name for name, value in found.items() if not math.isfinite(value)]
    notes = [f"its own {name} is {found[name]}, which is not a number" for name in odd]
    return {name: value for name, value in found.items() if math.isfinite(value)}, notes
