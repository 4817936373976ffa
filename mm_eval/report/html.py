"""report.html: a run in one file that opens from disk with no network.

    write_report(RecordedRun.read("runs/llava"))

The page is a template with the run's data as JSON in it; report.js draws it. Every text of a model, a doc or a task reaches
the page as text (textContent), never as HTML, and `<` in the JSON is escaped, so that no answer can end the script element.
Pictures are thumbnails by content in media/; those that fit into `EMBEDDED` bytes are in the file itself, the rest is loaded
from beside it.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from mm_eval.engine.run_folder import RunFolder
from mm_eval.metrics.paired import Estimate, right_or_wrong
from mm_eval.report.comparison import headline_keys
from mm_eval.report.recorded import RecordedRun, RecordedTask
from mm_eval.types import MetricKey

EMBEDDED = 24 * 2**20
"""Bytes of thumbnails that the file carries itself: about 8,000 of them."""
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
MOST_CATEGORIES = 40
LONGEST = 20_000
"""Characters of one text that the page holds; what is longer is cut, and said to be."""


def write_report(run: RecordedRun, against: RecordedRun | None = None) -> Path:
    """Writes report.html into the run's folder and returns its path.

    against: another run, whose answers stand beside each sample, so that docs that flipped can be looked at.
    """
    return RunFolder(run.folder).write("report.html", html(run, against))


def html(run: RecordedRun, against: RecordedRun | None = None) -> str:
    """The page as text."""
    rows = [row for name in run.tasks for row in _rows(run, name)]
    if against is not None:
        _put_beside(rows, against)
    digests = list(dict.fromkeys(digest for row in rows for digest in row.get("images", ())))
    categories: dict[str, dict[int, str]] = {}
    for row in rows:
        categories.setdefault(row["t"], {})[row["d"]] = row["c"]
    page = _asset("report.html")
    values = {
        "TITLE": _escaped(f"{run.model}: {', '.join(run.tasks)}"),
        "STYLE": _asset("report.css"),
        "DATA": in_script(
            {**_overview(run, categories), "against": None if against is None else "/".join(against.folder.parts[-2:])}
        ),
        "ROWS": in_script(rows),
        "MEDIA": in_script(_pictures(run.folder, digests)),
        "SCRIPT": _asset("report.js"),
    }
    parts = []
    for (
        name,
        value,
    ) in values.items():  # in the template's order; not str.replace: an answer may hold another placeholder
        head, _, page = page.partition(f"<!--{name}-->")
        parts += [head, value]
    return "".join([*parts, page])


def in_script(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or open a comment.

    What JSON has no word for (NaN, infinity: a choice that a model gives no chance at all) becomes text.
    """
    options: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "default": str, "allow_nan": False}
    try:
        text = json.dumps(value, **options)
    except ValueError:
        text = json.dumps(_finite(value), **options)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _asset(name: str) -> str:
    return (resources.files("mm_eval.assets") / "report" / name).read_text(encoding="utf-8")


def _overview(run: RecordedRun, categories: Mapping[str, Mapping[int, str]]) -> dict[str, Any]:
    """What stands above the samples: what was measured, the table, and for each task its charts."""
    results, about = run.results, run.results["run"]
    return {
        "model": run.model,
        "adapter": about.get("model_name"),
        "sample": bool(about.get("sample")),
        "datasets": sorted({str(c.get("dataset_path")).rsplit("/", 1)[-1] for c in results["configs"].values()}),
        "system": about.get("system_instruction"),
        "chat": about.get("chat_template"),
        "seed": about.get("seed"),
        "limit": about.get("limit"),
        "version": about.get("mm_eval"),
        "libraries": about.get("libraries", {}),
        "prompts": about.get("prompts", {}),
        "table": list(_table(run)),
        "tasks": [_task_charts(task, categories.get(task.name, {})) for task in run.tasks.values()],
    }


