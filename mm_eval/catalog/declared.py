"""What one YAML file declares, for the index: names, members, tags and a line of meaning. Nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mm_eval.catalog import schema
from mm_eval.catalog.yaml import is_group, load_config
from mm_eval.errors import ConfigError

_NAME_LINE = re.compile(r"^(task|group)[ ]*:[ ]*['\"]?([^\s'\"#\[{]+)", re.MULTILINE)
_TAG_LINES = re.compile(r"^(?:tag|group)[ ]*:(.*(?:\n[ ]*-[ ].*)*)", re.MULTILINE)
_TAG = re.compile(r"(?:^|(?<=[\s\[,'\"]))[^\s\[\],'\"#-][^\s\[\],'\"]*")


def read_declaration(path: Path) -> tuple[dict[str, Any], list[Path]]:
    """The index's record of a file, as JSON, and the other files that it depends on.

    {"kind": "task" | "group" | "none" | "broken", "name", "tags", "about", "inline": [[path, kind, tags]], "error", "line"}.
    """
    try:
        config, files = load_config(path)
    except ConfigError as error:
        return _broken(path, error), []
    record = _task_or_group(config)
    return record, files[1:]


def _task_or_group(config: Mapping[str, Any]) -> dict[str, Any]:
    name = config.get("group") if is_group(config) else config.get("task")
    if not isinstance(name, str):
        return {"kind": "none"}
    tags = [tag for tag in schema.texts(config.get("tag")) if isinstance(tag, str)]
    if is_group(config):
        inline = list(_inline(config.get("task"), (name,)))
        return {"kind": "group", "name": name, "tags": tags, "about": _about_group(config), "inline": inline}
    group = config.get("group")
    tags += [tag for tag in schema.texts(group if isinstance(group, (str, list)) else None) if tag not in tags]
    return {"kind": "task", "name": name.partition("@")[0], "tags": tags, "about": _about_task(config)}


def _inline(members: Any, path: tuple[str, ...]) -> list[list[Any]]:
    """[path, kind, tags] of the members that a group defines itself, unless their name is registered elsewhere."""
    found: list[list[Any]] = []
    for member in members if isinstance(members, list) else ():
        if not isinstance(member, Mapping):
            continue
        kind = "group" if is_group(member) else "task"
        name = member.get(kind)
        defined = "task" in member if kind == "group" else schema.defines_task(member)
        if not isinstance(name, str) or not defined:
            continue
        inner = (*path, name.partition("@")[0])
        found.append(["::".join(inner), kind, [tag for tag in schema.texts(member.get("tag")) if isinstance(tag, str)]])
        if kind == "group":
            found += _inline(member.get("task"), inner)
    return found


def _about_task(config: Mapping[str, Any]) -> str:
    data = " ".join(str(config[key]) for key in ("dataset_path", "dataset_name") if config.get(key))
    pictures = any(config.get(key) for key in ("doc_to_visual", "doc_to_visial", "doc_to_image"))
    kind = "class" if config.get("class") else str(config.get("output_type") or "generate_until")
    return ", ".join(part for part in (kind, "images" if pictures else "text", data) if part)


def _about_group(config: Mapping[str, Any]) -> str:
    members = config.get("task")
    names = [
        str(member.get("group", member.get("task")) if isinstance(member, Mapping) else member)
        for member in (members if isinstance(members, list) else [members])
    ]
    shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
    return f"group of {len(names)}: {shown}"


def _broken(path: Path, error: ConfigError) -> dict[str, Any]:
    """A record for a file that can't be read as YAML; its name is guessed from its text, to be found when asked for.

    So are its tags: one that is asked for is an error, and not silently a number over the other tasks.
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
