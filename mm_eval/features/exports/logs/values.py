"""What a log of another suite holds: for each of its tasks the rows with answers, golds and the suite's own scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class LogRow:
    """One document of a log, under one filter pipeline.

    where: file:line, for messages. resps: the answers, each a text or [log-likelihood, is_greedy]; one a repeat, or one a choice.
    doc_id: its row in the data set, from 0, where the suite counts so. id: the suite's own name for it.
    doc: the row of the data set, as far as the log has it. prompt: what the model got. target: the gold, None if unknown.
    choices: the options in the order of the log-likelihoods, or of the letters. ended: how each answer ended; empty if unknown.
    scores: the suite's own values by metric. read: the answer as the suite read it. filter: its pipeline.
    failed: why there is no answer; empty where there is one. raw: the entry of the log, for a map of columns.
    """

    where: str
    resps: Sequence[Any] = ()
    doc_id: int | None = None
    id: str = ""
    doc: Mapping[str, Any] | None = None
    prompt: Any = None
    target: Any = None
    choices: Sequence[str] = ()
    ended: Sequence[str] = ()
    scores: Mapping[str, Any] = field(default_factory=dict)
    read: Any = None
    filter: str = "none"
    failed: str = ""
    raw: Mapping[str, Any] = field(default_factory=dict)


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


def mapping(value: Any) -> Mapping[str, Any]:
    """A part of a log that should be a mapping; an empty one where it is not."""
    return value if isinstance(value, dict) else {}


def mapped(row: LogRow, columns: Mapping[str, str]) -> LogRow:
    """A row whose fields, or columns of its doc, are those that a map names: {field or column here: column of the log}.

    `scores.NAME` is a value of the suite's own under that name.
    """
    if not columns:
        return row
    found: dict[str, Any] = {}
    doc = dict(row.doc or {})
    scores = dict(row.scores)
    for ours, theirs in columns.items():
        if theirs not in row.raw and theirs not in (row.doc or {}):
            raise KeyError(theirs)
        value = row.raw[theirs] if theirs in row.raw else (row.doc or {})[theirs]
        if ours.startswith("scores."):
            scores[ours.removeprefix("scores.")] = as_score(value)
        elif ours == "resps":
            found["resps"] = value if isinstance(value, list) else ["" if value is None else str(value)]
        elif ours == "doc_id":
            found["doc_id"] = int(value)
        elif ours in ("id", "prompt", "target", "read"):
            found[ours] = str(value) if ours == "id" else value
        else:
            doc[ours] = value
    return replace(row, **found, doc=doc or row.doc, scores=scores)


RIGHT, WRONG = ("c", "true", "yes", "correct"), ("i", "n", "false", "no", "incorrect")
MARKS = {**dict.fromkeys(RIGHT, 1.0), **dict.fromkeys(WRONG, 0.0), "p": 0.5}
"""What suites write for right and wrong; inspect_ai writes C, I, P (partly) and N (no answer)."""


def as_score(value: Any) -> Any:
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
