"""How long each answer of a run is, in tokens: as the adapter or server counted them, from the journal."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from mm_eval.engine.generation import token_counts
from mm_eval.types import judge_of_slot


def answer_tokens(folder: Path) -> dict[str, dict[int, int]]:
    """{path of a task: {doc id: tokens of its first answer}}. Docs whose answer has no count are left out.

    A line that can't be read counts as none, since `mm-eval score` reports damage, and a copied folder may lack its journal.
    """
    by_key: dict[str, int] = {}
    slots: list[tuple[str, list[list[int | str]]]] = []
    found: dict[str, dict[int, int]] = {}
    for path in sorted((folder / "journal").glob("*.jsonl")):
        with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                with suppress(ValueError, KeyError, TypeError, IndexError):
                    record = json.loads(line)
                    if record["kind"] == "answer":
                        by_key[record["key"]] = token_counts(record["usage"])["completion_tokens"]
                    if record["kind"] in ("answer", "slots"):
                        slots.append((record["key"], record["slots"]))
    for key, of_key in slots:  # further slots of an answer may stand in an earlier file
        for task, doc_id, repeat, *_ in of_key if key in by_key else ():
            if repeat == 0 and not judge_of_slot(str(task)):
                found.setdefault(str(task), {})[int(doc_id)] = by_key[key]
    return found
