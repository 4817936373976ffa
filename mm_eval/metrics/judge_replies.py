"""Replies of a judge that were asked for as JSON: read strictly, so that a reply that says two things says nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

LONGEST = 20_000
"""A reply with more characters is not read."""

_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?')


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
