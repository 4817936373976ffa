"""mm-eval: evaluation of vision-language and text models.

    from mm_eval import evaluate
    evaluate(tasks="mme,seedbench").table()

`dir(mm_eval)` has the public names and modules. Each is imported when it is first used, so that `import mm_eval` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

from mm_eval.package import FOLDERS, __version__

__path__.extend(str(folder) for folder in FOLDERS[1:])

if TYPE_CHECKING:
    from mm_eval.api import Results, evaluate
    from mm_eval.config.manager import TaskManager
    from mm_eval.engine.model import Model, register_model
    from mm_eval.scorers import register_scorer
    from mm_eval.scoring.filters import register_filter
    from mm_eval.scoring.metrics.metric import register_metric
    from mm_eval.values.types import Answer, Audio, Instance, Message, Video

__all__ = [
    "Answer",
    "Audio",
    "Instance",
    "Message",
    "Model",
    "Results",
    "TaskManager",
    "Video",
    "__version__",
    "evaluate",
    "register_filter",
    "register_metric",
    "register_model",
    "register_scorer",
]

_PUBLIC = {
    "Answer": "mm_eval.values.types",
    "Audio": "mm_eval.values.types",
    "Message": "mm_eval.values.types",
    "Instance": "mm_eval.values.types",
    "Model": "mm_eval.engine.model",
    "Results": "mm_eval.api",
    "TaskManager": "mm_eval.config.manager",
    "Video": "mm_eval.values.types",
    "evaluate": "mm_eval.api",
    "register_filter": "mm_eval.scoring.filters",
    "register_metric": "mm_eval.scoring.metrics.metric",
    "register_model": "mm_eval.engine.model",
    "register_scorer": "mm_eval.scorers",
}

_MODULES = ("errors", "filters", "metrics", "registry", "scorers", "tasks", "training", "types")


def __dir__() -> list[str]:
    return sorted((*__all__, *_MODULES))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"mm_eval.{name}")
    if name not in _PUBLIC:
        raise AttributeError(f"module 'mm_eval' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)
