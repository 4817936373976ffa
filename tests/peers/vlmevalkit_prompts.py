"""The prompts that VLMEvalKit's own code builds: `python vlmevalkit_prompts.py REPOSITORY LINES.json`.

No model is loaded: a registered model is its class with the arguments that the kit's config.py has, made without `__init__`,
and a data set its class without its file. Packages that are not installed are replaced by stand-ins, which is enough to
import the kit and to build texts. LINES.json: [{dataset, line}]; a line is a row of a data set as in the kit's TSV, with the
names of its pictures as `image_path`. Prints {model: [[part, ...] for each line]}; a part is a text or null for a picture. Of
a line that the kit fails on: {"error": ...}.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

MODELS = (
    "llava_v1.5_7b", "llava_v1.5_13b", "qwen_base", "qwen_chat", "Qwen2-VL-2B-Instruct", "Qwen2-VL-7B-Instruct",
    "Qwen2.5-VL-3B-Instruct", "Qwen2.5-VL-7B-Instruct", "Qwen3-VL-4B-Instruct", "Qwen3-VL-8B-Instruct",
    "InternVL3-2B", "InternVL3-8B",
)  # fmt: skip
"""Registered names of config.py: two models of each of six families."""


class StandIn(MetaPathFinder, Loader):
    """Modules that the kit imports and that are not installed, as objects that have every attribute.

    Only for the kit's own files: other packages try imports to learn what is there.
    """

    def __init__(self, repository: Path) -> None:
        self.repository = str(repository)

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] == "vlmeval":
            return None
        inside = isinstance(sys.modules.get(name.rpartition(".")[0]), _Anything)
        frame = sys._getframe(1)
        while frame.f_back is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back
        asked = inside or frame.f_code.co_filename.startswith(self.repository)
        return ModuleSpec(name, self, is_package=True) if asked else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made = _Anything(spec.name)
        made.__path__, made.__spec__ = [], spec
        return made

    def exec_module(self, module: ModuleType) -> None:
        return None


class _Anything(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Class(name, (), {}) if name[:1].isupper() else MagicMock(name=f"{self.__name__}.{name}")


class _Class(type):
    """A class that can be inherited from, and has every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=f"{cls.__name__}.{name}")


class Kit:
    """The kit's registered models and data sets."""

    def __init__(self, repository: Path) -> None:
        warnings.simplefilter("ignore")
        sys.path.insert(0, str(repository))
        finder = StandIn(repository)
        for name in ("torch", "transformers", "openai", "litellm", "num2words"):  # large, and of no use without models
            sys.modules[name] = finder.create_module(ModuleSpec(name, finder, is_package=True))
            sys.modules[name].__version__ = "9.9.9"
        sys.meta_path.append(finder)
        sys.modules["num2words"].num2words = lambda number, **options: str(
            number
        )  # a table of words is made with it at import
        import vlmeval.config
        import vlmeval.dataset

        self.registered = vlmeval.config.supported_VLM
        self.classes = vlmeval.dataset.DATASET_CLASSES

    def dataset(self, name: str) -> Any:
        """A data set without its rows."""
        kind = next(kind for kind in self.classes if name in kind.supported_datasets())
        made = object.__new__(kind)
        made.dataset_name, made.meta_only, made.skip_noimg = name, True, True
        made.dump_image = lambda line: list(line["image_path"])
        return made

    def model(self, name: str) -> Any:
        """A registered model without its weights, with what its prompt code reads."""
        entry = self.registered[name]
        made = object.__new__(entry.func)
        stated = {
            parameter.name: parameter.default
            for kind in reversed(entry.func.__mro__) if "__init__" in vars(kind)
            for parameter in inspect.signature(kind.__init__).parameters.values()
            if parameter.default is not parameter.empty
        } | entry.keywords  # fmt: skip
        own_prompt = stated.get("use_custom_prompt", True)
        stated = {name: value for name, value in stated.items() if not hasattr(entry.func, name)}
        made.__dict__.update(stated, _use_custom_prompt=own_prompt)
        made.__dict__.update(use_cot=False, cot_prompt=None, system_prompt=None, kwargs={})
        made.__dict__.setdefault("use_mpo_prompt", False)
        made.dump_image_func = lambda line: line["image_path"]
        made.dump_image = lambda line, dataset=None: list(line["image_path"])
        return made

    def parts(self, model: Any, dataset: Any, line: dict[str, Any]) -> list[str | None]:
        """The prompt of a line: the model's own where it says that it has one, else the data set's."""
        import pandas

        row, name = pandas.Series(line), dataset.dataset_name
        own = model.use_custom_prompt(name)
        message = model.build_prompt(row, name) if own else dataset.build_prompt(row)
        if hasattr(inspect.getmodule(type(model)), "reorganize_prompt"):  # InternVL places pictures when it generates
            from vlmeval.vlm.internvl.utils import reorganize_prompt

            shown = sum(part["type"] == "image" for part in message)
            texts = reorganize_prompt(message, shown, dataset=name).split("<image>")
            return [part for text in texts for part in (text, None)][:-1]
        return [None if part["type"] == "image" else part["value"] for part in message]


def main(repository: Path, lines: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """{model: the prompt of each line}."""
    kit = Kit(repository)
    found: dict[str, list[Any]] = {}
    for name in MODELS:
        model = kit.model(name)
        found[name] = []
        for each in lines:
            try:
                found[name].append(kit.parts(model, kit.dataset(each["dataset"]), each["line"]))
            except Exception as error:  # the kit's own code on a row of ours
                found[name].append({"error": f"{type(error).__name__}: {error}"})
    return found


if __name__ == "__main__":
    printed, sys.stdout = sys.stdout, sys.stderr
    os.environ.setdefault("LMUData", "/nonexistent")
    json.dump(main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text("utf-8"))), printed)
