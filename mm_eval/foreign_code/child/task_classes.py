"""A task that is written as a class (lm-eval's `class: !function task.SQuAD2`), as the other process sees it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mm_eval.config.suites import PACKAGE
from mm_eval.foreign_code.child.stand_ins.tasks import Task

CONTEXT = "\x00context\x00"
"""Stands for the prompt of a doc where it is a chat, which the class is not shown."""
SPLITS = ("test", "validation", "training")
ASKED = ("doc_to_text", "doc_to_target", "doc_to_visual", "process_results", "construct_requests")


class TaskOfClass:
    """An object of a task class. keys: of its YAML file, functions among them."""

    def __init__(self, kind: type[Task], keys: Mapping[str, object]) -> None:
        accepted = inspect.signature(kind.__init__).parameters.values()
        takes_config = any(each.name == "config" or each.kind is each.VAR_KEYWORD for each in accepted)
        self._task: Any = kind(config=dict(keys)) if takes_config else kind()
        if not getattr(self._task, "task_name", None):
            self._task.task_name = keys.get("task")
        for name, value in keys.items():
            self._task._config.setdefault(name, value)
        self._of_lmms_eval = PACKAGE in _source(kind)

    def about(self) -> dict[str, Any]:
        """What it says by its methods. docs: the split that is asked. own: which methods are its own."""
        kind = type(self._task)
        own = [name for name in ASKED if getattr(kind, name, None) is not getattr(Task, name, None)]
        stated: dict[str, Any] = getattr(self._task, "aggregation", dict)() or {}
        better: dict[str, object] = getattr(self._task, "higher_is_better", dict)() or {}
        return {
            "docs": next((split for split in SPLITS[:2] if self._has(split)), ""),
            "trains": self._has("training"),
            "own": own,
            "metrics": [[str(name), bool(better.get(name, True))] for name in stated],
            "version": getattr(kind, "VERSION", None),
        }

    def _has(self, split: str) -> bool:
        return bool(getattr(self._task, f"has_{split}_docs")())

    def method(self, name: str) -> Callable[..., Any]:
        if name == "docs":
            return self._docs
        if name == "construct_requests":
            return self._requests
        if name.startswith("aggregation:"):
            found: Callable[..., Any] = self._task.aggregation()[name.partition(":")[2]]
            return found
        method: Callable[..., object] = getattr(self._task, name)
        return method

    def _docs(self) -> dict[str, object]:
        """{split: rows}."""
        task = self._task
        if task.dataset is None:
            options = task._config.get("dataset_kwargs")
            task.download(options) if options or self._of_lmms_eval else task.download()
        found = {}
        for split in SPLITS:
            if self._has(split) and (rows := getattr(task, f"{split}_docs")()) is not None:
                process = task._config.get("process_docs")
                own = type(task).__dict__.get(f"{split}_docs") is not None
                if callable(process) and not own and not self._of_lmms_eval:
                    rows = process(rows)
                found[split] = rows if hasattr(rows, "column_names") else [dict(row) for row in rows]
        return found

    def _requests(self, doc: Any, context: Any, chat: bool, metadata: Any) -> list[list[Any]]:
        """[kind, context, continuation or options, number] of each request of a doc."""
        build = self._task.construct_requests
        named = inspect.signature(build).parameters
        more = {"apply_chat_template": chat, "chat_template": None}
        more = {name: value for name, value in more.items() if name in named}
        made = build(doc, context, **more, metadata=tuple(metadata))
        made = made if isinstance(made, (list, tuple)) else [made]
        return [[each.request_type, *each.args[:2], number] for number, each in enumerate(made)]


def _source(kind: type) -> str:
    try:
        return inspect.getsource(sys.modules[kind.__module__])
    except (OSError, TypeError, KeyError):
        return ""
