"""The other suite's own scores of an imported run, beside ours: in the rows of samples/, in results.json, on terminal and page.

results.json gets `imported`: {task: {"suite", "version", "task", "numbers", "pairs": [{"theirs", "ours", ...}]}}. A pair is one
of our numbers and theirs for the same thing, with the documents that the two rules read differently.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.imported.repeats import repeated
from mm_eval.prompt.task import Task
from mm_eval.request import RunRequest
from mm_eval.results.imported import sentence
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import sample_name
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.filters.base import FilterEnsemble
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow, added_to
from mm_eval.values.run_files import MOST_LINE, UNREADABLE, json_value, lines_of, open_regular, read_json
from mm_eval.values.types import Fields, Instance, JsonObject, ScoredDoc

FOLDER = "imported"
FIELD = "theirs"
"""The key of the other suite's reading in a row of samples/."""
MOST_DOCS = 1000
"""Documents that results.json names for a pair; the count is of all."""
MOST_ON_PAGE = 200
LONGEST = 300
SAME_THING = ("acc", "exact_match", "hit", "score", "match", "choice", "includes", "accuracy", "eval_score")
"""Metrics that other suites call by other names: each is right or wrong."""


class Theirs:
    """What another suite says of the logs that a run was imported from."""

    def __init__(self, folder: Path, about: Fields) -> None:
        self._folder, self._about = folder, about

    @classmethod
    def of(cls, request: RunRequest) -> Theirs | None:
        """Of the folder of a request; None where nothing was imported into it."""
        about = _about(request)
        return cls(Path(str(request.output_path)), about) if about and isinstance(about.get("tasks"), dict) else None

    def with_theirs(self, task: Task, scorers: Sequence[Scorer]) -> Sequence[Scorer]:
        """The scorers of a task with the other suite's reading of each document."""
        name = task.config.key or task.config.row_name
        file = self._folder / FOLDER / "theirs" / f"{sample_name(name)}.jsonl"
        return [*scorers, Reading(rows=TheirRows(self._folder, file))] if file.is_file() else scorers

    def add_to(self, results: Results, model_name: str | None) -> None:
        """Compares the two readings of each document, as samples/ has them. model_name: of the imported run."""
        known = {name: about for name, about in self._about["tasks"].items() if isinstance(about, dict)}
        pairs = {
            name: list(compared(self._folder, name, about.get("numbers") or {}, results))
            for name, about in known.items()
            if name in results.rows
        }
        results.run.facts["model_name"] = model_name
        for name, of_task in known.items():
            results.shots.pop(name, None)
            if of_task.get("n-shot") is not None:
                results.shots[name] = of_task["n-shot"]
            if name in results.run.prompts:
                results.run.facts["prompts"][name] = {"key": f"{of_task.get('suite')}'s own", "kwargs": {}}
        results.imported = {name: {**about, "pairs": pairs.get(name, [])} for name, about in known.items()}

    def notes(self) -> list[str]:
        """Whose answers they are, and what was noted when they were imported."""
        notes = [str(note) for note in self._about.get("notes") or ()]
        for about in self._about["tasks"].values():
            notes += [str(note) for note in (about.get("notes") or () if isinstance(about, dict) else ())]
        suites = dict.fromkeys(
            f"{about.get('suite')} {about.get('version') or ''}".strip() for about in self._about["tasks"].values()
        )
        return [f"answers of {', '.join(suites)}, asked with its own prompts, and scored here", *notes]


def repeats_stated(request: RunRequest) -> dict[str, Fields]:
    """What the configs of an imported run state for several answers to each question, where the tasks ask once."""
    about = _about(request)
    tasks = about.get("tasks") if about else None
    known = [(name, each) for name, each in tasks.items() if isinstance(each, dict)] if isinstance(tasks, dict) else []
    manager = TaskManager(include_path=request.include_path)
    found: dict[str, Fields] = {}
    for name, each in known:
        if type(count := each.get("repeats")) is int and count > 1:
            asked = str(each.get("name") or name)
            [config] = manager.load([asked]).tasks.values()
            found[asked] = (
                {"repeats": count}
                if each.get("suite") == "mm-eval"
                else repeated(config.resolved(FOREIGN_CODE), count)[0]
            )
    return found


def _about(request: RunRequest) -> JsonObject | None:
    """What the folder of a request says of its logs; None where nothing was imported into it."""
    folder = Path(str(request.output_path)) if request.output_path else None
    if folder is None or not os.path.isfile(folder / FOLDER / "about.json"):
        return None
    return read_json(folder, f"{FOLDER}/about.json", "Import the logs again into another folder.")


def with_own_data(request: RunRequest) -> RunRequest:
    """The request of an imported run with the documents of its folder, wherever that has been moved to."""
    own = Path(str(request.output_path)) / FOLDER / "data"
    if request.data_root and Path(request.data_root).parts[-2:] == own.parts[-2:] and own.is_dir():
        return replace(request, data_root=str(own.resolve()))
    return request


