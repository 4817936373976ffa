"""The catalogue as lines: groups with their members below them, then the tasks that stand in no group."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from mm_eval.config.index import Entry, inline_paths
from mm_eval.config.schema import split_format
from mm_eval.values.types import Fields

FOLDED = 10
"""A group that defines more tasks than these itself is one line."""


@dataclass(frozen=True)
class Line:
    """One line. depth: of the groups around it. kind: "task" or "group". card: see `card_of` of the index. note: a remark.

    groups: those that have it as a member, which only `flat` states.
    """

    name: str
    kind: str
    depth: int = 0
    card: Fields = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    about: str = ""
    note: str = ""
    groups: tuple[str, ...] = ()


def outline(entries: Mapping[str, Entry]) -> list[Line]:
    """All groups and tasks; a task of several groups stands below each of them."""
    groups = [entry for entry in entries.values() if entry.kind == "group"]
    inner = {name for entry in groups for name in _members(entry, entries)}
    outer = sorted(entry.name for entry in groups if entry.name not in inner) or sorted(entry.name for entry in groups)
    lines = [line for name in outer for line in _below(name, entries, 0, ())]
    shown = {line.name for line in lines}
    rest = (entry for entry in entries.values() if entry.kind == "task" and entry.name not in shown)
    return lines + [line_of(entry) for entry in sorted(rest, key=lambda entry: entry.name)]


def flat(entries: Mapping[str, Entry]) -> list[Line]:
    """All tasks by name, those that groups define themselves too; the latter by their path if the name is ambiguous."""
    groups: dict[str, list[str]] = {}
    for entry in entries.values():
        if entry.kind == "group":
            for member in _members(entry, entries):
                groups.setdefault(member, []).append(entry.name)
    tasks = [entry for entry in entries.values() if entry.kind == "task"]
    lines = [replace(line_of(entry), groups=_around(entry.name, groups)) for entry in tasks]
    kinds = {path: (kind, tags, entry) for entry in entries.values() for path, kind, tags in entry.inline}
    for name, paths in inline_paths(entries).items():
        for path in paths:
            kind, tags, group = kinds[path]
            if kind == "task":
                lines.append(
                    Line(name if len(paths) == 1 else path, kind, 0, _card_of_members(group.card), tuple(tags), path)
                )
    return sorted(lines, key=lambda line: line.name)


def _around(name: str, groups: Mapping[str, list[str]]) -> tuple[str, ...]:
    """The groups around a task, outer ones too."""
    found: dict[str, None] = {}
    pending = list(groups.get(name, ()))
    while pending:
        group = pending.pop()
        if group not in found:
            found[group] = None
            pending += groups.get(group, ())
    return tuple(found)


def line_of(entry: Entry, depth: int = 0) -> Line:
    """The line of a task or group that has a file of its own."""
    note = f"DECLARED {1 + len(entry.rivals)} TIMES" if entry.rivals else ""
    return Line(entry.name, entry.kind, depth, entry.card, tuple(entry.tags), entry.about, note)


def _below(name: str, entries: Mapping[str, Entry], depth: int, around: tuple[str, ...]) -> Iterator[Line]:
    """The line of a group and those of its members."""
    entry = entries[name]
    own = [path for path, kind, _ in entry.inline if kind == "task"]
    line = line_of(entry, depth)
    if len(own) > FOLDED:
        yield Line(line.name, line.kind, depth, line.card, line.tags, line.about, f"{len(own)} subtasks")
        return
    yield line
    for member in _members(entry, entries):
        known = entries.get(member)
        if known is not None and known.kind == "group" and member not in around and member != name:
            yield from _below(member, entries, depth + 1, (*around, name))
        elif known is not None and known.kind == "task":
            yield line_of(known, depth + 1)
    for path, kind, tags in entry.inline:
        inner, short = path.count("::"), path.rpartition("::")[2]
        if short not in entries:
            yield Line(short, kind, depth + inner, _card_of_members(entry.card), tuple(tags), path)


def _members(entry: Entry, entries: Mapping[str, Entry]) -> list[str]:
    """The registered tasks and groups among a group's members, once each."""
    found: dict[str, None] = {}

    def add(name: str) -> None:
        known = entries.get(split_format(name)[0].rpartition("::")[2])
        if known is not None and known.kind in ("tag", "alias"):
            for member in known.members:
                add(member)
        elif known is not None:
            found[known.name] = None

    for name in entry.members:
        if any(sign in name for sign in "*?["):
            for match in sorted(other for other in entries if fnmatch.fnmatchcase(other, name) and other != entry.name):
                if entries[match].kind in ("task", "group"):
                    found[match] = None
        else:
            add(name)
    return list(found)


def _card_of_members(card: Mapping[str, object]) -> dict[str, object]:
    """What the card of a group says about each of its members."""
    return {key: value for key, value in card.items() if key not in ("size", "published")}
