"""Replies of a judge, as JSON or as a grade in words: read strictly, so that a reply that says two things says nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

LONGEST = 20_000
"""A reply with more characters is not read."""

_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?')


_PLAIN = """
a an and answer answer's answers assessment evaluation final grade hence i is it it's judge judgement judgment matches model
model's my of output overall prediction predicted qa question rating response result so student's that the therefore this
thus to verdict was we
"""
_BEFORE = frozenset(_PLAIN.split())
"""Words that may stand before a grade in its sentence: they change nothing of what it says."""
_TURNED = re.compile(
    r"\b(?:(?<!does )(?<!do )not|not(?! conflict)|cannot|neither|nor|never|no|if|unless|but|however|except|although|though"
    r"|would|could|might|may|perhaps|maybe|possibly|probably|likely|only|half|part|partly|partial|partially|mostly|largely|almost|nearly|somewhat"
    r"|extent|degree|hardly|barely|scarcely|far|close|less|unsure|or|otherwise)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
"""Words that may turn a grade round or limit it. The phrase "does not conflict" does neither."""


_SENTENCE_END = re.compile(r"(?<=[.!])[\"'”’*]*\s+")
_RIGHT_REPLY = re.compile(r"\bthe correct (?=(?:response|grade|verdict|judge?ment) (?:is|would)\b)", re.IGNORECASE)
"""An attribute of the judge's own reply, which grades nothing."""


def lone_grade(reply: str, grades: Collection[str]) -> str | None:
    """The one grade that a reply states, in lower case; None where it states none or two, or may limit or deny the one it has.

    Where the first and the last sentence state the same grade, what stands between them is its reason, whatever it denies.

    >>> [lone_grade(text, ("correct", "incorrect")) for text in ("Correct.", "The answer is incorrect, as it says 4.")]
    ['correct', 'incorrect']
    >>> [lone_grade(text, ("correct", "incorrect")) for text in ("far from correct", "correct, if cats are meant", "80% correct")]
    [None, None, None]
    >>> lone_grade("It is incorrect. The correct answer is A, not B. So it is incorrect.", ("correct", "incorrect"))
    'incorrect'
    """
    if len(reply) > LONGEST:
        return None
    sentences = _SENTENCE_END.split(reply.strip())
    grade = _stated(sentences[0], grades)
    if len(sentences) > 2 and grade is not None and grade == _stated(sentences[-1], grades):
        return grade if {_stated(sentence, grades) for sentence in sentences} <= {grade, None} else None
    return _stated(reply, grades)


def _stated(text: str, grades: Collection[str]) -> str | None:
    """The grade of a text in which no word denies or limits it."""
    text = _RIGHT_REPLY.sub("the ", text)
    if _TURNED.search(text):
        return None
    words = "|".join(map(re.escape, sorted(grades, key=len, reverse=True)))
    found = list(re.finditer(rf"(?<![\w-])(?:{words})(?![\w-])", text, re.IGNORECASE))
    if len({match[0].lower() for match in found}) != 1:
        return None
    first = found[0]
    sentence = re.split(r"[.!;:,\n]\s", text[: first.start()])[-1].lower().replace("’", "'")
    plain = _BEFORE.issuperset(
        re.findall(r"[\w%'/]+", sentence.replace("'", " '").replace(" 's", "'s").replace(" '", " "))
    )
    after = re.match(r"[\s\"'”’*)\]`]*(?:$|[.,;:!\n(]|[-–—]\s|(?:because|since|as|and)\b)", text[first.end() :])
    return first[0].lower() if plain and after else None


def json_object(reply: str) -> Mapping[str, Any] | None:
    """The one JSON object in a reply; None if there is none, or more than one, or a key twice with two values.

    Text or a code fence around the object is skipped. A lone backslash, as judges write it in LaTeX, stands for itself.
    """
    start, end = reply.find("{"), reply.rfind("}")
    if not 0 <= start < end or len(reply) > LONGEST:
        return None
    try:
        found = json.loads(
            _ESCAPE.sub(lambda match: match[0] if len(match[0]) > 1 else r"\\", reply[start : end + 1]),
            strict=False,
            object_pairs_hook=_once,
            parse_constant=_refused,
        )
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def binary_score(found: Mapping[str, Any] | None, key: str) -> float | None:
    """The value under a key if it is the number 0 or 1; None for anything else."""
    value = found.get(key) if found else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value in (0, 1) else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if made.setdefault(key, value) != value:
            raise ValueError(f"{key!r} has two values")
    return made


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
