"""What `mm-eval show` writes of prompts: texts side by side on the terminal, and the page with pictures and frames."""

from __future__ import annotations

import base64
import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from mm_eval.results.page import asset
from mm_eval.results.thumbnails import thumbnail_of
from mm_eval.values.safe import html, in_line, terminal_safe
from mm_eval.values.types import Clip
from mm_eval.values.words import of_all

if TYPE_CHECKING:
    from PIL.Image import Image


HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
"""


@dataclass(frozen=True)
class ShownPrompt:
    """What `show` prints of a doc. head, rest: the lines before and after the prompt's text. pictures: all, frames among them."""

    head: Sequence[str]
    text: str
    rest: Sequence[str]
    pictures: Sequence[Image]
    clips: Sequence[Clip] = ()


def shown_page(title: str, prompts: Iterable[ShownPrompt]) -> Iterator[str]:
    """The page in pieces. It holds all that it shows and runs no script."""
    yield f"{HEAD}<title>{html(title)}</title>\n<style>\n{asset('report.css')}</style>\n</head>\n<body>\n<main>\n"
    yield f"<h1>{html(title)}</h1>\n"
    for prompt in prompts:
        yield "<section>\n"
        yield from (f"<p>{html(line)}</p>\n" for line in prompt.head)
        yield from _pictures(prompt)
        yield f"<h2>Prompt</h2>\n{_lines(prompt.text)}\n{_lines(*prompt.rest)}\n</section>\n"
    yield "</main>\n</body>\n</html>\n"


def _pictures(prompt: ShownPrompt) -> Iterator[str]:
    clips = {clip.first: clip for clip in prompt.clips}
    place = 0
    while place < len(prompt.pictures):
        clip = clips.get(place)
        captions = [f"{seconds:.3f} s" for seconds in clip.seconds] if clip else [f"picture {place}"]
        if clip:
            yield f"<h2>{html(clip_caption(clip))}</h2>\n"
        yield '<div class="strip">\n'
        for caption in captions:
            jpeg = base64.b64encode(thumbnail_of(prompt.pictures[place])).decode()
            image = f'<img src="data:image/jpeg;base64,{jpeg}" alt="picture {place}">'
            yield f"<figure>{image}<figcaption>{html(caption)}</figcaption></figure>\n"
            place += 1
        yield "</div>\n"


def clip_caption(clip: Clip) -> str:
    """A clip in one line: its name, the frames that are shown, its length.

    >>> clip_caption(Clip(0, (0.0, 1.96), (0, 49), total=50, duration=2.0, fps=25.0, path="a/b.mp4", rule="frames=2,ends"))
    'b.mp4: 2 of 50 frames (frames=2,ends), 2.0 s'
    """
    end = "the end" if clip.end is None else f"{clip.end:g} s"
    part = "" if clip.start is clip.end is None else f", from {clip.start or 0:g} s to {end}"
    shown = of_all(len(clip.seconds), clip.total, "frame")
    return f"{os.path.basename(clip.path)}: {shown} ({clip.rule}), {clip.duration:.1f} s{part}"


def _lines(*texts: str) -> str:
    return "<pre>" + "\n".join(html(line) for text in texts for line in text.split("\n")) + "</pre>"


GAP = "   "


def side_by_side(texts: Mapping[str, str], width: int = 120) -> str:
    """One column for each text, below its name. The first is compared with the second, every other one with the first.

    width: of all columns together, in characters; longer lines are wrapped.
    """
    names = list(texts)
    column = max(20, (width - len(GAP) * (len(names) - 1)) // len(names))
    first = texts[names[0]]
    columns = []
    for name in names:
        other = first if name != names[0] else texts[names[1]] if len(names) > 1 else first
        columns.append(_pieces(texts[name], differing(texts[name], other), column))
    rows = [_row([in_line(name)[:column] for name in names], column), _row(["-" * column] * len(names), column)]
    for pieces in zip_longest(*columns, fillvalue=("", "")):
        rows.append(_row([text for text, _ in pieces], column))
        if any(marks for _, marks in pieces):
            rows.append(_row([marks for _, marks in pieces], column))
    return "\n".join(rows)


def shortened(text: str) -> str:
    """The text with five or more equal tokens in a row replaced by one and their count: <image> x64."""
    return re.sub(r"(<[^<>\s]{1,24}>)\1{4,}", lambda found: f"{found[1]} x{len(found[0]) // len(found[1])} ", text)


def differing(text: str, other: str) -> list[bool]:
    """For each character of a text whether the other text lacks it at that place."""
    marks = [True] * len(text)
    for block in difflib.SequenceMatcher(None, text, other, autojunk=False).get_matching_blocks():
        marks[block.a : block.a + block.size] = [False] * block.size
    return marks


def _pieces(text: str, marks: list[bool], width: int) -> list[tuple[str, str]]:
    """The text in lines of a column's width, each with its marks; a differing line break is shown as ⏎."""
    pieces, line, below = [], "", ""
    for character, marked in zip(text, marks, strict=True):
        broken = character == "\n"
        shown = ("⏎" if marked else "") if broken else terminal_safe(character)
        if len(line) + len(shown) > width:
            pieces.append((line, below.rstrip()))
            line = below = ""
        line += shown
        below += ("^" if marked else " ") * len(shown)
        if broken:
            pieces.append((line, below.rstrip()))
            line = below = ""
    return [*pieces, (line, below.rstrip())]


def _row(cells: list[str], width: int) -> str:
    return GAP.join(cell.ljust(width) for cell in cells).rstrip()
