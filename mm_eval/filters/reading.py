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

_TAIL = re.compile(r"(?:\s*(?:</s>|<eos>|<end_of_turn>|\[/?INST\]|<\|(?!end_of_(?:box|thought))[^|<>\s]+\|>))+\s*$")
"""Special tokens that a server left at the end of an answer."""
_ROLE = re.compile(r"^\s*(?:assistant|model|bot)\s*:\s*", re.IGNORECASE)

_LATEX_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mathsf|operatorname|rm|bf)\s*\{([^{}]*)\}")
_TAGGED = re.compile(r"<answer>(.*?)</answer>|<\|begin_of_box\|>(.*?)<\|end_of_box\|>", re.IGNORECASE | re.DOTALL)
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{([^{}]*)\}")


LONGEST = 20_000
"""Characters of an answer that are read; of a longer one its first fifth and its end, where it says what it means."""


def readable(text: str) -> str:
    """An answer without long runs of white space and of bounded length: the rules take the square of it in time."""
    text = re.sub(r"\n\s*\n", "\n\n", re.sub(r"[^\S\n]+", " ", text))
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 5]}\n{text[-LONGEST * 4 // 5 :]}"


def unwrapped(text: str) -> str:
    """Full-width characters and LaTeX text commands as plain characters, no special tokens; markdown is kept."""
    text = readable(text)
    text = _ROLE.sub("", _TAIL.sub("", unicodedata.normalize("NFKC", text)))
    for _ in range(3):
        text = _LATEX_TEXT.sub(r"\1", text)
    return text.replace("\\(", "").replace("\\)", "").replace("\\[", "").replace("\\]", "").replace("$", " ")


def plain(text: str) -> str:
    """Text without markdown emphasis and headings, white space at the ends removed."""
    text = re.sub(r"\*+|`+|(?<!\w)__?|__?(?!\w)", "", text)
    return re.sub(r"^\s{0,3}#{1,6}\s+", "", text, flags=re.MULTILINE).strip()


def boxed(text: str) -> list[str]:
    """What stands in the last LaTeX box, and in answer tags."""
    found = [match[1] for match in _BOXED.finditer(text)][-1:]
    return found or [match[1] or match[2] or "" for match in _TAGGED.finditer(text)][-1:]


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
