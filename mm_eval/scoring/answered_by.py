"""Which model answered, by the names that the replies state, and whether that is the model that was asked for.

One rule for the model of a run and for those that judge its answers (`mm_eval/values/model_names.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mm_eval.values.model_names import answers_for, plain_name
from mm_eval.values.types import Fields
from mm_eval.values.words import counted, listed

MOST = 3
"""Names that a sentence gives."""


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


def versions(models: Mapping[str, int]) -> str:
    """What a reader should know where a model answered under several fingerprints; empty where none did."""
    for name in by_name(models):
        prints = {
            stated.partition(" (")[2].rstrip(")"): n for stated, n in models.items() if stated.split(" (")[0] == name
        }
        if len(named := [f"{each} ({count:,})" for each, count in prints.items() if each]) > 1:
            return f"{name} answered under {len(named)} fingerprints, so the server may have changed: {listed(named, MOST)}"
    return ""


def oddities_of_judges(judges: Mapping[str, Sequence[Fields]]) -> Iterator[str]:
    """The same of the models that judged. judges: {task: an entry for each judge}, as results.json has them."""
    found: dict[str, list[str]] = {}
    for task, entries in judges.items():
        for entry in entries:
            by_name_of_user = entry.get("adapter") == "replay"  # recorded verdicts go by the name that they are given
            if said := oddity("" if by_name_of_user else str(entry.get("model") or ""), entry.get("models") or {}):
                found.setdefault(f"as the judge {entry['name']}, {said}.", []).append(task)
    for said, tasks in found.items():
        yield f"{', '.join(tasks)}: {said}"


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
