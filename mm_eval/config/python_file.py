"""Python files of tasks, read and not imported."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path

from mm_eval.values.files import parse_python


def stamp_of(path: Path) -> tuple[int, int]:
    """When a file was changed, and its size."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


class PythonFile:
    """A Python file, read and not imported.

    tree: its syntax tree; None if it has errors, which its import will report in more detail.
    """

    def __init__(self, path: Path) -> None:
        self.content = path.read_bytes()
        try:
            self.tree: ast.Module | None = parse_python(self.content)
        except (SyntaxError, ValueError):
            self.tree = None

    @cached_property
    def packages(self) -> set[str]:
        """The packages that it imports, wherever in the file."""
        names: set[str] = set()
        for node in ast.walk(self.tree) if self.tree else ():
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add((node.module or "").partition(".")[0])
        return names

    @cached_property
    def beside(self) -> list[str]:
        """The names that it imports from its own folder."""
        stems = list[str]()
        for node in ast.walk(self.tree) if self.tree else ():
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                stems += [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
        return stems

    @cached_property
    def names(self) -> set[str] | None:
        """The names at its top level; None if only running it would tell."""
        if self.tree is None:
            return None
        names: set[str] = set()
        for node in _top_level(self.tree.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
            else:
                names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        adds_names = any(isinstance(node, ast.Name) and node.id == "globals" for node in ast.walk(self.tree))
        return None if adds_names or names & {"*", "__getattr__"} else names


def python_file(path: Path) -> PythonFile:
    """A Python file as it is now; one that has not changed is read once."""
    return _read(path, stamp_of(path))


@lru_cache(maxsize=4096)
def _read(path: Path, stamp: tuple[int, int]) -> PythonFile:
    return PythonFile(path)


def _top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is loaded, including those inside `if`, `try` and `with`."""
    for node in body:
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for block in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(node, block, []))
            for handler in getattr(node, "handlers", []):
                yield from _top_level(handler.body)


def with_siblings(path: Path, elsewhere: Callable[[Path], Iterable[Path]] = lambda file: ()) -> list[Path]:
    """A file and all files beside it that it imports, directly or through others; sorted.

    elsewhere: gives further files that a file imports, also followed.
    """
    found, pending = list[Path](), [path]
    while pending:
        file = pending.pop()
        if file in found:
            continue
        found.append(file)
        beside = (file.parent / f"{stem}.py" for stem in python_file(file).beside)
        pending += filter(Path.is_file, beside)
        pending += elsewhere(file)
    return sorted(found)
