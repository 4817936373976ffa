"""The page of a run with its samples in files beside it, so that a browser loads 100,000 of them part by part.

    write_run_page(Path("site/llava"), run, {"qwen": other})

A part is a script that calls `part(...)`: a script element loads it from a web server and from a disk alike, and each part names
the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from mm_eval.engine.folder import RunFolder
from mm_eval.files import write_atomic
from mm_eval.report.html import about_run, title_of
from mm_eval.report.page import SampleRows, page
from mm_eval.report.safe import in_script
from mm_eval.runs.diagnose import Diagnosis
from mm_eval.runs.recorded import RecordedRun

ROWS = 1_000
"""Samples of a part: 0.3 to 2 MB."""
FIRST = 200
"""Samples of the first part, which the reader waits for."""
PAGE = "report.html"


def part(rows: Iterable[str], next_part: str | None, **more: Any) -> Iterator[str]:
    """The script of a part in pieces. rows: JSON of each sample. next_part: its address; None for the last."""
    yield 'part({"rows":['
    for place, row in enumerate(rows):
        yield f",{row}" if place else row
    yield f'],"next":{in_script(next_part)}'
    for name, value in more.items():
        yield f",{in_script(name)}:{in_script(value)}"
    yield "});"


def write_run_page(
    folder: Path,
    run: RecordedRun,
    others: Mapping[str, RecordedRun],
    pictures: Mapping[str, Any],
    kinds: Callable[[Mapping[str, Any]], Mapping[str, str]],
    tick: Callable[[int], None] = lambda done: None,
) -> int:
    """Writes the page and its parts into a folder and returns the number of samples.

    others: runs whose answers stand beside each sample, by their names. pictures: the addresses of the folders `thumbnails` and
    `full`, from the page, and whether those in full size are `listed`. kinds: gets each sample and gives {digest: file name
    ending} of its listed pictures. tick: gets the number of samples so far.
    """
    beside = {name: other for name, other in others.items() if other.spec["tasks"].keys() & run.spec["tasks"].keys()}
    diagnosis = Diagnosis(run)
    rows = SampleRows(run, list(beside.values()), look=diagnosis.add)
    done, number, each = 0, 1, iter(rows)
    chunk = list(islice(each, FIRST))
    while True:
        following = list(islice(each, ROWS)) if chunk else []
        found: dict[str, str] = {}
        for row in chunk:
            found.update(kinds(row))
        name = f"rows/{number + 1}.js" if following else None
        write_atomic(folder / f"rows/{number}.js", part(map(in_script, chunk), name, kinds=found), durable=False)
        done += len(chunk)
        tick(done)
        if not following:
            break
        chunk, number = following, number + 1
    about = {
        **about_run(run, rows.categories, diagnosis, list(beside)),
        "own": run.model if beside else "",
        "next": "rows/1.js",
        "samples": done,
        "pictures": pictures,
    }
    RunFolder(folder).write_lines(PAGE, page(title_of(run), "run.js", [], lambda: [], lambda: about, in_parts=True))
    return done
