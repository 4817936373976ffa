"""Matches of a task's own regular expressions, in time that grows with the text's length and not with its square."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_LEADS_WITH_ANY = re.compile(r"(?:\(\?[aiLmsux]+\))?(?:\((?:\?:|\?P<\w+>)?)?\.[*+]")
_ALTERNATIVE_OR_BACKREFERENCE = re.compile(r"\||\\[1-9]|\(\?P=|\(\?\(")


def matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """What `pattern.finditer(text)` gives.

    A pattern that begins with `.*` and does not match at some place does not match at any later place of that line (of the whole
    text with `(?s)`). `re` tries each of them all the same, which takes minutes for "(?s).*#### " and 200,000 digits.
    """
    if not _leads_with_any(pattern.pattern):
        yield from pattern.finditer(text)
        return
    place = 0
    while place <= len(text):
        found = pattern.match(text, place)
        if found is None:
            newline = -1 if pattern.flags & re.DOTALL else text.find("\n", place)
            if newline < 0:
                return
            place = newline + 1
        elif found.end() == place:  # it matches nothing, so that it matches at every place
            yield from pattern.finditer(text, place)
            return
        else:
            yield found
            place = found.end()


@lru_cache(maxsize=256)
def _leads_with_any(pattern: str) -> bool:
    return bool(_LEADS_WITH_ANY.match(pattern)) and not _ALTERNATIVE_OR_BACKREFERENCE.search(pattern)


def removed(pattern: re.Pattern[str], text: str) -> str:
    """The text without what a pattern matches: `pattern.sub("", text)`."""
    kept, end = [], 0
    for match in matches(pattern, text):
        kept.append(text[end : match.start()])
        end = match.end()
    return "".join([*kept, text[end:]])


def found_all(pattern: re.Pattern[str], text: str) -> list[str | tuple[str, ...]]:
    """What `pattern.findall(text)` gives."""
    if not _leads_with_any(pattern.pattern):
        return pattern.findall(text)
    groups = pattern.groups
    return [
        match.group(groups) or "" if groups <= 1 else tuple(group or "" for group in match.groups())
        for match in matches(pattern, text)
    ]
