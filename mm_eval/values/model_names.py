"""Whether the name that a reply states is the model that was asked for.

Two names are one model if they are equal without what changes nothing: case, the path or the vendor before the last "/", a
file's ending, the server's fingerprint. A name with a date or a version behind it is the model of the plain name:
"gpt-4o-2024-08-06" answers for "gpt-4o" and for "gpt-4o-latest", and not the other way round. So is the default revision, which
`transformers serve` states as "NAME@main".
"""

from __future__ import annotations

import re

_ENDING = re.compile(r"\.(?:gguf|bin|safetensors)$")
_DATED = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{3,8}|v\d+(?:\.\d+)*)$|@main$")
_LATEST = re.compile(r"[-:]latest$")


def plain_name(stated: str) -> str:
    """A model's name without its fingerprint, its path, and its file's ending, in lower case."""
    name = stated.split(" (")[0].strip().rstrip("/").lower()
    return _ENDING.sub("", name.rpartition("/")[2])


def answers_for(stated: str, asked: str) -> bool:
    """Whether the model of a stated name is the one that was asked for.

    >>> answers_for("gpt-4o-2024-08-06 (fp_1)", "openai/gpt-4o"), answers_for("gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    found, wanted = plain_name(stated), plain_name(asked)
    return wanted in (found, _DATED.sub("", found)) or _LATEST.sub("", wanted) in (found, _DATED.sub("", found))
