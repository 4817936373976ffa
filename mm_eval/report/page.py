"""One HTML file that opens from disk with no network: a template with the data as JSON in it, which scripts draw.

    RunFolder(folder).write_lines("report.html", page("Mine", "run.js", rows, pictures, about))

Written as a stream: a row and a picture at a time, so that a page of 20,000 docs costs the memory of one. Every text of a model,
a doc or a task reaches the page as text (textContent), never as HTML, and `<` in the JSON is escaped, so that no answer can
end the script element.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

from mm_eval.report.safe import html, in_script


def page(
    title: str,
    top: str,
    rows: Iterable[Mapping[str, Any]],
    pictures: Callable[[], Iterable[tuple[str, str]]],
    about: Callable[[], Mapping[str, Any]],
) -> Iterator[str]:
    """The page in pieces, each of whole lines.

    top: the script that draws what stands above the samples. rows: the samples. pictures: (digest, address) of each.
    about: all that stands above the samples. Both are asked for after the last row, so that they may be of what the rows were.
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


def _bracketed(brackets: str, items: Iterable[str]) -> Iterator[str]:
    """JSON items between brackets, one a line."""
    before = brackets[0]
    for item in items:
        yield before + item
        before = ","
    yield brackets if before == brackets[0] else brackets[1]


def _asset(name: str) -> str:
    return (resources.files("mm_eval.assets") / "report" / name).read_text(encoding="utf-8")
