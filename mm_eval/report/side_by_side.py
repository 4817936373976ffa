"""Texts side by side on the terminal, with differing characters marked by ^ below them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from itertools import zip_longest

from mm_eval.report.safe import in_line, terminal_safe

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
