"""One HTML file that opens from disk with no network: a template with the data as JSON in it, which scripts draw.

    RunFolder(folder).write_lines("report.html", page("Mine", "run.js", rows, pictures, about))

Written as a stream: a row and a picture at a time, so that a page of 20,000 docs costs the memory of one. Every text of a model,
a doc or a task reaches the page as text (textContent), never as HTML, and `<` in the JSON is escaped, so that no answer can
end the script element.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import resources
from typing import Any

_OPTIONS: dict[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "default": str, "allow_nan": False}
_encode = json.JSONEncoder(**_OPTIONS).encode


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
        "TITLE": lambda: [escaped(title)],
        "STYLE": lambda: [_asset("report.css")],
        "ROWS": lambda: _bracketed("[]", (in_script(row) for row in rows)),
        "MEDIA": lambda: _bracketed("{}", (f"{in_script(digest)}:{in_script(at)}" for digest, at in pictures())),
        "DATA": lambda: [in_script(about())],
        "SCRIPT": lambda: map(_asset, ("shared.js", top, "samples.js")),
    }
    for place, part in enumerate(re.split(r"<!--([A-Z]+)-->", _asset("report.html"))):
        yield from values[part]() if place % 2 else [part]


def in_script(value: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end the element or open a comment.

    What JSON has no word for (NaN, infinity: a choice that a model gives no chance at all) becomes text.
    """
    try:
        text = _encode(value)
    except ValueError:
        text = _encode(_finite(value))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def escaped(text: str) -> str:
    """Text as it stands in HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _bracketed(brackets: str, items: Iterable[str]) -> Iterator[str]:
    """JSON items between brackets, one a line."""
    before = brackets[0]
    for item in items:
        yield before + item
        before = ","
    yield brackets if before == brackets[0] else brackets[1]


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _asset(name: str) -> str:
    return (resources.files("mm_eval.assets") / "report" / name).read_text(encoding="utf-8")
