"""Whether a file was written for lmms-eval, whose defaults and habits differ in places from those of mm-eval's own form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mm_eval.catalog.functions import FunctionRef
from mm_eval.catalog.located import LocatedDict

PACKAGE = "lmms_eval"


def of_lmms_eval(source: LocatedDict, file: Path | None, functions: Iterable[FunctionRef] = ()) -> bool:
    """Whether a config is lmms-eval's: by one of its keys, its place in that suite's tree, or functions that import the suite."""
    return source.of_lmms_eval or in_tree(file) or any(function.imports(PACKAGE) for function in functions)


def in_tree(file: Path | None) -> bool:
    """Whether a file lies below a folder lmms_eval/tasks."""
    parts = file.parts if file else ()
    return any(pair == (PACKAGE, "tasks") for pair in zip(parts, parts[1:], strict=False))
