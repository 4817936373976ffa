"""What the index keeps of one task or group file: its names, tags, aliases, and the members that it defines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mm_eval.config import schema
from mm_eval.config.located import LocatedDict, merge
from mm_eval.config.schema import is_group, split_format
from mm_eval.values.errors import ConfigError

_NAME_LINE = re.compile(r"^(task|group)[ ]*:[ ]*['\"]?([^\s'\"#\[{]+)", re.MULTILINE)
_TAG_LINES = re.compile(r"^(?:tag|group)[ ]*:(.*(?:\n[ ]*-[ ].*)*)", re.MULTILINE)
_TAG = re.compile(r"(?:^|(?<=[\s\[,'\"]))[^\s\[\],'\"#-][^\s\[\],'\"]*")


def read_declaration(path: Path) -> tuple[dict[str, Any], list[Path]]:
    """The index's record of a file, as JSON, and the other files that it includes.

    {"kind": "task" | "group" | "protocol" | "none" | "broken", "name", "tags", "about", "inline": [[path, kind, tags]],
    "aliases": [[alias, name or path]], "error"}.
    """
    from mm_eval.config.yaml import load_config  # here, since unchanged files need no YAML library

    try:
        config, files = load_config(path)
    except ConfigError as error:
        return _broken(path, error), []
    if isinstance(config.get("protocol"), str) and not {"task", "group"} & config.keys():
        return {"kind": "protocol", "name": config["protocol"]}, files[1:]
    defaults, included = _defaults(config, path)
    return _task_or_group(config, defaults), [*files[1:], *included]


def _defaults(config: LocatedDict, path: Path) -> tuple[Mapping[str, Any], list[Path]]:
    """The keys of the files that a group includes for its members, and these files; nothing where they are unreadable."""
    from mm_eval.config.yaml import include_paths, load_config

    stated = config.get("include")
    if not is_group(config) or not isinstance(stated, (str, list)):
        return {}, []
    merged, files = LocatedDict(), list[Path]()
    try:
        for below in include_paths(config, path.parent):
            found, needed = load_config(below)
            merged, files = merge(merged, found), [*files, *needed]
    except ConfigError:  # opening the group reports it
        return {}, []
    return merged, files


def _task_or_group(config: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    name = config.get("group") if is_group(config) else config.get("task")
    if not isinstance(name, str):
        return {"kind": "none"}
    tags = stated_texts(config.get("tag"))
    name = name if is_group(config) else split_format(name)[0]
    record = {
        "name": name,
        "tags": tags,
        "aliases": list(_aliases(config, (name,))),
        "card": card_of(merge(defaults, config)),
    }
    if is_group(config):
        inline = list(_inline(config.get("task"), (name,)))
        about = {"about": _about_group(config), "inline": inline, "members": _members(config)}
        return {**record, "kind": "group", **about}
    tags += [tag for tag in stated_texts(config.get("group")) if tag not in tags]
    return {**record, "kind": "task", "about": _about_task(config)}


CARD_KEYS = ("size", "published", "metric", "hub")
"""The keys of `metadata` that the list of tasks shows."""


def card_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """What the list of tasks shows of a file: `size`, `published`, `metric`, `judged`, `hub`, `data` (the ids) and `modality`.

    A metric or an id that the metadata do not name is the first of `metric_list` and `dataset_path`.
    """
    stated = config.get("metadata")
    metadata = schema.one_mapping(stated) if schema.METADATA.fits(stated) else {}
    card = {key: metadata[key] for key in CARD_KEYS if metadata.get(key) is not None}
    mirrors = stated_list(config.get("dataset_mirrors"))
    ids = [config.get("dataset_path"), *(mirror.get("path") for mirror in mirrors if isinstance(mirror, Mapping))]
    if data := stated_texts(ids) or stated_texts(metadata.get("hub")):
        card["data"] = data
        card.setdefault("hub", data[:1])
    metrics = stated_list(config.get("metric_list"))
    first = metrics[0].get("metric") if metrics and isinstance(metrics[0], Mapping) else None
    if first is not None:
        card.setdefault("metric", str(first))
    if config.get("judge") is not None:
        card.update(metric=card.get("metric", "judge_score"), judged=True)
    tags = stated_texts(config.get("tag"))
    modality = next(
        (tag for tag in ("video", "multi_image", "image", "text") if tag in tags),
        "image" if _shows_pictures(config) else "",
    )
    if modality or data:
        card["modality"] = modality or "text"
    return card


def _shows_pictures(config: Mapping[str, Any]) -> bool:
    return any(config.get(key) for key in ("doc_to_visual", "doc_to_visial", "doc_to_image"))


def _members(config: Mapping[str, Any]) -> list[str]:
    """The names of a group's members that it refers to or defines."""
    named = [m.get("group", m.get("task")) if isinstance(m, Mapping) else m for m in stated_list(config.get("task"))]
    return stated_texts(named)