class TheirRows:
    """The rows of imported/theirs by document: only their places are in memory."""

    def __init__(self, folder: Path, file: Path) -> None:
        self._folder, self._file = folder, file
        self._places: dict[int, list[int]] = {}
        for at, line in lines_of(folder, file):
            try:
                self._places.setdefault(int(json_value(line or b"")["doc_id"]), []).append(at)
            except UNREADABLE:
                continue  # a damaged line costs the other suite's reading of one document
        self._open: Any = None

    def of(self, doc_id: int) -> list[JsonObject]:
        """What the suite says of a document, by its pipelines; the first one has prompt and gold."""
        found = []
        if self._open is None:
            self._open = open_regular(self._folder, self._file)
        for at in self._places.get(doc_id, ()):
            self._open.seek(at)
            found.append(json_value(self._open.readline(MOST_LINE)))
        return found


@dataclass(kw_only=True)
class Reading(Scorer):
    """Adds the other suite's reading of a document to its row. It has no numbers of its own."""

    name: str = FIELD
    filter: FilterEnsemble = field(default_factory=lambda: FilterEnsemble(FIELD, []))
    rows: TheirRows

    @property
    def reads_answers(self) -> bool:
        return False

    def apply_filter(self, instances: Sequence[Instance]) -> None:
        """Nothing is filtered."""

    def score_doc(self, doc_id: int, doc_instances: list[Instance]) -> ScoredDoc:
        return ScoredDoc(doc_id, None, {})

    def row_entries(self, doc_id: int) -> JsonObject:
        """`theirs`, and the prompt that the model got there in place of the one that it would get here."""
        found = self.rows.of(doc_id)
        if not found:
            return {}
        first = found[0]
        scores = {
            _their_key(metric, each): value for each in found for metric, value in (each.get("scores") or {}).items()
        }
        entry = {"scores": scores, "read": first.get("read"), "target": first.get("target"), "id": first.get("id")}
        prompt = first.get("prompt")
        fits = isinstance(prompt, str) or isinstance(prompt, list) and all(map(_is_message, prompt))
        return {FIELD: entry, **({"prompt": prompt} if prompt and fits else {})}


def _is_message(value: object) -> bool:
    """Whether a value is a message with a list of parts, as the rows of samples/ have them."""
    if (
        not isinstance(value, dict)
        or not isinstance(value.get("role"), str)
        or not isinstance(value.get("content"), list)
    ):
        return False
    return all(isinstance(part, dict) and isinstance(part.get("text", ""), str) for part in value["content"])


def _scores(folder: Path, file: str, by_pipeline: bool = False) -> dict[str, dict[int, float]]:
    """{metric: {doc id: value}} of the rows of a file, as far as the values are numbers. by_pipeline: of imported/theirs."""
    found: dict[str, dict[int, float]] = {}
    for _, line in lines_of(folder, folder / file):
        row = json_value(line or b"")
        for key, value in (row.get("scores") or {}).items():
            value = value.get("score") if isinstance(value, Mapping) else value
            if isinstance(value, (bool, int, float)) and math.isfinite(value):
                found.setdefault(_their_key(key, row) if by_pipeline else key, {})[row["doc_id"]] = float(value)
    return found


def _their_key(metric: str, row: Fields) -> str:
    """A metric of theirs with its pipeline, where it has one."""
    return metric if row.get("filter") in ("none", None) else f"{metric},{row['filter']}"


def compared(folder: Path, name: str, numbers: Mapping[str, float], results: Results) -> Iterator[JsonObject]:
    """The pairs of their numbers and ours for a task, with the documents that are read differently.

    numbers: theirs, of their results file. A pair is over the documents that both have a value for; the task's headline number
    comes first. Nothing where the folder lacks their scores.
    """
    ours, theirs = _scores(folder, f"samples/{sample_name(name)}.jsonl"), dict[str, dict[int, float]]()
    with suppress(OSError, *UNREADABLE):
        theirs = _scores(folder, f"{FOLDER}/theirs/{sample_name(name)}.jsonl", by_pipeline=True)
    stated = {str(number.key): number.value for number in results.rows[name].numbers}
    first = results.headline(name)
    headline = str(first.key) if first else ""
    partners = {key: _partner(key, theirs, headline) for key in stated if key in ours}
    if not any(partners.values()) and (marks := _marks(theirs, ours)) is not None:
        partners = dict([marks])
    for key in sorted(partners, key=lambda key: key != headline):
        if (partner := partners[key]) is not None:
            yield _pair(key, ours[key], partner, theirs[partner], numbers, stated.get(key))