def _table(run: RecordedRun) -> Iterator[dict[str, Any]]:
    """The rows of results.json, each number with its interval where one can be had from the docs."""
    for name, row in run.results["results"].items():
        task = run.tasks.get(name)
        numbers = []
        for text, value in row.items():
            key = MetricKey.parse(text)
            if key is None or key.is_stderr:
                continue
            found = task.estimate(text) if task is not None else None
            stderr = row.get(str(MetricKey(key.metric, key.scorer, is_stderr=True)))
            number = {"metric": key.metric, "filter": key.scorer, "value": value, "stderr": stderr}
            numbers.append({**number, "interval": _interval(found, value, stderr), "few": bool(found and found.few)})
        counts = {count: row.get(count, 0) for count in ("n", "failed", "unparsed", "truncated")}
        better = run.results["higher_is_better"].get(name, {})
        headlines = headline_keys(task) if task is not None else []
        yield {
            "name": name,
            "alias": row.get("alias", name),
            "group": name in run.results["groups"],
            "numbers": numbers,
            "headlines": headlines,
            "better": better,
            "notes": row.get("notes", []),
            **counts,
        }


def _interval(found: Estimate | None, value: Any, stderr: Any) -> list[float] | None:
    """The 95% interval of a number: Student's where the docs are known, else 1.96 standard errors."""
    if found is not None and found.interval is not None:
        return list(found.interval)
    if isinstance(value, (int, float)) and isinstance(stderr, (int, float)):
        return [value - 1.96 * stderr, value + 1.96 * stderr]
    return None


def _task_charts(task: RecordedTask, categories: Mapping[int, str]) -> dict[str, Any]:
    """The bars of a task: the numbers that are part of another one (MME's categories), else its mean in each category."""
    headlines = headline_keys(task)
    parts = {key.removesuffix(",none"): task.estimate(key) for key in task.values if key not in headlines}
    by = "By category"
    if not parts and headlines:
        key = max(headlines, key=lambda key: len(task.values[key]))
        by = f"{key.removesuffix(',none')} by category"
        groups: dict[str, dict[int, Any]] = {}
        for doc_id, value in task.values[key].items():
            groups.setdefault(categories.get(doc_id, ""), {})[doc_id] = value
        if 1 < len(groups) <= MOST_CATEGORIES:
            parts = {name: task.estimate(key, docs) for name, docs in sorted(groups.items())}
    drawn = [
        {"name": name, "value": e.value, "interval": list(e.interval) if e.interval else None, "n": e.docs}
        for name, e in parts.items()
        if e is not None
    ]
    return {"name": task.name, "by": by, "parts": drawn}


def _rows(run: RecordedRun, name: str) -> Iterator[dict[str, Any]]:
    """The samples of a task as the page shows them: short keys, since there may be 20,000."""
    for row in run.rows(name):
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
        yield {**shown, **{key: value for key, value in optional.items() if value is not None}}


def _put_beside(rows: list[dict[str, Any]], against: RecordedRun) -> None:
    """Adds what another run answered to the docs that it has."""
    places = {(row["t"], row["d"]): row for row in rows}
    for name in {row["t"] for row in rows} & against.tasks.keys():
        for other in _rows(against, name):
            if (row := places.get((name, other["d"]))) is not None:
                row["w"] = {"a": other["a"], **({"ok": other["ok"]} if "ok" in other else {})}


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


def _pictures(folder: Path, digests: list[str]) -> dict[str, str]:
    """Where each thumbnail is: a data URL while they fit, else a path beside the page; absent ones are left out."""
    found, room = {}, EMBEDDED
    for digest in digests:
        path = thumbnail_path(folder, digest)
        if not path.is_file():
            continue
        data = path.read_bytes()
        if len(data) <= room:
            room -= len(data)
            found[digest] = "data:image/jpeg;base64," + base64.b64encode(data).decode()
        else:
            found[digest] = path.relative_to(folder).as_posix()
    return found


def thumbnail_path(folder: Path, digest: str) -> Path:
    """media/ab/<sha>.jpg"""
    return folder / "media" / digest[:2] / f"{digest}.jpg"
