"""A run as logs of inspect_ai (version 2 of its log format): one file for each task, which `inspect view` opens.

    write_inspect(run, Path("logs"))

A sample holds the doc's prompt with its thumbnails, the answers, what was read from them, and the scores. A file is written a
sample at a time, so that memory does not grow with the docs.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.results.media import Media
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import sample_name
from mm_eval.scoring.sample_row import SampleRow, added_to
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.types import IMAGE_MARK

VERSION = 2
"""Of inspect_ai's log format."""
STOP_REASONS = {"length": "max_tokens", "filtered": "content_filter", "refused": "content_filter", "tool": "tool_calls"}
"""The `stop_reason` of each ending but "stop"."""


def write_inspect(run: RecordedRun, folder: Path) -> list[Path]:
    """Writes a log for each task into a folder, and returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    with Media(run.folder) as media:
        return [
            RunFolder(folder).write_lines(
                f"{_started(run):%Y-%m-%dT%H-%M-%S}_{sample_name(name)}.json", _log(run, name, media)
            )
            for name in run.spec["tasks"]
        ]


def _log(run: RecordedRun, task: str, media: Media) -> Iterator[str]:
    """The log in pieces."""
    started = _started(run)
    ended = started + timedelta(seconds=run.results.run.seconds)
    head = {
        "version": VERSION,
        "status": "success",
        "eval": _eval(run, task),
        "plan": {"name": "mm-eval", "steps": [], "config": {}},
        "results": _results(run, task),
        "stats": {"started_at": started.isoformat(), "completed_at": ended.isoformat(), "model_usage": {}},
    }
    yield json.dumps(head, ensure_ascii=False)[:-1] + ',"samples":['
    before = ""
    for row in run.rows(task):
        yield before + json.dumps(_sample(run, row, media), ensure_ascii=False)
        before = ","
    yield "]}"


def _eval(run: RecordedRun, task: str) -> dict[str, Any]:
    about, config = run.results.run, run.results.configs.get(task, {})
    row = run.results.rows.get(task, Scores())
    return {
        "eval_id": _id(run, task, "eval"),
        "run_id": _id(run, "run"),
        "created": _started(run).isoformat(),
        "task": task,
        "task_id": _id(run, task, "task"),
        "task_version": str(run.results.versions.get(task, 0)),
        "dataset": {
            "name": str(config.get("dataset_path") or task),
            "samples": row.n,
            "shuffled": False,
        },
        "model": run.model,
        "model_args": {name: str(value) for name, value in (run.request.get("model_args") or {}).items()},
        "config": {"epochs": max(1, int(config.get("repeats") or 1))},
        "packages": {"mm_eval": str(about.version)},
        "metadata": {"prompt": about.prompts.get(task), "sample_data": about.sample},
    }


def _results(run: RecordedRun, task: str) -> dict[str, Any]:
    row = run.results.rows.get(task, Scores())
    scores = []
    for number in row.numbers:
        if not isinstance(number.value, (int, float)):
            continue
        metrics = {number.key.metric: number.value, "stderr": number.stderr}
        found = {
            name: {"name": name, "value": value, "params": {}} for name, value in metrics.items() if value is not None
        }
        scores.append({"name": str(number.key), "scorer": str(number.key), "params": {}, "metrics": found})
    return {
        "total_samples": row.n,
        "completed_samples": row.scored,
        "scores": scores,
    }


def _sample(run: RecordedRun, row: SampleRow, media: Media) -> dict[str, Any]:
    answers = [answer if isinstance(answer, str) else json.dumps(answer) for answer in row["resps"]]
    read = next((found[0] for found in row["filtered_resps"].values() if found), None)
    rules = "; ".join(f"{name}: {', '.join(found)}" for name, found in row["rules"].items() if found)
    messages = _messages(row, media)
    reply = [{"role": "assistant", "content": answers[0], "source": "generate"}] if answers else []
    stop = STOP_REASONS.get(next(iter(row.get("ended") or ()), "stop"), "stop")
    sample: dict[str, Any] = {
        "id": row["doc_id"],
        "epoch": 1,
        "input": messages,
        "target": row["target"] if isinstance(row["target"], str) else json.dumps(row["target"]),
        "messages": [*messages, *reply],
        "output": {"model": run.model, "choices": [{"message": one, "stop_reason": stop} for one in reply]},
        "scores": {
            key: {"value": _value(value), "answer": None if read is None else str(read), "explanation": rules}
            for key, value in row["scores"].items()
        },
        "metadata": {
            "status": row["status"],
            "doc": row["doc"],
            "categories": row.get("categories", {}),
            "mm_eval": {"doc_id": row["doc_id"], "resps": row["resps"], "ended": row.get("ended")},
        },
        "store": {},
        "events": [],
        "attachments": {},
        "model_usage": {},
    }
    if row.get("choices"):
        sample["choices"] = [str(choice) for choice in row["choices"]]
    if len(answers) > 1:
        sample["metadata"]["answers"] = answers
    sample["metadata"].update(added_to(row))
    if row.get("error"):
        what = str(row["error"]["what"])
        sample["error"] = {"message": what, "traceback": what, "traceback_ansi": what}
    return sample


def _messages(row: SampleRow, media: Media) -> list[dict[str, Any]]:
    """The prompt as chat messages, with the pictures' thumbnails in their places."""
    pictures = iter(row.get("images", ()))

    def part(given: Mapping[str, Any]) -> dict[str, Any]:
        if given.get("type") != "image":
            return {"type": "text", "text": str(given.get("text", ""))}
        found = _thumbnail(media, next(pictures, None))
        return {"type": "image", "image": found, "detail": "auto"} if found else {"type": "text", "text": IMAGE_MARK}

    prompt = row.get("prompt") or ""
    turns = [{"role": "user", "content": [{"type": "text", "text": prompt}]}] if isinstance(prompt, str) else prompt
    return [
        {
            "role": turn["role"],
            "content": turn["content"] if isinstance(turn["content"], str) else list(map(part, turn["content"])),
        }
        for turn in turns
    ]


def _thumbnail(media: Media, digest: str | None) -> str | None:
    """A thumbnail as a data address; None where there is none."""
    content = media.content(digest) if digest else None
    return None if content is None else f"data:image/jpeg;base64,{base64.b64encode(content).decode()}"


def _value(value: Any) -> Any:
    """A score as inspect_ai takes it: a number, a text, or a mapping or list of these."""
    value = value.get("score", value) if isinstance(value, Mapping) else value
    if isinstance(value, (bool, int, float, str)):
        return value
    return json.dumps(value)


def _started(run: RecordedRun) -> datetime:
    return datetime.fromtimestamp(run.results.run.started, UTC)


def _id(run: RecordedRun, *parts: str) -> str:
    """An id that is the same whenever the run is exported."""
    return hashlib.sha256(json.dumps([run.spec, *parts], sort_keys=True).encode()).hexdigest()[:22]