def _partner(key: str, theirs: Fields, headline: str) -> str | None:
    """Their metric for the same thing as one of ours: of the same name and pipeline, else of the same name, else the only one
    there, or one of those that mean right or wrong, for our headline number under each of its pipelines."""
    metric, _, pipeline = key.partition(",")
    for name in (key, f"{metric},{pipeline}" if pipeline != "none" else metric, metric):
        if name in theirs:
            return name
    named = [name for name in theirs if name.partition(",")[0] == metric]
    if len(named) == 1 or named and pipeline == "none":
        return named[0]
    if named or metric != headline.partition(",")[0]:
        return None
    marks = [name for name in theirs if name.partition(",")[0] in SAME_THING]
    return next(iter(theirs)) if len(theirs) == 1 else marks[0] if len(marks) == 1 else None


def _marks(
    theirs: Mapping[str, Mapping[int, float]], ours: Mapping[str, Mapping[int, float]]
) -> tuple[str, str] | None:
    """(ours, theirs): of each the metric that marks most documents right or wrong; None where theirs disagree."""

    def marking(found: Mapping[str, Mapping[int, float]]) -> list[str]:
        return [key for key, values in found.items() if set(values.values()) <= {0.0, 1.0}]

    mine, other = marking(ours), marking(theirs)
    named = [key for key in other if key.partition(",")[0] in SAME_THING] or other
    if not mine or not named or any(theirs[key] != theirs[named[0]] for key in named):
        return None
    return max(mine, key=lambda key: len(ours[key].keys() & theirs[named[0]])), named[0]


def _pair(
    key: str,
    ours: Mapping[int, float],
    partner: str,
    theirs: Mapping[int, float],
    numbers: Mapping[str, float],
    stated: object,
) -> JsonObject:
    both = [doc_id for doc_id in ours if doc_id in theirs]
    scale = 1.0
    if (
        both
        and max(ours[i] for i in both) <= 1 < max(theirs[i] for i in both) <= 100
        and min(ours[i] for i in both) >= 0
    ):
        scale = 100.0  # theirs are in percent
    differ = [i for i in both if not math.isclose(ours[i], theirs[i] / scale, rel_tol=1e-6, abs_tol=1e-9)]
    named = [partner, f"{partner},none", partner.partition(",")[0], "Overall"]
    reported = next((numbers[name] for name in named if name in numbers), None)
    mean = sum(theirs[i] for i in both) / len(both) / scale if both else None
    return {
        "ours": key,
        "theirs": partner,
        "our_value": stated,
        "their_value": reported,
        "their_mean": mean,
        "our_mean": sum(ours[i] for i in both) / len(both) if both else None,
        "docs": len(both),
        "only_theirs": len(theirs) - len(both),
        "only_ours": len(ours) - len(both),
        "differ": len(differ),
        "ours_higher": sum(ours[i] > theirs[i] / scale for i in differ),
        "doc_ids": sorted(differ)[:MOST_DOCS],
    }


class OnPage:
    """Both scores on the page, and the documents that are read differently."""

    def __init__(self, run: RecordedRun) -> None:
        self._imported: Fields = run.results.imported or {}
        self._first = {
            name: (about.get("pairs") or [None])[0] for name, about in self._imported.items() if isinstance(about, dict)
        }
        self._wanted = {name: set(pair["doc_ids"][:MOST_ON_PAGE]) for name, pair in self._first.items() if pair}
        self._shown: dict[str, list[JsonObject]] = {}

    def look(self, task: str, row: SampleRow) -> None:
        """Keeps what the page shows of a document that is read differently."""
        if row["doc_id"] not in self._wanted.get(task, ()):
            return
        pair, theirs = self._first[task], added_to(row).get(FIELD) or {}
        ours = row["scores"].get(pair["ours"])
        read = next((found for found in row.get("filtered_resps", {}).values() if found), [None])
        self._shown.setdefault(task, []).append(
            {
                "doc": row["doc_id"],
                "answer": _short(row["resps"][0] if row["resps"] else ""),
                "gold": _short(row.get("target")),
                "our_read": _short(read[0]),
                "our_score": ours.get("score") if isinstance(ours, Mapping) else ours,
                "their_read": _short(theirs.get("read")),
                "their_score": (theirs.get("scores") or {}).get(pair["theirs"]),
            }
        )

    def about(self) -> list[JsonObject]:
        """For each imported task: the sentences, the notes, and the documents."""
        return [
            {
                "task": name,
                "suite": f"{about.get('suite')} {about.get('version') or ''}".strip(),
                "sentences": [sentence(pair) for pair in about["pairs"]],
                "notes": [str(note) for note in about.get("notes") or ()],
                "docs": self._shown.get(name, []),
                "differ": (self._first.get(name) or {}).get("differ", 0),
            }
            for name, about in self._imported.items()
        ]


def _short(value: object) -> str:
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return text[:LONGEST] + ("..." if len(text) > LONGEST else "")
