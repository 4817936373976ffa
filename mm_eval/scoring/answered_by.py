"""Which model answered, by the names that the replies state, and whether that is the model that was asked for.

One rule for the model of a run and for those that grade its answers. Two names are one model if they are equal without what
changes nothing: case, the path or the vendor before the last "/", a file's ending, the server's fingerprint. A name with a date
or a version behind it is the model of the plain name: "gpt-4o-2024-08-06" answers for "gpt-4o" and for "gpt-4o-latest", and not
the other way round. So is the default revision, which `transformers serve` states as "NAME@main".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from mm_eval.values.words import counted

_ENDING = re.compile(r"\.(?:gguf|bin|safetensors)$")
_DATED = re.compile(r"[-@:](?:\d{4}-\d{2}-\d{2}|\d{3,8}|v\d+(?:\.\d+)*)$|@main$")
_LATEST = re.compile(r"[-:]latest$")
MOST = 3
"""Names that a sentence gives."""


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


def by_name(models: Mapping[str, int]) -> dict[str, int]:
    """How many replies state each name, without the fingerprints."""
    found: dict[str, int] = {}
    for stated, count in models.items():
        name = stated.split(" (")[0]
        found[name] = found.get(name, 0) + count
    return found


def oddity(asked: str, models: Mapping[str, int]) -> str:
    """What is odd about who answered, in words: several models, or another than was asked for. Empty where nothing is.

    asked: empty where no name was. models: {name as stated: replies}.
    """
    names = by_name(models)
    different = {plain_name(name) for name in names}
    if len(different) > 1:
        return f"{counted(len(different), 'model')} answered: {_list_names(names)}"
    others = {name: count for name, count in names.items() if asked and not answers_for(name, asked)}
    return f"{_list_names(others)} answered, and {asked} was asked" if others else ""


def sentence(models: Mapping[str, int]) -> str:
    """Who answered, with counts and the number of fingerprints: "gpt-4o-2024-08-06 (120 replies, 2 versions)"."""
    parts = []
    for name, count in by_name(models).items():
        versions = sum(stated.split(" (")[0] == name for stated in models)
        parts.append(f"{name} ({counted(count, 'reply', 'replies')}{f', {versions} versions' if versions > 1 else ''})")
    more = f" and {len(parts) - MOST} more" if len(parts) > MOST else ""
    return ", ".join(parts[:MOST]) + more


def _list_names(names: Mapping[str, int]) -> str:
    shown = [f"{name} ({count:,})" for name, count in list(names.items())[:MOST]]
    return ", ".join(shown) + (f" and {len(names) - MOST} more" if len(names) > MOST else "")
