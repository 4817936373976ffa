"""The tables of docs/reference/tasks.md, made of the headers of the shipped task files when the documentation is built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tables import table

from mm_eval.config.group import GroupConfig
from mm_eval.config.index import Entry
from mm_eval.config.manager import TaskManager
from mm_eval.config.schema import texts
from mm_eval.config.task_config import TaskConfig
from mm_eval.config.yaml import load_file
from mm_eval.values.safe import markdown
from mm_eval.values.types import main_metrics

TASKS = Path(__file__).parent.parent.parent / "tasks"
NOT_A_SKILL = ("image", "multi_image", "video", "audio", "text", "english", "chinese", "multilingual")
SKILLS = {
    "general": "General perception",
    "knowledge": "Knowledge",
    "science": "Science",
    "reasoning": "Reasoning",
    "math": "Mathematics",
    "ocr": "Text in pictures",
    "document": "Documents",
    "chart": "Charts",
    "diagram": "Diagrams",
    "hallucination": "Hallucination",
    "counting": "Counting",
    "spatial": "Spatial understanding",
    "instruction_following": "Following instructions",
    "commonsense": "Common sense",
    "language_modelling": "Language modelling",
    "": "Others",
}
COLUMNS = (
    "task",
    "metric",
    "documents",
    "tokens",
    "data set",
    "tags",
    "prompts",
    "licence",
    "paper",
    "raw",
    "extracted",
)


def made() -> str:
    """The groups, and a section of benchmarks for each skill."""
    manager = TaskManager()
    shipped = {e.name: e for e in manager.entries.values() if e.file and e.file.is_relative_to(TASKS)}
    entries = {name: entry for name, entry in shipped.items() if entry.kind == "task" or is_benchmark(entry)}
    rows: dict[str, list[list[str]]] = {}
    for name in sorted(entries):
        config, about = read(manager, entries[name])
        skill = next((tag for tag in config.tag if tag in SKILLS), "")
        rows.setdefault(skill, []).append(row_of(entries[name], config, about, shipped))
    sections = [f"## {title}\n\n{table(COLUMNS, rows[skill])}" for skill, title in SKILLS.items() if skill in rows]
    groups = [entry for entry in shipped.values() if entry.kind == "group" and not is_benchmark(entry)]
    return "\n\n".join([groups_of(sorted(groups, key=lambda entry: entry.name)), *sections])


def is_benchmark(entry: Entry) -> bool:
    """Whether a group defines its tasks itself, as MMLU its subjects: it is one row."""
    return entry.kind == "group" and bool(entry.inline)


def groups_of(groups: list[Entry]) -> str:
    """The table of the groups."""
    rows = []
    for entry in groups:
        assert entry.file is not None
        group = GroupConfig.from_mapping(load_file(entry.file), file=entry.file)
        members = ", ".join(f"`{name}`" for name in entry.members)
        numbers = ", ".join(f"`{each.metric}`" for each in group.aggregate_metric_list)
        found = reproduced(str(group.metadata.get("published", "")))
        cells = named(group.name, group.aliases), members, numbers, markdown(found["raw"]), markdown(found["extracted"])
        rows.append(cells)
    return f"## Groups\n\n{table(('group', 'members', 'metric', 'raw', 'extracted'), rows)}"


def read(manager: TaskManager, entry: Entry) -> tuple[TaskConfig, Mapping[str, Any]]:
    """The config of a task, or of the first task of a benchmark's group, and its metadata."""
    loaded = manager.load(entry.name)
    config = next(iter(loaded.tasks.values()))
    group: GroupConfig | None = loaded.groups.get(entry.name)
    if group is None:
        return config, config.metadata
    return replace(config, tag=group.tag or config.tag), {**config.metadata, **group.metadata}


def row_of(entry: Entry, config: TaskConfig, about: Mapping[str, Any], entries: Mapping[str, Entry]) -> list[str]:
    """The cells of one benchmark."""
    name = named(entry.name, [alias for alias, _ in entry.aliases])
    if entry.inline:
        name += f" ({sum(kind == 'task' for _, kind, _ in entry.inline)} tasks)"
    if base := variant_of(entry, entries):
        name += f", variant of `{base}`"
    ids = texts(about.get("hub")) or [str(config.dataset_path)]
    cells = {
        "task": name,
        "metric": ", ".join(f"`{metric}`" for metric in main_metrics(about) or main_metrics(entry.card)),
        "documents": str(about.get("size", "")),
        "tokens": str(about.get("prompt_tokens", "")),
        "data set": "<br>".join(f"[{markdown(one)}](https://huggingface.co/datasets/{one})" for one in ids),
        "tags": ", ".join(config.tag),
        "prompts": ", ".join(f"`{key}`" for key in config.prompt_kwargs if key != "default"),
        "licence": markdown(str(about.get("licence", ""))),
        "paper": linked(str(about.get("paper", ""))),
        **{kind: markdown(text) for kind, text in reproduced(str(about.get("published", ""))).items()},
    }
    return [cells[column] for column in COLUMNS]


def reproduced(published: str) -> dict[str, str]:
    """The header's `published` in its two columns, "raw" and "extracted".

    >>> reproduced("extracted: A 1.0; raw: A 0.9")
    {'raw': 'A 0.9', 'extracted': 'A 1.0'}
    >>> reproduced("none known")
    {'raw': 'none known', 'extracted': ''}
    """
    kinds = re.split(r"(?:^|; )(raw|extracted): ", " ".join(published.split()))
    found = dict(zip(kinds[1::2], kinds[2::2], strict=True))
    return {"raw": found.get("raw", kinds[0]), "extracted": found.get("extracted", "")}


def variant_of(entry: Entry, entries: Mapping[str, Entry]) -> str:
    """The task whose file this one includes; empty if it is no task."""
    if entry.file is None:
        return ""
    included = load_file(entry.file).get("include")
    files = {entry.file.parent / name for name in texts(included if isinstance(included, (str, list)) else None)}
    return next((other.name for other in entries.values() if other.file in files and other.kind == "task"), "")


def named(name: str, aliases: list[str]) -> str:
    """A name with its other names."""
    return f"`{name}`" + (f" (also {', '.join(f'`{alias}`' for alias in aliases)})" if aliases else "")


def linked(paper: str) -> str:
    """A paper with a link."""
    if paper.startswith("arXiv:"):
        return f"[{markdown(paper)}](https://arxiv.org/abs/{paper.removeprefix('arXiv:').split()[0]})"
    return f"[paper]({paper})" if paper.startswith("https://") else markdown(paper)
