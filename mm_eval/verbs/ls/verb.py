"""Lists tasks, models, metrics and other names, each with one line. Nothing is imported or executed to list tasks.

Tasks are below their groups, each with its main metric, number of documents, modality, data set, whether there is sample data,
and the published score that a test reproduces. Judged tasks are marked. With a word only matching tasks are listed,
the members of groups too, those first that have it as a whole word."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from mm_eval.cli.options import add_option
from mm_eval.cli.say import say, say_lines, wrapped
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.registry import Registry
from mm_eval.values.safe import in_line

if TYPE_CHECKING:
    from mm_eval.verbs.ls.listing import Line

HEADINGS = ("task", "metric", "docs", "modality", "data set", "sample", "published row that a test reproduces")
REGISTRIES = ("models", "metrics", "filters", "scorers", "formats")
LEAST = {6: 24, 4: 16, 1: 14}
"""The columns that a narrow terminal cuts, in this order, and how many characters of each it keeps: rows, data sets, metrics."""
WIDEST_NAME = 20
"""How far the further lines of a description are set in."""
CATALOG = ("tasks", "groups", "tags")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default="tasks", metavar="WHAT", help=", ".join((*CATALOG, *REGISTRIES)))
    parser.add_argument("search", nargs="?", default="", metavar="WORD", help="only lines that contain the word")
    parser.add_argument("--verbose", action="store_true", help="whole lines, however wide the terminal is")
    add_option(parser, "include_path", "DIR", "a folder with tasks of your own")


def _registry(what: str) -> Registry[Any]:
    """The registry of a kind of names. Only its own module is imported."""
    if what == "models":
        from mm_eval.engine.model import MODELS

        return MODELS
    if what == "metrics":
        from mm_eval.scoring.metrics.metric import METRICS

        return METRICS
    if what == "filters":
        from mm_eval.scoring.filters import FILTERS

        return FILTERS
    if what == "scorers":
        from mm_eval.scoring.base import SCORERS

        return SCORERS
    from mm_eval.config.formats import FORMATS

    return FORMATS


def main(args: argparse.Namespace) -> int:
    if args.what == "tasks":
        return _tasks(args)
    if args.what in CATALOG:
        from mm_eval.config.manager import TaskManager

        manager = TaskManager(include_path=args.include_path)
        names = {"groups": manager.all_groups, "tags": manager.all_tags}[args.what]
        lines = [(name, manager.summary(name)) for name in names]
    elif args.what in REGISTRIES:
        registry = _registry(args.what)
        lines = [(name, registry.summary(name)) for name in registry.names()]
    else:
        raise ConfigError(f"{args.what!r} can't be listed.", hint=did_you_mean(args.what, (*CATALOG, *REGISTRIES)))
    found = [(in_line(name), text) for name, text in lines if args.search.lower() in f"{name} {text}".lower()]
    width = max((len(name) for name, _ in found), default=0)
    for name, text in found:
        line = in_line(f"{name:<{width}}  {text}".rstrip())
        say_lines(line if args.verbose else wrapped(line, later=" " * (min(width, WIDEST_NAME) + 2)))
    if not found and args.search:
        raise ConfigError(f"no {args.what} match {args.search!r}.")
    return 0


def _tasks(args: argparse.Namespace) -> int:
    """Prints the tasks below their groups; with a word those that it names, without groups."""
    from mm_eval.config.manager import TaskManager
    from mm_eval.verbs.ls.listing import flat, outline

    entries, word = TaskManager(include_path=args.include_path).entries, args.search.lower()
    rows = [(line, _cells(line)) for line in (flat(entries) if word else outline(entries))]
    if word:
        aliases: dict[str, list[str]] = {}
        for alias, name in (pair for entry in entries.values() for pair in entry.aliases):
            aliases.setdefault(name, []).append(alias)
        texts = [
            " ".join([*cells, *line.tags, *line.groups, line.about, *aliases.get(line.name, ())])
            for line, cells in rows
        ]
        found = [
            (row, text.lower())
            for row, text in zip(rows, texts, strict=True)
            if word in text.lower() or _is_named(word, (row[0].name, *aliases.get(row[0].name, ())))
        ]
        if not found:
            raise ConfigError(f"no tasks match {args.search!r}.")
        found.sort(key=lambda each: _distance(word, each[0][0].name.lower(), each[1]))
        rows = [row for row, _ in found]
    table = [list(HEADINGS), *(cells for _, cells in rows)]
    widths = [max(len(cells[place]) for cells in table) for place in range(len(HEADINGS))]
    if not args.verbose:
        widths = _fitting(widths, shutil.get_terminal_size((80, 24)).columns)
    for cells in table:
        say(
            "  ".join(
                f"{_cut(cell, width):<{width}}" for cell, width in zip(cells, widths, strict=True) if width
            ).rstrip()
        )
    return 0


def _is_named(word: str, names: Iterable[str]) -> bool:
    """Whether one of the names begins with the word but for case, "_" and "-", which `--tasks` leaves aside, too."""
    plain = _plain(word)
    return bool(plain) and any(_plain(name).startswith(plain) for name in names)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _distance(word: str, name: str, text: str) -> int:
    """How far a line is from what was searched: the name itself, a whole word of it, its beginning, a whole word elsewhere."""
    whole = re.compile(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])")
    same = name == word or _plain(name) == _plain(word)
    kinds = same, whole.search(name), _plain(name).startswith(_plain(word) or word), whole.search(text), word in name
    return next((place for place, holds in enumerate(kinds) if holds), len(kinds))


def _fitting(widths: list[int], room: int) -> list[int]:
    """The widths of the columns within a terminal's width, 0 for one that is left out. Some columns are cut before others go."""
    found = list(widths)
    for place, least in LEAST.items():
        over = sum(width + 2 for width in found if width) - 2 - room
        if over > 0:
            found[place] = max(found[place] - over, min(least, found[place]))
    for place in reversed(range(1, len(found))):
        if sum(width + 2 for width in found if width) - 2 > room:
            found[place] = 0
    for place in reversed(LEAST):  # what the columns that went have left
        spare = room + 2 - sum(width + 2 for width in found if width)
        found[place] += max(0, min(spare, widths[place] - found[place])) if found[place] else 0
    return found


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 3].rstrip()}..."


def _cells(line: Line) -> list[str]:
    """The cells of a line, safe for a terminal."""
    card, hub = line.card, line.card.get("hub", "")
    first = str(hub[0] if isinstance(hub, list) and hub else hub or "")
    sampled = _has_sample(tuple(card.get("data", ()))) if "data" in card else None
    mark = f" ({card['mark']})" if "mark" in card else ""
    cells = [
        f"{'  ' * line.depth}{line.name}",
        f"{card.get('metric', '')}{mark}",
        *(str(card.get(key, "")) for key in ("size", "modality")),
        first,
        "" if sampled is None else "yes" if sampled else "no",
        "; ".join(str(part) for part in (line.note, _access(first), card.get("published")) if part),
    ]
    return [in_line(cell) for cell in cells]


def _access(hub_id: str) -> str:
    """What stands between a data set and its rows, where something does."""
    from mm_eval.data.manifest import known_data_set

    found = known_data_set(hub_id)
    return "" if found is None else "mm-eval fetch" if found.fetch else "gated" if found.gated else ""


@lru_cache(maxsize=4096)
def _has_sample(ids: tuple[str, ...]) -> bool:
    """Whether there is bundled sample data under one of these ids."""
    from mm_eval.data.manifest import hub_ids
    from mm_eval.data.source import sample_root

    return any((sample_root() / name).is_dir() for one in ids for name in hub_ids(one))
