"""Which configs were written for lmms-eval, read from their keys, places and imports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import LocatedDict
from mm_eval.config.suites import PACKAGE


def is_from_lmms_eval(source: LocatedDict, file: Path | None, functions: Iterable[FunctionRef] = ()) -> bool:
    """Whether a config was written for lmms-eval: it has that suite's keys, is in its tree, or has functions that import it.

    Such files have keys that none of our adapters reads, and groups with other default weights. In any other file such a key
    is probably a typo, and our defaults apply.
    """
    parts = file.parts if file else ()
    in_its_tree = (PACKAGE, "tasks") in zip(parts, parts[1:], strict=False)
    modules = {function.module: function for function in functions}.values()
    return source.of_lmms_eval or in_its_tree or any(function.imports(PACKAGE) for function in modules)
