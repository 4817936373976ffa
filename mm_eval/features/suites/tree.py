"""Where the files of a tree of another suite lie, by the names that its code imports them by.

A tree is the folder of a suite's tasks, or any copy of it: `lmms_eval.tasks.mmmu.utils` in a file of it is `mmmu/utils.py` of
the nearest folder above that file which has it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mm_eval.config.functions import parsed, stamp_of
from mm_eval.features.suites import SUITES

LEVELS = 8
"""How many folders above a file are looked at."""


def file_in_tree(folder: Path, parts: Sequence[str]) -> Path | None:
    """The file, or the folder, of a module below a suite's `tasks`, for a file in `folder`."""
    above = [folder, *folder.parents][:LEVELS]
    for root in sorted(above, key=lambda each: (each.parent.name, each.name) not in [(s, "tasks") for s in SUITES]):
        for found in (root.joinpath(*parts).with_suffix(".py"), root.joinpath(*parts)):
            if found.is_file() and found.suffix == ".py" or found.is_dir():
                return found
    return None


def imported_of_tree(file: Path, module: str = "") -> list[Path]:
    """The files of the same tree that a file imports by the suite's name; with a module: its file. Imports nothing."""
    return [Path(path) for path in _imported(file, stamp_of(file), module)]


@lru_cache(maxsize=4096)
def _imported(file: Path, stamp: tuple[int, int], module: str) -> tuple[str, ...]:
    tree, found = parsed(file), list[str]()
    for dotted in [module] if module else _modules(tree) if tree else ():
        suite, _, rest = dotted.partition(".")
        if suite in SUITES and rest.startswith("tasks."):
            path = file_in_tree(file.parent, rest.split(".")[1:])
            if path is not None and path.is_dir():
                path = path / "__init__.py"
            if path is not None and path.is_file() and path != file:
                found.append(str(path))
    return tuple(dict.fromkeys(found))


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module or ""
