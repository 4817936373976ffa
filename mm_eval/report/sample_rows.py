"""The samples of a run as a page shows them, a row at a time, and what the rows were: categories and pictures."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mm_eval.metrics.paired import right_or_wrong
from mm_eval.report.media import Media
from mm_eval.runs.recorded import RecordedRun

CATEGORY_COLUMNS = (
    "category",
    "subject",
    "sub_category",
    "question_type",
    "data_type",
    "question_type_id",
    "task",
    "type",
)
LONGEST = 20_000
"""Characters of one text that a page holds; what is longer is cut, and said to be."""


class SampleRows:
    """The rows of a run's samples, with what other runs answered to the same docs.

    Iterated over once. Then categories: {task: {category: doc ids}}, and digests of all pictures in order of appearance.
    """

    def __init__(self, run: RecordedRun, others: Sequence[RecordedRun | None] = (), model: int | None = None) -> None:
        """others: None where there is no such run. model: its place among the models of a page that shows several."""
        self.run, self.others, self.model = run, others, model
        self.categories: dict[str, dict[str, array[int]]] = {}
        self.digests: dict[str, None] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for name in self.run.tasks:
            beside = [Answers(other, name) if other and name in other.tasks else None for other in self.others]
            categories = self.categories.setdefault(name, {})
            for row in self.run.rows(name):
                shown = _shown(name, row)
                categories.setdefault(shown["c"], array("q")).append(row["doc_id"])
                self.digests.update(dict.fromkeys(shown.get("images", ())))
                if beside:
                    shown["w"] = [answers.beside(row) if answers else None for answers in beside]
                if self.model is not None:
                    shown["m"] = self.model
                yield shown


def pictures(digests: Iterable[str], folders: Sequence[Path], page_folder: Path) -> Iterator[tuple[str, str]]:
    """(digest, address) of each thumbnail that one of the run folders has."""
    with ExitStack() as opened:
        kept = [opened.enter_context(Media(folder)) for folder in folders]
        for digest in digests:
            address = next((found for media in kept if (found := media.address(digest, page_folder))), None)
            if address is not None:
                yield digest, address


class Answers:
    """What a run answered to the docs of a task: where each row stands in its file, so that none is held."""

    def __init__(self, run: RecordedRun, task: str) -> None:
        self._task, self._path, self._places = task, run.samples_path(task), dict[int, int]()
        at = 0
        with self._path.open("rb") as file:
            for line in file:
                self._places[json.loads(line)["doc_id"]] = at
                at += len(line)

    def beside(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        """The answer to the doc of another run's row, in the short keys of the page; None where it was not asked."""
        at = self._places.get(row["doc_id"])
        if at is None:
            return None
        with self._path.open("rb") as file:
            file.seek(at)
            other = json.loads(file.readline())
        if (other["doc"], other["target"]) != (row["doc"], row["target"]):
            return None  # the number names another doc in other data
        shown = _shown(self._task, other)
        keys = ("a", "ok", "e", "u", "x") if row["prompt"] == other["prompt"] else ("a", "ok", "e", "u", "x", "p")
        return {key: shown[key] for key in keys if key in shown}


def _shown(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as the page shows it: short keys, since there may be 20,000."""
    scores = row.get("scores", {})
    right = next((mark for value in scores.values() if (mark := right_or_wrong(value)) is not None), None)
    rules = row.get("rules", {})
    unparsed = bool(rules) and all(set(found) == {"unparsed"} for found in rules.values() if found)
    shown: dict[str, Any] = {
        "t": name,
        "d": row["doc_id"],
        "s": row["status"],
        "p": _prompt_text(row.get("prompt", "")),
        "g": row.get("target"),
        "a": [_short(answer) for answer in row.get("resps", [])],
        "x": row.get("filtered_resps", {}),
        "r": rules,
        "v": {key: _mark(value) for key, value in scores.items()},
        "c": _category(row.get("doc", {})),
    }
    optional = {"ok": right, "images": row.get("images"), "o": row.get("choices")}
    optional["e"] = row["error"]["what"] if row.get("error") else None
    optional["u"] = unparsed or None
    optional["k"] = row.get("cut") or None
    return {**shown, **{key: value for key, value in optional.items() if value is not None}}


def _prompt_text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return str(_short(prompt))
    lines = []
    for message in prompt:
        parts = message["content"]
        text = parts if isinstance(parts, str) else "".join(part.get("text", "<image>\n") for part in parts)
        lines.append(f"[{message['role']}]\n{text}")
    return str(_short("\n\n".join(lines)))


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]} ... ({len(value):,} characters; all of them are in samples/)"
    return value


def _mark(value: Any) -> Any:
    return value.get("score", value) if isinstance(value, Mapping) else value


def _category(doc: Mapping[str, Any]) -> str:
    """What a doc's own column calls its kind; empty where no column does."""
    found = next((doc[name] for name in CATEGORY_COLUMNS if isinstance(doc.get(name), (str, int))), "")
    return str(found)
