"""People's verdicts on some answers of a run, for `mm-eval judge --judge_labels FILE`.

    {"task": "mmvet", "doc_id": 3, "label": 1}

A line a doc, or CSV with the columns task, doc_id and label. 1 is right and 0 wrong; where the judge gives numbers, a number.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.types import Fields

COLUMNS = ("task", "doc_id", "label")
FORM = '{"task": "mmvet", "doc_id": 3, "label": 1}'


def read_labels(path: str, tasks: Mapping[str, Collection[int]]) -> dict[str, dict[int, float]]:
    """{task: {doc_id: label}} from a file. tasks: the doc ids of each judged task; `task` may be left out where there is one.

    Errors: ConfigError with file:line for a line that is wrong, an unknown task or doc, and two different labels of a doc.
    """
    found: dict[str, dict[int, float]] = {}
    for where, row in _rows(path):
        if unknown := [name for name in row if name not in COLUMNS]:
            raise ConfigError(f"unknown key {unknown[0]!r}.", where=where, hint=did_you_mean(str(unknown[0]), COLUMNS))
        task = row.get("task", next(iter(tasks)) if len(tasks) == 1 else None)
        if task not in tasks:
            raise ConfigError(
                f"{task!r} is not a judged task of this run.", where=where, hint=f"Judged: {', '.join(tasks)}."
            )
        doc_id, label = _number(row.get("doc_id"), "doc_id", where), _number(row.get("label"), "label", where)
        if doc_id not in tasks[task]:
            raise ConfigError(f"{task} has no judged doc {row.get('doc_id')!r} in this run.", where=where)
        if found.setdefault(task, {}).setdefault(int(doc_id), label) != label:
            raise ConfigError(f"{task} doc {int(doc_id)} has another label on an earlier line.", where=where)
    if not found:
        raise ConfigError("the file has no labels.", where=path, hint=f"One line per document: {FORM}")
    return found


def _rows(path: str) -> Iterator[tuple[str, Fields]]:
    """(file:line, row) of a JSONL or CSV file."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise ConfigError(f"the labels can't be read: {why}.", where=path) from error
    if path.lower().endswith(".csv"):
        reader = csv.DictReader(io.StringIO(text))
        for row in reader:
            yield f"{path}:{reader.line_num}", row
        return
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ConfigError(
                f"it is not JSON: {error}.", where=where, hint=f"One line per document: {FORM}"
            ) from error
        if not isinstance(row, dict):
            raise ConfigError("it is not a mapping.", where=where, hint=f"One line per document: {FORM}")
        yield where, row


def _number(value: Any, name: str, where: str) -> float:
    """A number, also as CSV's text; true and false are 1 and 0."""
    words = {"true": 1.0, "false": 0.0, "right": 1.0, "wrong": 0.0}
    try:
        number = (
            words[value.strip().lower()] if isinstance(value, str) and value.strip().lower() in words else float(value)
        )
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or name == "doc_id" and (isinstance(value, bool) or number != int(number)):
        needed = "a document's number" if name == "doc_id" else "1 (right), 0 (wrong) or a number"
        raise ConfigError(f"{name} is {value!r}; {needed} is needed.", where=where)
    return number
