"""What a run came to, in one shape for both suites: numbers, standard errors, and every doc's prompt, answers and scores."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FIELDS = ("loads", "prompt", "continuation", "answer", "filtered", "score", "number", "stderr")
"""What is compared of a task. loads: whether a suite runs the task at all."""

OTHER_ERRORS = ("_stderr_clt", "_stderr_clustered")
"""Further standard errors of lmms-eval, which mm-eval has as the one."""


@dataclass
class Recorded:
    """One task or group. Each mapping is keyed by what the value is of: a metric, or a doc id and more."""

    values: dict[str, dict[Any, Any]] = field(default_factory=lambda: {name: {} for name in FIELDS})


def peers(path: Path) -> dict[str, Recorded]:
    """What `lm_eval_run.py` or `lmms_eval_run.py` wrote."""
    said = json.loads(path.read_text(encoding="utf-8"))
    found = _numbers(said["results"] | said.get("groups", {}))
    for task, rows in said["samples"].items():
        values = found.setdefault(task, Recorded()).values
        for row in rows:
            _add_row(values, row, list(said["results"].get(task, ())))
    return found


def _add_row(values: dict[str, dict[Any, Any]], row: dict[str, Any], keys: list[str]) -> None:
    """A row of a peer's samples. keys: those of the task's results, `metric,filter`.

    lm-eval has a row a filter and names it; lmms-eval has one row, and the metrics' names among its keys.
    """
    doc, pipeline, arguments = int(row["doc_id"]), row.get("filter"), row["arguments"]
    requests = arguments if isinstance(arguments[0], list) else [arguments]
    continuations = [each[1] for each in requests if len(each) > 1 and isinstance(each[1], str)]
    rolling = len(requests[0]) == 1  # the text is scored and nothing stands before it
    values["prompt"][doc] = "" if rolling else requests[0][0]
    values["continuation"] |= {(doc, place): text for place, text in enumerate(continuations)}
    one = row["resps"][0]
    repeated = len(row["resps"]) == 1 and len(one) > 1 and all(isinstance(each, str) for each in one)
    said = list(one) if repeated else [_bare(each) for each in row["resps"]]
    values["answer"] |= {(doc, place): [each, False] if rolling else each for place, each in enumerate(said)}
    filtered = [_bare(row["filtered_resps"]), False] if rolling else _bare(row["filtered_resps"])
    if pipeline is None and isinstance(filtered, str):
        filtered = filtered.strip()  # which lmms-eval does before it scores, and after it logs
    for key in keys:
        metric, _, of = key.partition(",")
        if metric in row and pipeline in (None, of):
            values["score"][doc, key] = row[metric]
            values["filtered"][doc, of] = filtered


def ours(folder: Path) -> dict[str, Recorded]:
    """A run folder of mm-eval."""
    said = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    found = _numbers(said["results"] | said["groups"])
    for path in sorted((folder / "samples").glob("*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            name = (
                row["task"] if row["task"] in found else row["task"].rpartition("::")[2]
            )  # a group's member: group::task
            values, doc = found[name].values, row["doc_id"]
            if "error" in row:
                values["loads"][doc] = row["error"]
                continue
            values["prompt"][doc] = row["prompt"]
            values["continuation"] |= {(doc, place): text for place, text in enumerate(row.get("choices", ()))}
            values["answer"] |= {(doc, place): _bare(each) for place, each in enumerate(row["resps"])}
            values["filtered"] |= {(doc, name): _bare(each) for name, each in row["filtered_resps"].items()}
            values["score"] |= {(doc, name): value for name, value in row["scores"].items()}
    return found


def _numbers(results: dict[str, Any]) -> dict[str, Recorded]:
    found = {}
    for task, row in results.items():
        values = found.setdefault(task, Recorded()).values
        for key, value in row.items():
            metric, comma, pipeline = key.partition(",")
            if comma and isinstance(value, (int, float)) and not metric.endswith(OTHER_ERRORS):
                name = metric.removesuffix("_stderr")
                values["number" if name == metric else "stderr"][f"{name},{pipeline}"] = value
    return found


def _bare(said: Any) -> Any:
    """An answer without the lists around it: [["text"]] -> "text", [[-3.1, False]] -> [-3.1, False]."""
    while isinstance(said, list) and len(said) == 1:
        (said,) = said
    return said


@dataclass(frozen=True)
class Unequal:
    """A value that the two suites disagree on."""

    field: str
    of: Any
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        def short(value: Any) -> str:
            text = repr(value)
            return text if len(text) < 160 else f"{text[:70]} ... {text[-80:]}"

        return f"{self.field} of {self.of}: ours {short(self.ours)}, theirs {short(self.theirs)}"


def compared(mine: Recorded, theirs: Recorded) -> Iterator[tuple[str, Unequal | None]]:
    """(field, None) for each value that is equal, and (field, what differs) for each that is not.

    Ours may have more numbers. A standard error is compared where both suites have one; a prompt where both are text (a
    chat's text is made by the checkpoint's template, and the answers depend on it).
    """
    for name in FIELDS:
        left, right = mine.values[name], theirs.values[name]
        for of in sorted(left.keys() | right.keys(), key=str):
            if name in ("stderr", "filtered", "score") and (of not in left or of not in right):
                continue
            if name == "score" and isinstance(left[of], (int, float)) != isinstance(right[of], (int, float)):
                continue  # a doc's share of the sum here, and there what the sum is made of (brier_score)
            if name == "number" and of not in right:
                continue  # ours may have more: MME's categories
            if name == "prompt" and not (isinstance(left.get(of), str) and isinstance(right.get(of), str)):
                continue
            pair = left.get(of, "<missing>"), right.get(of, "<missing>")
            yield name, None if equal(*pair) else Unequal(name, of, *pair)


def equal(left: Any, right: Any) -> bool:
    """Equal values; sums of float32 log-probabilities, and what is made of them, within their rounding."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-5, abs_tol=2e-4 if abs(left) > 1 else 1e-6)
    return bool(left == right)
