"""Filters that find the answer in a text by a task's own regular expressions.

The filters come first, then what they share: `unread` and `rule_for` give the rule of an answer; `search`, of
`pattern_search`, finds a pattern in bounded time.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

from mm_eval.scoring.filters.base import (
    INVALID,
    UNPARSED,
    EachAnswer,
    found_by,
    is_unanswered,
    is_unread,
    register_filter,
)
from mm_eval.scoring.filters.pattern_search import search
from mm_eval.values.errors import InvalidValue
from mm_eval.values.types import Doc


@register_filter("regex")
class RegexFilter(EachAnswer):
    """Finds the answer by a regular expression.

    group_select: the index of the match, from 0, or from the end with -1.
    fallback: replaces an answer without a match, which counts as unparsed.
    """

    def __init__(
        self, regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: object = INVALID
    ) -> None:
        self.regex_pattern, self.group_select, self.fallback = regex_pattern, int(group_select), fallback
        self.regex = compile_pattern(regex_pattern)

    def one(self, answer: Any) -> object:
        """The match in one answer, or the fallback."""
        if not is_searched(answer):
            return unread(answer, self.fallback)
        match = select_match(self.regex, answer, self.group_select)
        return unread(answer, self.fallback) if match is None else found_by(match, rule_for(answer, "regex"))


@register_filter("first_character")
class FirstCharacterFilter(EachAnswer):
    """Takes the first character of an answer that is not white space: lmms-eval's rule for the letters of SEED-Bench.

    "B. dog" and "Blue" both give "B". A first character other than a letter or digit is kept and counts as unparsed.
    """

    def one(self, answer: Any) -> object:
        """The first character of one answer; None for an empty one."""
        if not is_searched(answer):
            return unread(answer, None)
        first = answer.strip()[:1]
        rule = rule_for(answer, "first_character") if first.isalnum() else UNPARSED
        return found_by(first or None, rule)


@register_filter("regex_pos")
class PartOfSpeechFilter(EachAnswer):
    """Finds the tags of ('word', 'TAG') pairs: a list of tags per answer, ["invalid"] if there are none."""

    _PAIR: ClassVar[re.Pattern[str]] = re.compile(r"\('([^']*)', '([^']*)'\)")

    def __init__(
        self, regex_pattern: str = r"\['(.*?)'\]", group_select: int = 0, fallback: list[str] | None = None
    ) -> None:
        compile_pattern(regex_pattern)
        self.fallback = ["invalid"] if fallback is None else fallback

    def one(self, answer: Any) -> Any:
        """The tags of one answer, which may be text or a list of pairs."""
        if is_unread(answer):
            return unread(answer, self.fallback)
        pairs = self._PAIR.findall(answer) if isinstance(answer, str) else answer
        if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
            return unread(answer, self.fallback)
        tags = [tag for _, tag in pairs]
        return found_by(tags, "regex_pos") if tags else unread(answer, self.fallback)


@register_filter("multi_choice_regex")
class MultiChoiceRegexFilter(RegexFilter):
    """Finds the letter of a choice, as "(B)": by the pattern, else by a choice's text, else by a letter after a colon.

    The doc has its choices as a list under `choices`. Texts are matched at word boundaries of the original answer: "cat" is not
    found in "category", and is found in "answer:cat" even if punctuation is ignored. ignore_case, ignore_punctuation and
    regexes_to_ignore apply to the choices' texts only.
    """

    def __init__(
        self,
        regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
        group_select: int = 0,
        fallback: object = INVALID,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        regexes_to_ignore: Sequence[str] | None = None,
    ) -> None:
        super().__init__(regex_pattern, group_select, fallback)
        self.ignore_case, self.ignore_punctuation = ignore_case, ignore_punctuation
        patterns = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else regexes_to_ignore or []
        self.ignored = [compile_pattern(pattern) for pattern in patterns]

    def apply(self, resps: Iterable[Sequence[object]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self._choice(answer, doc) for answer in answers] for answers, doc in zip(resps, docs, strict=True))

    def _choice(self, answer: Any, doc: Doc) -> object:
        if not is_searched(answer):
            return unread(answer, self.fallback)
        if match := select_match(self.regex, answer, self.group_select):
            return found_by(match, rule_for(answer, "multi_choice_regex:pattern"))
        choices = doc.get("choices") if isinstance(doc, Mapping) else None
        texts = ["".join(self._pieces(str(choice))).strip() for choice in choices or ()]
        held = _held(texts, self._pieces(answer))
        if -len(held) <= self.group_select < len(held):
            index = texts.index(held[self.group_select])
            return found_by(_label(index), rule_for(answer, "multi_choice_regex:text"))
        letters = string.ascii_uppercase[: len(texts)]
        if letters and (match := select_match(re.compile(rf":\s*([{letters}])(?!\w)"), answer, self.group_select)):
            return found_by(_label(letters.index(match)), rule_for(answer, "multi_choice_regex:letter"))
        return unread(answer, self.fallback)

    def _pieces(self, text: str) -> list[str]:
        """The text without the ignored parts, cut where two words would run together."""
        pieces = [text]
        if self.ignored or self.ignore_punctuation:
            kept, cuts, last = self._kept(text), [0], -1
            for place, i in enumerate(kept):
                if i > last + 1 and not all(map(_in_word, text[last + 1 : i])):
                    cuts.append(place)
                last = i
            left = "".join(text[i] for i in kept)
            pieces = [left[start:end] for start, end in zip(cuts, [*cuts[1:], len(left)], strict=True)]
        return [piece.lower() for piece in pieces] if self.ignore_case else pieces

    def _kept(self, text: str) -> list[int]:
        """The positions of the characters that are not ignored; each pattern sees the text that the ones before it left."""
        kept = list(range(len(text)))
        for pattern in self.ignored:
            left = "".join(text[i] for i in kept)
            gone = {place for match in search(pattern, left) for place in range(*match.span())}
            kept = [i for place, i in enumerate(kept) if place not in gone]
        if self.ignore_punctuation:
            kept = [i for i in kept if text[i].isalnum() or not unicodedata.category(text[i]).startswith("P")]
        return kept


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A compiled regular expression. Raises ConfigError with the position of a mistake."""
    if not isinstance(pattern, str):
        raise InvalidValue(f"A regular expression must be a string, not {pattern!r}.")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InvalidValue(f"{pattern!r} is not a valid regular expression: {error}.") from error


