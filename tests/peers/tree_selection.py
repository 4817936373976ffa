"""Tasks of another suite's tree that differ in code: one for each way of asking and scoring, a few of each folder.

python -m tests.peers.tree_selection TREE MOST_A_FOLDER > NAMES.json
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

from mm_eval.config.manager import TaskManager
from mm_eval.errors import ConfigError

SIGNS = (
    "process_results",
    "process_docs",
    "doc_to_text",
    "doc_to_target",
    "doc_to_choice",
    "doc_to_visual",
    "filter_list",
)


def chosen(tree: str, most: int) -> list[str]:
    """Names, in the order of the folders. most: of one folder of task files."""
    manager = TaskManager(include_path=tree, include_defaults=False)
    seen: set[str] = set()
    in_folder: Counter[str] = Counter()
    found = []
    for entry in sorted(manager.entries.values(), key=lambda entry: str(entry.file)):
        if entry.kind != "task" or entry.file is None or in_folder[folder := str(entry.file.parent)] >= most:
            continue
        try:
            (config,) = manager.load([entry.name]).tasks.values()
        except (ConfigError, ValueError):
            continue
        metrics = [[each.get("metric"), str(each.get("aggregation"))] for each in config.metric_list]
        sign = json.dumps(
            [folder, config.output_type, metrics, *(_kind(getattr(config, key)) for key in SIGNS)], default=str
        )
        if sign not in seen:
            seen.add(sign)
            in_folder[folder] += 1
            found.append(entry.name)
    return found


def _kind(value: Any) -> str:
    return "text" if isinstance(value, str) else str(value)


if __name__ == "__main__":
    print(json.dumps(chosen(sys.argv[1], int(sys.argv[2]))))
