"""What careful extractors share: plain text from markdown and LaTeX, and rules that are tried one level after the other.

A level gives the candidates that it sees. One candidate is the answer; two different ones are no answer at all (never a
guess), and later, more lenient levels are not asked; none passes on to the next level.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mm_eval.filters.base import found_by
from mm_eval.filters.extraction import unread

Level = tuple[str, Callable[[], Iterable[str]]]

BEFORE = r"(?<![A-Za-z0-9À-ɏ_])"
"""Not inside a word written in Latin letters; Chinese and Japanese text needs no space around an answer."""
AFTER = r"(?![A-Za-z0-9À-ɏ_]|['’][A-Za-z]|-\w)"

_TOKEN = re.compile(r"</s>|<eos>|<end_of_turn>|\[/?INST\]|<\|(?!end_of_(?:box|thought))[^|<>\s]+\|>")
"""A special token that a server left at the end of an answer."""
_ROLE = re.compile(r"^\s*(?:assistant|model|bot)\s*:\s*", re.IGNORECASE)

_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname|rm|bf)\s*\{([^{}]*)\}")
_TAG = re.compile(r"<(/?)(answer)>|<\|(begin|end)_of_box\|>", re.IGNORECASE)
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{([^{}]*)\}")

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""Characters that show nothing: zero-width spaces and joiners, byte order marks, soft hyphens, direction marks, variation
selectors, control characters (Unicode's Default_Ignorable_Code_Point, Cc)."""
_SQUARED = {first + n: chr(ord("A") + n) for first in (0x1F150, 0x1F170) for n in range(26)}
"""Letters in filled circles and squares, which NFKC leaves as they are."""
_MARKS_KEPT = 30
"""Combining marks in a row that are kept (Unicode's stream-safe limit): sorting longer rows takes the square of their length."""

LONGEST = 20_000
"""Characters of an answer that are read; of a longer one its first fifth and its end, where it says what it means."""


def without_invisible(text: str) -> str:
    """Text without characters that show nothing; a zero-width space between two Latin words becomes a space."""

    def replacement(run: re.Match[str]) -> str:
        before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        parts_words = "\u200b" in run[0] and (before + after).isascii() and before.isalnum() and after.isalnum()
        return " " if parts_words else ""

    return _INVISIBLE.sub(replacement, text)


def normal(text: str) -> str:
    """NFKC (full-width and circled letters become plain ones) without invisible characters."""
    text = without_invisible(text)
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _few_marks(text).translate(_SQUARED))


def _few_marks(text: str) -> str:
    """Text without the combining marks after the first 30 in a row."""
    kept, row = [], 0
    for character in text:
        row = row + 1 if unicodedata.combining(character) else 0
        if row <= _MARKS_KEPT:
            kept.append(character)
    return "".join(kept)


def _collapsed(text: str) -> str:
    """Text with one space for a run of white space, and at most one blank line in a row."""
    return re.sub(r"\n\s*\n", "\n\n", re.sub(r"[^\S\n]+", " ", text))


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST + 1 else f"{text[: LONGEST // 5]}\n{text[-LONGEST * 4 // 5 :]}"


def readable(text: str) -> str:
    """An answer in NFKC, of bounded length, without invisible characters and long runs of white space.

    The rules read what this gives. Each takes time in proportion to its length: a pattern with an unbounded repetition must not
    be tried anew from many places (write `[^.]{0,300}`), and no rule copies the rest of the text for each of its matches.
    """
    short = _bounded(_collapsed(without_invisible(text)))
    return _bounded(_collapsed(normal(short)))


def unwrapped(text: str) -> str:
    """A readable answer with LaTeX text commands as plain characters and no special tokens; markdown is kept."""
    text = _ROLE.sub("", _without_tail(readable(text)))
    for _ in range(3):
        text = _LATEX_TEXT.sub(r"\1", text)
    text = text.replace("\\(", "").replace("\\)", "").replace("\\[", "").replace("\\]", "").replace("$", " ")
    return _collapsed(text)


def _without_tail(text: str) -> str:
    """Text without the special tokens at its end, and the white space before them."""
    end = len(text.rstrip())
    whole = end
    while end and text[end - 1] in ">]":
        start = text.rfind("<" if text[end - 1] == ">" else "[", 0, end)
        if start < 0 or not _TOKEN.fullmatch(text, start, end):
            break
        end = start
        while end and text[end - 1].isspace():
            end -= 1
    return text if end == whole else text[:end]


def plain(text: str) -> str:
    """Text without markdown emphasis and headings, white space at the ends removed."""
    text = re.sub(r"\*+|`+|(?<!\w)__?|__?(?!\w)", "", text)
    return _collapsed(re.sub(r"^\s{0,3}#{1,6}\s+", "", text, flags=re.MULTILINE)).strip()


def boxed(text: str) -> list[str]:
    """What stands in the last LaTeX box, and in answer tags."""
    found = [match[1] for match in _BOXED.finditer(text)][-1:]
    return found or _tagged(text)[-1:]


def _tagged(text: str) -> list[str]:
    """What stands between each answer tag and the next closing one of its kind."""
    tags = [
        (tag.start(), tag.end(), tag[2] is None, tag[1] == "/" or (tag[3] or "").lower() == "end")
        for tag in _TAG.finditer(text)
    ]
    last_closing = {kind: start for start, _, kind, closes in tags if closes}
    found: list[str] = []
    opened: tuple[bool, int] | None = None
    for start, end, kind, closes in tags:
        if opened is None and not closes and start < last_closing.get(kind, -1):
            opened = kind, end
        elif opened is not None and closes and opened[0] == kind:
            found.append(text[opened[1] : start])
            opened = None
    return found


def lines_of(text: str) -> list[str]:
    """The lines that are not blank, without white space at the ends."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def decide(answer: Any, levels: Sequence[Level], fallback: Any, prefix: str) -> Any:
    """The answer of the first level that sees any candidate, marked "prefix:level"; the fallback where it sees two."""
    for name, candidates in levels:
        distinct = set(candidates())
        if len(distinct) == 1:
            return found_by(distinct.pop(), f"{prefix}:{name}")
        if distinct:
            return unread(answer, fallback)
    return unread(answer, fallback)