def _aliases(config: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[list[str]]:
    """[alias, what it stands for] of a file and of the members that it defines."""
    for alias in stated_texts(config.get("aliases")):
        yield [alias, "::".join(path)]
    members = config.get("task")
    for member in members if isinstance(members, list) else ():
        if isinstance(member, Mapping):
            name = member.get("group" if is_group(member) else "task")
            if isinstance(name, str):
                yield from _aliases(member, (*path, split_format(name)[0]))


def _inline(members: Any, path: tuple[str, ...]) -> list[list[Any]]:
    """[path, kind, tags] of the members that a group defines itself; their names may be registered elsewhere, too."""
    found: list[list[Any]] = []
    for member in members if isinstance(members, list) else ():
        if not isinstance(member, Mapping):
            continue
        kind = "group" if is_group(member) else "task"
        name = member.get(kind)
        defined = "task" in member if kind == "group" else schema.defines_task(member)
        if not isinstance(name, str) or not defined:
            continue
        inner = (*path, split_format(name)[0])
        found.append(["::".join(inner), kind, stated_texts(member.get("tag"))])
        if kind == "group":
            found += _inline(member.get("task"), inner)
    return found


def _about_task(config: Mapping[str, Any]) -> str:
    named = (", ".join(stated_texts(config.get(key))) for key in ("dataset_path", "dataset_name"))
    data = " ".join(part for part in named if part)
    kind = "class" if config.get("class") else str(config.get("output_type") or "generate_until")
    return ", ".join(part for part in (kind, "images" if _shows_pictures(config) else "text", data) if part)


def _about_group(config: Mapping[str, Any]) -> str:
    members = config.get("task")
    names = [
        str(member.get("group", member.get("task")) if isinstance(member, Mapping) else member)
        for member in (members if isinstance(members, list) else [members])
    ]
    shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return f"group of {len(names)}: {shown}"


def _broken(path: Path, error: ConfigError) -> dict[str, Any]:
    """The record of a file with invalid YAML. Its name and tags are guessed from its text.

    So requesting its name, or one of its tags, is an error; a tag is not silently scored over the other tasks.
    """
    text = path.read_text(encoding="utf-8", errors="replace")[:100_000] if path.is_file() else ""
    named = dict(reversed(_NAME_LINE.findall(text)))
    line = error.where.rpartition(":")[2]
    name = named.get("task") or named.get("group") or path.stem
    return {
        "kind": "broken",
        "name": name,
        "tags": [tag for lines in _TAG_LINES.findall(text) for tag in _TAG.findall(lines) if tag != name],
        "error": f"line {line}: {error.what}" if line.isdigit() else error.what,
    }


def stated_texts(value: Any) -> list[str]:
    """The texts in a value that should be a text or a list of texts; the check of the config reports others."""
    return [each for each in stated_list(value) if isinstance(each, str)]


def stated_list(value: Any) -> list[Any]:
    """A list, or a value that stands for a list of one."""
    return value if isinstance(value, list) else [value]
