"""The `option_list` filter: all option letters that an answer chooses, for questions where several options may be right.

Source of the form: LogicVista (Xiao et al. 2024, arXiv:2407.04973), eval/extract_accuracy.py, which lets GPT-4 list the letters
of an answer. These rules take its place; what they can't read counts as unparsed, and no letter is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from mm_eval.scoring.filters.base import UNPARSED, Filter, found_by, is_unread, register_filter, rule_of
from mm_eval.scoring.filters.extraction import unread
from mm_eval.scoring.filters.letters import McqLetterFilter
from mm_eval.scoring.filters.reading import boxed, lines_of, plain, unwrapped
from mm_eval.values.types import Doc

_ITEM = r"[\"'(\[{]*(?:[A-Za-z]|\d{1,2})[\"')\]}]*"
_BETWEEN = r"\s*(?:,\s*(?:and\s+|or\s+)?|;|/|&|\s(?:and|or|und|et|y|plus|as\s+well\s+as)\s|、|和|\n)\s*"
_LIST = re.compile(rf"\W*({_ITEM}(?:{_BETWEEN}{_ITEM})*)[^\w%°]*")
_RUN = re.compile(r"\W*([A-H]{2,5})\W*")
_SEVERAL = rf"{_ITEM}(?:{_BETWEEN}{_ITEM})+"
_CHOSEN = re.compile(
    rf"\b(?i:answers?|options?|choices?|choose|chose|select|pick)\b"
    rf"(?i:\s+(?:that|which)\s+(?:apply|match|fit|are\s+(?:correct|right|true)))?(?i:\s+(?:are|is|should\s+be|would\s+be))?\s*:?\s*"
    rf"({_SEVERAL})(?![A-Za-z0-9])|(?:选|选择|答案(?:是|为|：|:))\s*({_SEVERAL})(?![A-Za-z0-9])"
)
_IN_JSON = re.compile(rf"[\"'](?i:answers?|options?|choices?)[\"']\s*:\s*\[\s*({_ITEM}(?:\s*,\s*{_ITEM}){{0,25}})\s*\]")
_BOTH = re.compile(
    rf"\b(?i:both|options?|choices?|all\s+of|only)\s+({_SEVERAL})(?![A-Za-z0-9])"
    rf"|\b(?i:statements?)\s+({_SEVERAL})(?=\s+(?i:are|is)\s+(?i:(?:both|all)\s+)?(?i:true|correct|right)\b)"
)
_OPTION = re.compile(r"\(([A-H])\)([^()]*(?:\((?![A-H]\))[^()]*\)?[^()]*)*)")
_LETTER = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]|\d{1,2})(?![A-Za-z0-9])")
_BULLET = re.compile(r"^\s*(?:[-•+]|\d{1,2}[.)])\s+(?=\W{0,3}[A-Za-z](?![A-Za-z0-9]))", re.MULTILINE)
_BOXES = re.compile(r"(?:\\boxed\s*\{[^{}]{0,40}\}[\s,;&$]*(?:and\s+)?){2,26}")
_BOXED = re.compile(r"\\boxed\s*\{([^{}]{0,40})\}")
_JUDGED = re.compile(
    r"(?:\b(?:and|but)\s+)?(?:\b(?:option|statement|choice)\s+)?\(?([A-Ha-h])[.)]?\s*(?:[:=-]\s*|(?<=\s)is\s+|(?<=[.)\s]))(?:(true|false|yes|no|correct|incorrect|right|wrong)\b|([✓✔✅☑✗✘❌☒]\ufe0f?))[^\w(✓✔✅☑✗✘❌☒]*",
    re.IGNORECASE,
)
_YES = ("true", "yes", "correct", "right", *"✓✔✅☑")
_ONLY = re.compile(r"\A\W*(?:only)\s+|\s+only\W*\Z", re.IGNORECASE)
_LABELLED = re.compile(r"(?:^|[,;\n]\s*|\band\s+)\(?([A-H])[.):]\s+(?=\S)")
_TWICE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z])[\"')\]]?\s+(?:and|or|&)\s+[\"'(\[]?\1(?![A-Za-z0-9])", re.IGNORECASE)
_HEDGE = re.compile(r"[^\s,]\s+or\s", re.IGNORECASE)
_LONGEST = 2000
"""Longer answers are searched for a list of letters at their end only."""


@register_filter("option_list")
class OptionListFilter(Filter):
    """Finds the letters (or numbers) of all options that an answer chooses, as "A, C": an answer that is one or a list of them,
    else options with their texts ("A. cat, C. bird") or verdicts ("A: true, B: false"), a list after "answers are" or "options",
    else the one letter that `mcq_letter` finds.

    letters: the possible letters of an answer in prose.
    question: the doc's field with the question. If that lists its options as "(A) ... (B) ...", an answer in the words of one
        counts too, and a number is such a text and no label.
    """

    def __init__(self, letters: str = "ABCDEFGH", question: str | None = None) -> None:
        self.single, self.question = McqLetterFilter(letters=letters), question

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        for answers, doc in zip(resps, docs, strict=True):
            options = shown_options(str(doc.get(self.question) or "")) if self.question else []
            yield [self.one(answer, options) for answer in answers]

    def one(self, answer: Any, options: Sequence[str] = ()) -> Any:
        """The letters of one answer in the order of the alphabet, as often as it names them; None if no rule reads it.

        options: the texts of the options in the order of their letters, where they are known.
        """
        if not isinstance(answer, str) or is_unread(answer):
            return unread(answer, None)
        text = answer.partition("ASSISTANT:")[2] or answer
        whole = unwrapped(text).strip()
        if (true := _judged(plain(whole))) is not None:
            return found_by(true, "option_list:judged") if true else unread(answer, None)
        for name, candidate in (
            ("boxed", _boxed(whole)),
            ("list", [_in_a_row(plain(whole))]),
            ("list", lines_of(plain(whole))[-1:]),
        ):
            for part in candidate:
                found = _LIST.fullmatch(part) if len(part) <= _LONGEST else None
                if found and not (options and re.search(r"\d", part)) and not _is_hedge(found[1]):
                    return found_by(joined(found[1]), f"option_list:{name}")
                if (found := _RUN.fullmatch(part)) and list(found[1]) == sorted(set(found[1])):
                    return found_by(", ".join(found[1]), f"option_list:{name}")
        if in_json := _last(_IN_JSON, whole[-_LONGEST:]):
            return found_by(joined(in_json[1]), "option_list:json")
        if letters := _labelled(plain(whole)):
            return found_by(letters, "option_list:labelled")
        end = plain(whole)[-_LONGEST:]
        if found := _last(_CHOSEN, end) or _last(_BOTH, end):
            chosen = next(filter(None, found.groups()))
            return unread(answer, None) if _is_hedge(chosen) else found_by(joined(chosen), "option_list:chosen")
        letter = self.single.one(text, options)
        return letter if rule_of(letter) != UNPARSED else unread(answer, None)


def shown_options(question: str) -> list[str]:
    """The texts of the options that a question lists as "(A) ... (B) ...", if their letters are A, B, C and so on."""
    _, first, rest = question[-_LONGEST:].rpartition("(A)")
    found = _OPTION.findall(first + rest)
    in_order = "".join(letter for letter, _ in found) == "ABCDEFGH"[: len(found)]
    return [text.strip(" \n\t,;") for _, text in found] if in_order and len(found) > 1 else []


def _is_hedge(letters: str) -> bool:
    """Whether a text leaves open which letter it chooses: "A or C". "A, B, or C" names all of them, and "A or A" is "A"."""
    return _HEDGE.search(_TWICE.sub(r"\1", letters)) is not None


def joined(letters: str) -> str:
    """The letters and numbers in a text as "A, C": capitals, sorted, as often as they occur; "A and A" is "A"."""
    once = _TWICE.sub(r"\1", letters)
    return ", ".join(sorted(letter.upper() for letter in _LETTER.findall(once)))


def _boxed(whole: str) -> list[str]:
    """The content of the last box, or of all boxes that stand side by side at the end."""
    rows = [match for match in _BOXES.finditer(whole) if not whole[match.end() :].strip(" .$\n")]
    return [", ".join(_BOXED.findall(rows[-1][0]))] if rows else boxed(whole)


def _in_a_row(text: str) -> str:
    """A text without the bullets and numbers before its items, and with commas between brackets side by side."""
    return _ONLY.sub("", _BULLET.sub("", text)).replace(")(", "), (")


def _judged(text: str) -> str | None:
    """The letters that are called true in "A: true, B: false"; None for another text."""
    if len(text) > _LONGEST or not text or _JUDGED.sub("", text).strip(" ,;\n-"):
        return None
    verdicts = _JUDGED.findall(text)
    return (
        joined(", ".join(letter for letter, word, sign in verdicts if (word.lower() or sign[0]) in _YES))
        if len(verdicts) > 1
        else None
    )


def _labelled(text: str) -> str:
    """The letters of "A. cat, C. bird"; "" for another text, and for one that may repeat all options in their order."""
    letters = _LABELLED.findall(text) if len(text) <= _LONGEST and _LABELLED.match(text) else []
    repeats = "".join(letters) == "ABCDEFGH"[: len(letters)] and len(letters) > 2
    return "" if len(letters) < 2 or repeats or sorted(set(letters)) != letters else ", ".join(letters)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last match."""
    found = None
    for match in pattern.finditer(text):
        found = match
    return found
