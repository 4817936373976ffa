"""Which task files are lmms-eval's.

Its files have keys that none of our adapters reads, and its groups have other default weights. In any other file an unread
key is probably a typo, and our defaults apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import LocatedDict
from mm_eval.features.suites import PACKAGE


def is_from_lmms_eval(source: LocatedDict, file: Path | None, functions: Iterable[FunctionRef] = ()) -> bool:
    """Whether a config was written for lmms-eval: it has that suite's keys, is in its tree, or has functions that import it."""
    parts = file.parts if file else ()
    in_its_tree = (PACKAGE, "tasks") in zip(parts, parts[1:], strict=False)
    return source.of_lmms_eval or in_its_tree or any(function.imports(PACKAGE) for function in functions)
