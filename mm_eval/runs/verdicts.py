"""The verdicts in a row of samples/<task>.jsonl.

    {"judge": {"prompt": ..., "reply": "GRADE: C", "verdict": 1, "model": "gpt-4o-2024-11-20", "attempts": 1}, "judge@llama": ...}

Where a task judges in several steps or several times, the entry is a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FIELD = "judge"
"""The key of the first judge's entry in a row; a further judge's is `judge@NAME`."""
Entry = Mapping[str, Any]


def verdicts_in(row: Mapping[str, Any]) -> dict[str, list[Entry]]:
    """{name of the judge: its entries} of a row, "" being the first judge; empty where nothing was judged."""
    found = {}
    for key, value in row.items():
        if key == FIELD or key.startswith(f"{FIELD}@"):
            entries = value if isinstance(value, list) else [value]
            found[key[len(FIELD) + 1 :]] = [entry for entry in entries if isinstance(entry, Mapping)]
    return {name: entries for name, entries in found.items() if entries}


def unreadable(entries: list[Entry]) -> bool:
    """Whether a verdict of one judge on one answer is missing or could not be read."""
    return any(entry.get("verdict") is None for entry in entries)


def judges_disagree(row: Mapping[str, Any]) -> bool:
    """Whether two judges give a doc different scores, or a doc without scores different verdicts."""
    scores, judges = row.get("scores", {}), verdicts_in(row)
    for name in judges:
        for key, value in scores.items() if name else ():
            metric, _, scorer = key.partition(",")
            plain = f"{metric.removesuffix(f'@{name}')},{scorer}"
            if metric.endswith(f"@{name}") and plain in scores and scores[plain] != value:
                return True
    last = [entries[-1].get("verdict") for entries in judges.values()]
    known = [verdict for verdict in last if verdict is not None]
    return any(verdict != known[0] for verdict in known)


def final_verdicts(entries: list[Entry], steps: int) -> list[Any]:
    """The verdicts of one judge on a doc, one for each repeat; None for one that is missing. steps: questions a verdict takes."""
    found: list[Any] = []
    asked = 0
    for entry in entries:
        asked += 1
        if asked == steps or entry.get("verdict") is None or entry.get("empty"):
            found.append(entry.get("verdict"))
            asked = 0
    return found


def was_sent(entries: list[Entry]) -> bool:
    """Whether the judge was asked: an empty answer gets its verdict from the task."""
    return not any(entry.get("empty") for entry in entries)
