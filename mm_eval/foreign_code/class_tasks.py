"""Tasks that are written as classes for lm-eval or lmms-eval: their methods run in the process of their code.

What such a class says by its methods becomes the keys of its config; its docs and its requests are the class's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from mm_eval.config.functions import FunctionRef
from mm_eval.config.task_config import TaskConfig
from mm_eval.foreign_code.child.task_classes import CONTEXT
from mm_eval.foreign_code.process import TaskProcess
from mm_eval.foreign_code.remote import RemoteFunction, ask
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.errors import ConfigError, DataError, kind_and_text
from mm_eval.values.types import Doc, Instance, JsonObject

KINDS = ("generate_until", "loglikelihood", "loglikelihood_rolling")


class SuiteTask(Task):
    """A task of a class in another process. as_config: the config that says what the class says."""

    _process: TaskProcess
    _file: Path
    _name: str

    @classmethod
    def as_config(cls, config: TaskConfig) -> TaskConfig:
        keys = cls._keys(config)
        where = {"file": str(cls._file), "name": cls._name, "config": keys}
        try:
            about, _, _ = ask(cls._process, {"do": "task", **where}, (), {})
        except Exception as error:  # its own code
            what = f"the class {cls._name!r} can't be made: {kind_and_text(error)}"
            raise ConfigError(what, where=config.where("task_class")) from error
        if not about["docs"]:
            raise ConfigError(
                f"the class {cls._name!r} has neither test nor validation documents.", where=config.where("task_class")
            )

        def method(name: str) -> RemoteFunction:
            return cls._method(name, keys)

        docs = method("docs")
        found: JsonObject = {
            "custom_dataset": lambda **arguments: docs(),
            "process_docs": None,
            "test_split": about["docs"],
            "validation_split": None,
            "training_split": "training" if about["trains"] else None,
            "output_type": "generate_until",
            "metadata": {"version": about["version"], **config.metadata} if about["version"] else config.metadata,
        }
        for name in ("doc_to_text", "doc_to_target", "doc_to_visual", "process_results"):
            if name in about["own"]:
                found[name] = method(name)
        if about["metrics"]:
            found["metric_list"] = [
                {"metric": name, "aggregation": method(f"aggregation:{name}"), "higher_is_better": better}
                for name, better in about["metrics"]
            ]
        bound = type(cls.__name__, (cls,), {"_requests": method("construct_requests")})
        own = "construct_requests" in about["own"]
        return replace(config, task_class=bound if own else None, **found)

    _requests: RemoteFunction

    @classmethod
    def _keys(cls, config: TaskConfig) -> dict[str, object]:
        """The keys of its YAML file, as they cross: plain values, and functions by their files."""
        plain: dict[str, object] = {"task": config.name}
        functions = []
        for key, value in config.source.items():
            if isinstance(value, FunctionRef):
                if key != "class" and not value.of_mm_eval:
                    functions.append([key, str(value.source()), value.function])
            elif _is_plain(value):
                plain[key] = value
        return {"keys": plain, "functions": functions}

    @classmethod
    def _method(cls, name: str, keys: object) -> RemoteFunction:
        about: dict[str, object] = {"module": "", "parameters": None, "attributes": {}}
        made = RemoteFunction(cls._process, cls._file, cls._name, about)
        made._more = {"method": name, "config": keys}
        made._known = None
        return made

    def _instances(
        self,
        doc_id: int,
        doc: Doc,
        style: PromptStyle,
        turns_shown: Callable[[int], Sequence[str | int] | None] | None,
        whole: Callable[[], Doc],
    ) -> Iterator[Instance]:
        for each in super()._instances(doc_id, doc, style, turns_shown, whole):
            context = each.context if isinstance(each.context, str) else CONTEXT
            made = self._requests(doc, context, context is CONTEXT, (self.config.name, doc_id, 1))
            for kind, given, more, number in made:
                if kind not in KINDS:
                    raise DataError(
                        f"construct_requests asks for {kind!r}, which is not known.", hint=f"Known: {KINDS}"
                    )
                if context is CONTEXT and given != CONTEXT:
                    what = "construct_requests writes the prompt, which can't be a chat then."
                    raise DataError(what, hint="Give --apply_chat_template false.")
                own: JsonObject = {
                    "metadata": {**each.metadata},
                    "resps": [],
                    "filtered_resps": {},
                    "choice": number,
                }
                if given != CONTEXT:
                    own["context"] = given
                if kind == "generate_until":
                    own["generation_kwargs"] = {**each.generation_kwargs, **more}
                else:
                    own |= {"request_type": kind, "generation_kwargs": {}, "continuation": more}
                yield replace(each, **own)


def _is_plain(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (str, int, float))


def class_of(process: TaskProcess, file: Path, name: str) -> type[SuiteTask]:
    """The class of this process that stands for a task class of a file."""
    return type(name, (SuiteTask,), {"_process": process, "_file": file, "_name": name})
