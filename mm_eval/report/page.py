"""One HTML file that opens from disk with no network: a template with the data as JSON in it, which scripts draw.

    RunFolder(folder).write_lines("report.html", page("Mine", "run.js", rows, pictures, about))

A page is written as a stream, a row and a picture at a time, so that 20,000 docs need the memory of one. Every text of a model,
a doc or a task reaches the page as text (textContent), never as HTML, and `<` in the JSON is escaped, so that no answer can
end the script element.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from mm_eval.report.safe import href, html, in_script
from mm_eval.runs.recorded import RecordedRun
from mm_eval.runs.results import warnings_of


def page(
    title: str,
    top: str,
    rows: Iterable[Mapping[str, Any]],
    pictures: Callable[[], Iterable[tuple[str, str]]],
    about: Callable[[], Mapping[str, Any]],
) -> Iterator[str]:
    """The page in pieces, each of whole lines.

    top: the script that draws the part above the samples. rows: the samples. pictures: (digest, address) of each picture.
    about: the data of the part above the samples. Both are called after the last row, so that they may use what the rows collect.
    """
    values: dict[str, Callable[[], Iterable[str]]] = {
        "TITLE": lambda: [html(title)],
        "STYLE": lambda: [_asset("report.css")],
        "ROWS": lambda: _bracketed("[]", (in_script(row) for row in rows)),
        "MEDIA": lambda: _bracketed("{}", (f"{in_script(digest)}:{in_script(at)}" for digest, at in pictures())),
        "DATA": lambda: [in_script(about())],
        "SCRIPT": lambda: map(_asset, ("shared.js", top, "samples.js")),
    }
    for place, part in enumerate(re.split(r"<!--([A-Z]+)-->", _asset("report.html"))):
        yield from values[part]() if place % 2 else [part]


def about_differences(
    kind: str,
    title: str,
    runs: Mapping[str, RecordedRun],
    facts: Sequence[Mapping[str, Any]],
    own: str,
    beside: Sequence[str],
) -> dict[str, Any]:
    """The part above the samples that the pages of `compare` and `prompts` share; differences.js draws it.

    runs: by the names of their banners. own, beside: the names of the samples' own run and of those beside it.
    """
    sampled = sorted({name for run in runs.values() for name in run.results["run"].get("sample") or ()})
    return {
        "kind": kind,
        "title": title,
        "datasets": sampled,
        "sample": bool(sampled),
        "facts": list(facts),
        "own": own,
        "beside": list(beside),
        "differs": [
            {"title": f"{name}: look at the answers first", "said": said}
            for name, run in runs.items()
            if (said := warnings_of(run.results))
        ],
    }


def run_fact(name: str, run: RecordedRun, page_folder: Path, text: str) -> dict[str, Any]:
    """A line about a run above the tables, with a link to its own report."""
    report = run.folder / "report.html"
    link = href(Path(os.path.relpath(report, page_folder))) if report.is_file() else None
    return {"name": name, "text": text, "link": link, "at": str(run.folder)}


def _bracketed(brackets: str, items: Iterable[str]) -> Iterator[str]:
    """JSON items between brackets, one a line."""
    before = brackets[0]
    for item in items:
        yield before + item
        before = ","
    yield brackets if before == brackets[0] else brackets[1]


def _asset(name: str) -> str:
    return (resources.files("mm_eval.assets") / "report" / name).read_text(encoding="utf-8")
