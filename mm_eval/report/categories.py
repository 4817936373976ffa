"""Which categories a table shows, and what it says about the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

MOST_ROWS = 20
"""Categories that a table shows without being asked."""

Chosen = Mapping[str, Sequence[str]]
"""{task: levels that the table shows}"""


def levels_shown(results: Mapping[str, Any], order: Sequence[tuple[str, int]], every: bool) -> dict[str, list[str]]:
    """The levels of each task that a table shows: all, or the first short one of each task if that makes a short table.

    every: all categories were asked for.
    """
    by_task = results.get("categories", {})
    tasks = [name for name in dict.fromkeys(name for name, _ in order) if name in by_task]
    if every:
        return {name: list(by_task[name]) for name in tasks}
    short = {name: [level for level, found in by_task[name].items() if len(found) <= MOST_ROWS][:1] for name in tasks}
    rows = sum(len(by_task[name][level]) for name, levels in short.items() for level in levels)
    return short if rows <= MOST_ROWS else {}


def hidden_categories(results: Mapping[str, Any], chosen: Chosen) -> Iterator[str]:
    """A sentence about the categories that the table leaves out; none where it shows all."""
    hidden = {
        name: {level: found for level, found in levels.items() if level not in chosen.get(name, ())}
        for name, levels in results.get("categories", {}).items()
    }
    count = sum(len(found) for levels in hidden.values() for found in levels.values())
    said = [f"{name} by {', '.join(levels)}" for name, levels in hidden.items() if levels]
    if said:
        more = f" and {len(said) - 3} more tasks" if len(said) > 3 else ""
        where = "--categories shows them; they are in results.json and on the page"
        what = "1 category is" if count == 1 else f"{count} categories are"
        yield f"{what} not in this table ({'; '.join(said[:3])}{more}): {where}"
