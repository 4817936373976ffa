"""Filters that find the answer in a text by regular expressions."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from mm_eval.errors import ConfigError
from mm_eval.filters.base import INVALID, TRUNCATED, UNPARSED, Filter, found_by, is_unread, register_filter
from mm_eval.types import Doc


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A compiled regular expression; ConfigError with the position where it is wrong."""
    if not isinstance(pattern, str):
        raise ConfigError(f"A regular expression must be text, not {pattern!r}.")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(f"{pattern!r} is no regular expression: {error}.") from error


def unread(answer: Any, fallback: Any) -> Any:
    """The fallback, marked "unparsed", or "truncated" where an earlier step said so."""
    return found_by(fallback, TRUNCATED if getattr(answer, "rule", "") == TRUNCATED else UNPARSED)


def is_searched(answer: Any) -> bool:
    """Whether an answer is text to search: what the model said, or the fallback that an earlier step was given.

    Not lm-eval's "[invalid]", in which a pattern for letters would find one, nor an answer that ended in its thinking.
    """
    if not isinstance(answer, str) or getattr(answer, "rule", None) == TRUNCATED:
        return False
    return not (is_unread(answer) and answer.lower() == INVALID)


def rule_for(answer: Any, rule: str) -> str:
    """The rule of what was found in an answer: a fallback stays unparsed, whatever is found in it."""
    return UNPARSED if is_unread(answer) else rule


def select_match(pattern: re.Pattern[str], text: str, group_select: int) -> str | None:
    """The group_select-th match of a pattern, of several groups the first that is not empty; None where there is none."""
    matches = pattern.findall(text)
    if not -len(matches) <= group_select < len(matches):
        return None
    match = matches[group_select]
    if isinstance(match, tuple):
        match = next((group for group in match if group), None)
    return None if match is None else str(match).strip()


@register_filter("regex")
class RegexFilter(Filter):
    """Finds the answer by a regular expression.

    group_select: which of several matches, counted from 0, or from the end with -1.
    fallback: what an answer without a match becomes; it counts as unparsed.
    """

    def __init__(
        self, regex_pattern: str = r"#### (\-?[0-9\.\,]+)", group_select: int = 0, fallback: Any = INVALID
    ) -> None:
        self.regex_pattern, self.group_select, self.fallback = regex_pattern, int(group_select), fallback
        self.regex = compile_pattern(regex_pattern)

    def one(self, answer: Any) -> Any:
        """The match in one answer, or the fallback."""
        if not is_searched(answer):
            return unread(answer, self.fallback)
        match = select_match(self.regex, answer, self.group_select)
        return unread(answer, self.fallback) if match is None else found_by(match, rule_for(answer, "regex"))

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self.one(answer) for answer in answers] for answers in resps)


@register_filter("regex_pos")
class PartOfSpeechFilter(Filter):
    """Finds the tags of ('word', 'TAG') pairs; a list of tags an answer, ["invalid"] where there are none."""

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

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self.one(answer) for answer in answers] for answers in resps)


@register_filter("multi_choice_regex")
class MultiChoiceRegexFilter(RegexFilter):
    """Finds the letter of a choice, as "(B)": by the pattern, else by a choice's text, else by a letter after a colon.

    The doc holds its choices as a list under `choices`. Text is matched on word boundaries, so that "cat" is not found in
    "category". ignore_case, ignore_punctuation and regexes_to_ignore apply to that second step.
    """

    def __init__(
        self,
        regex_pattern: str = r"#### (\-?[0-9\.\,]+)",
        group_select: int = 0,
        fallback: Any = INVALID,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        regexes_to_ignore: Sequence[str] | None = None,
    ) -> None:
        super().__init__(regex_pattern, group_select, fallback)
        self.ignore_case, self.ignore_punctuation = ignore_case, ignore_punctuation
        patterns = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else regexes_to_ignore or []
        self.ignored = [compile_pattern(pattern) for pattern in patterns]

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        return ([self._choice(answer, doc) for answer in answers] for answers, doc in zip(resps, docs, strict=True))

    def _choice(self, answer: Any, doc: Doc) -> Any:
        if not is_searched(answer):
            return unread(answer, self.fallback)
        if match := select_match(self.regex, answer, self.group_select):
            return found_by(match, rule_for(answer, "multi_choice_regex:pattern"))
        choices = doc.get("choices") if isinstance(doc, Mapping) else None
        texts = [self._plain(str(choice)).strip() for choice in choices or ()]
        if any(texts):
            alternatives = "|".join(_whole_words(text) for text in sorted(filter(None, texts), key=len, reverse=True))
            if match := select_match(re.compile(f"({alternatives})"), self._plain(answer), self.group_select):
                return found_by(_label(texts.index(match)), rule_for(answer, "multi_choice_regex:text"))
        letters = string.ascii_uppercase[: len(texts)]
        if letters and (match := select_match(re.compile(rf":\s*([{letters}])(?!\w)"), answer, self.group_select)):
            return found_by(_label(letters.index(match)), rule_for(answer, "multi_choice_regex:letter"))
        return unread(answer, self.fallback)

    def _plain(self, text: str) -> str:
        for pattern in self.ignored:
            text = pattern.sub("", text)
        if self.ignore_case:
            text = text.lower()
        if self.ignore_punctuation:
            text = "".join(c for c in text if not unicodedata.category(c).startswith("P"))
        return text


def _label(index: int) -> str:
    return f"({chr(ord('A') + index)})"


def _whole_words(text: str) -> str:
    """A pattern for a text that does not begin or end inside a word."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w$", text) else ""
    return f"{before}{re.escape(text)}{after}"