def unread(answer: Any, fallback: Any) -> object:
    """The fallback, marked "unparsed", or with the mark of an answer that is missing (`UNANSWERED`)."""
    return found_by(fallback, answer.rule if is_unanswered(answer) else UNPARSED)


def is_searched(answer: object) -> bool:
    """Whether an answer is text to search: the model's text, or the fallback of an earlier step.

    "[invalid]" is not searched, since a pattern for letters would find one in it, nor is an answer that is missing.
    """
    if type(answer) is str:  # unmarked, the model's own text: most answers
        return True
    if not isinstance(answer, str) or is_unanswered(answer):
        return False
    return not (is_unread(answer) and answer.lower() == INVALID)


def rule_for(answer: object, rule: str) -> str:
    """The rule of a match in an answer: a fallback stays unparsed, whatever is found in it."""
    return UNPARSED if type(answer) is not str and is_unread(answer) else rule


def select_match(pattern: re.Pattern[str], text: str, group_select: int) -> str | None:
    """The group_select-th match of a pattern, or its first group that is not empty; None if there is none."""
    found = found_all(pattern, text)
    if not -len(found) <= group_select < len(found):
        return None
    match = found[group_select]
    if isinstance(match, str):
        return match.strip()
    return next((group.strip() for group in match if group), None)


def removed(pattern: re.Pattern[str], text: str) -> str:
    """The text without the matches of a pattern: `pattern.sub("", text)`."""
    kept, end = [], 0
    for match in search(pattern, text):
        kept.append(text[end : match.start()])
        end = match.end()
    return "".join([*kept, text[end:]])


def found_all(pattern: re.Pattern[str], text: str) -> list[str | tuple[str, ...]]:
    """The result of `pattern.findall(text)`."""
    groups = pattern.groups
    return [
        match.group(groups) or "" if groups <= 1 else tuple(group or "" for group in match.groups())
        for match in search(pattern, text)
    ]


def _label(index: int) -> str:
    return f"({chr(ord('A') + index)})"


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _held(texts: Iterable[str], pieces: Sequence[str]) -> list[str]:
    """The texts that an answer contains as whole words, in order; the longer of two that begin at one place.

    pieces: the answer, cut where a word ends although the next character belongs to a word.
    """
    answer, cuts = "".join(pieces), set(accumulate(map(len, pieces), initial=0))

    def is_edge(place: int) -> bool:
        return place in cuts or not (_in_word(answer[place - 1]) and _in_word(answer[place]))

    places = []
    for text in {text for text in texts if text}:
        start = answer.find(text)
        while start >= 0:
            if is_edge(start) and is_edge(start + len(text)):
                places.append((start, -len(text), text))
            start = answer.find(text, start + 1)
    held, end = [], 0
    for start, length, text in sorted(places):
        if start >= end:
            held.append(text)
            end = start - length
    return held
