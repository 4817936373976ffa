"""One folder a feature. Each brings its verbs, options, task keys, columns and pages; the core imports none of them.

What a feature brings stands as plain data in its `__init__.py`, which imports nothing heavy:

VERBS      commands: {"compare": ("compare_verb", "two runs or more, paired by doc")}, a file of the folder and a line of help.
TASK_KEYS  keys of task files: {"judge": "config:JudgeKey"}, a `TaskKey` (config/task_config.py) in a file of the folder.
RUN_PARTS  what it adds to a run: {"judge": "run_part:JudgePart"}, a subclass of `RunPart` (opening.py).
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any


@cache
def features() -> tuple[ModuleType, ...]:
    """The features that are installed, by name: the packages in this folder."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)


@cache
def named(kind: str) -> dict[str, str]:
    """{name: "module:attribute"} of what the features bring under one of the headings above. Imports none of these modules."""
    return {
        name: f"{feature.__name__}.{place}"
        for feature in features()
        for name, place in getattr(feature, kind, {}).items()
    }


@cache
def brought(kind: str) -> dict[str, Any]:
    """{name: object} of what the features bring: `brought("RUN_PARTS")` imports the file of each part."""
    found = {name: place.partition(":") for name, place in named(kind).items()}
    return {name: getattr(importlib.import_module(module), object) for name, (module, _, object) in found.items()}
