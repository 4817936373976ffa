"""One folder a feature. Each brings its verbs, options, task keys, columns and pages; the core imports none of them.

What a feature brings stands as plain data in its `__init__.py`, which imports nothing heavy:

VERBS   commands: {"compare": ("compare_verb", "two runs or more, paired by doc")}, a file of the folder and a line of help.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType


@cache
def features() -> tuple[ModuleType, ...]:
    """The features that are installed, by name: the packages in this folder."""
    names = sorted(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)
    return tuple(importlib.import_module(f"{__name__}.{name}") for name in names)
