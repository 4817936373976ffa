"""Models in memory: what `evaluate(model=...)` takes beside a name. No command makes one.

    evaluate("mme", answer)                            any function of chat messages that returns a text
    evaluate("mme", my_adapter)                        an object, or a class, of mm_eval's Model
    evaluate("mme", module, processor=processor)       a model of transformers, left as it was
    evaluate("mme", transformers.pipeline(...))        the module and the processor in it

A request key holds what can be known of an object: its class and, of a module, a digest of its weights. Of anything else nothing
is known unless `identity=` names its state: its answers are never reused, and its folder does not resume.
"""

from __future__ import annotations

import inspect
import random
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.launch import processes, store_of
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, create_model, register_model
from mm_eval.engine.own_code import called, is_own, keywords_of, line_in, line_of, stated_arguments, takes_keywords
from mm_eval.values.errors import ConfigError, MMEvalError, ModelError, kind_and_text
from mm_eval.values.reasoning.split import cut_at
from mm_eval.values.types import Answer, Instance, JsonObject, Message, Options

if TYPE_CHECKING:
    import torch

UNKNOWN = "without_identity"
"""The key under which a model without an identity has a text that no other launch has."""
NOTE = (
    "the model in memory has no identity: its answers are not reused and this folder does not resume "
    "(identity='...' names the state of the model)"
)
_MARKS = count(1)
_IN_USE: dict[int, tuple[threading.RLock, int]] = {}
"""By id of an object of Model: its lock, and how many evaluations hold it or wait for it."""
_LOCK = threading.Lock()
AHEAD = 4
"""Questions a thread that wait, so that pictures are not decoded long before they are asked about."""


@register_model("memory")
class InMemory(Model):
    """A model that `evaluate(model=...)` was given: a function, an object of Model, a module of transformers."""

    facts = ModelFacts(travels=False)

    def __init__(self, args: Options, settings: ModelSettings) -> None:
        raise ConfigError(
            "a model in memory has no name.", where="--model", hint="Call mm_eval.evaluate(model=...) from Python."
        )

    @staticmethod
    def notes_on(model: Model) -> list[str]:
        """What a reader of the results should know of a model that was given."""
        return [NOTE] if UNKNOWN in model.facts.constants else []

    @staticmethod
    def check_module(module: torch.nn.Module, processor: object) -> None:
        """ConfigError for a module that can't be evaluated, or that lacks its processor. Changes nothing."""
        from .hf.in_memory import check_module

        check_module(module, processor)

    @staticmethod
    @contextmanager
    def held(
        thing: Any, args: Options, settings: ModelSettings, processor: object = None, identity: object = None
    ) -> Iterator[Model]:
        """The adapter of an object while it is evaluated. Afterwards the object and all random streams are as they were.

        processor: of a module, or its tokenizer. identity: names the state of the object, in place of what is known of it.
        Errors: ConfigError for an object that can't be evaluated, or arguments that do not fit it.
        """
        if _is_pipeline(thing):
            processor = processor or getattr(thing, "processor", None) or thing.tokenizer
            thing = thing.model
        with as_they_were():
            if _is_module(thing):
                from .hf.in_memory import held_module

                with held_module(thing, args, settings, processor, identity) as model:
                    yield model
                return
            if processor is not None:
                raise ConfigError(f"processor= belongs to a module of torch, not to {_named(thing)}.", where="evaluate")
            if isinstance(thing, Model) and not args:
                with alone(thing), _of_this_run(thing, settings, identity):
                    yield thing
                return
            yield _adapter(thing, args, settings, identity)

    @staticmethod
    def takes_keywords(thing: object) -> bool:
        """Whether an object that is given gets `model_args` as keywords: a function, or a class that is not called otherwise."""
        if isinstance(thing, type) and issubclass(thing, Model):
            return is_own(thing) and takes_keywords(thing)
        return callable(thing) and not isinstance(thing, Model) and not _is_module(thing) and not _is_pipeline(thing)

    @staticmethod
    def of_function(function: Callable[..., object], args: Options, settings: ModelSettings) -> Model:
        """The adapter of a function. ConfigError for arguments that it does not take."""
        return Function(function, settings, args)


@contextmanager
def alone(thing: object) -> Iterator[None]:
    """Evaluations of one object in several threads follow each other; those of different objects do not wait."""
    with _LOCK:
        lock, users = _IN_USE.get(id(thing), (threading.RLock(), 0))
        _IN_USE[id(thing)] = lock, users + 1
    try:
        with lock:
            yield
    finally:
        with _LOCK:
            lock, users = _IN_USE.pop(id(thing))
            if users > 1:
                _IN_USE[id(thing)] = lock, users - 1


@contextmanager
def _of_this_run(model: Model, settings: ModelSettings, identity: object) -> Iterator[None]:
    """Gives an object the settings and the identity of one run. The next run of the same object gives it its own.

    What a run states is laid over the settings that an object was made with. The adapters that come with mm-eval have worked with
    theirs already: ConfigError where a run states others.
    """
    own: ModelSettings | None = vars(model).get("settings")
    stated = _stated(settings)
    if own is not None and type(model).__module__.startswith("mm_eval."):
        if other := next((name for name in stated if stated[name] != getattr(own, name)), None):
            what = (
                f"{_named(model)} was made with {other}={getattr(own, other)!r}, and this run states {stated[other]!r}."
            )
            raise ConfigError(what, where="evaluate", hint="Leave it out, or give the adapter by its name.")
        stated = {}
    model.settings = settings if own is None else replace(own, **stated)
    if vars(model).get("_settings_before", model.settings) != model.settings:
        model._prepared = False  # what it loaded may depend on them
    vars(model)["_settings_before"] = model.settings
    if not hasattr(model, "args"):  # a class with an __init__ of its own
        model.args = {}
    before = model.facts
    identified(model, identity)
    try:
        yield
    finally:
        if own is None:
            del model.settings
        else:
            model.settings = own
        constants = {
            name: value for name, value in model.facts.constants.items() if name not in (UNKNOWN, "identity")
        } | {name: value for name, value in before.constants.items() if name in (UNKNOWN, "identity")}
        model.facts = replace(model.facts, constants=constants, shares=before.shares)


def _stated(settings: ModelSettings) -> JsonObject:
    """The options that differ from those of a run that states none."""
    plain = ModelSettings()
    found = {each.name: getattr(settings, each.name) for each in fields(settings) if each.compare}
    return {name: value for name, value in found.items() if value != getattr(plain, name)}


def _adapter(thing: object, args: Options, settings: ModelSettings, identity: object) -> Model:
    if isinstance(thing, type) and issubclass(thing, Model):
        return identified(create_model(thing, args, settings), identity)
    if args and (isinstance(thing, Model) or not callable(thing)):
        raise ConfigError(f"{next(iter(args))!r}: {_named(thing)} takes no model_args.", where="evaluate")
    if not callable(thing):
        hint = (
            "Give a model's name, a function of messages, an object of mm_eval.Model, or a module with its processor."
        )
        raise ConfigError(f"{_named(thing)} is not a model.", where="evaluate", hint=hint)
    return identified(Function(thing, settings, args), identity)


def identified(model: Model, identity: object) -> Model:
    """The model with a stated identity. One whose class says nothing of its state gets a key that no other launch has."""
    if identity is not None:
        model.facts = replace(model.facts, constants={**model.facts.constants, "identity": identity})
    elif type(model).identity is Model.identity:
        model.facts = replace(model.facts, constants={**model.facts.constants, **without_identity()}, shares="none")
    return model


def without_identity() -> dict[str, str]:
    """The entry of a key that makes it this launch's own, the same on all ranks."""
    own = processes()
    mark = uuid.uuid4().hex
    if own.count > 1:
        store, name = store_of(own), f"memory-{next(_MARKS)}"
        if own.leads:
            store.set(name, mark)
        mark = store.get(name).decode()
    return {UNKNOWN: mark}


class Function(Model):
    """A function that gets chat messages, each picture as a PIL image in its place, and returns the text of the answer.

    It may return an `Answer` in place of a text, and may take `generation_kwargs`, the task's options. Stop strings are cut here.
    Its further keyword parameters are the model's arguments.
    batch_size: how many threads call it at a time; one unless it is a number.
    """

    def __init__(
        self, function: Callable[..., object], settings: ModelSettings, args: Options = MappingProxyType({})
    ) -> None:
        self.function, self.name = function, called(function)
        own = vars(type(function)).get("__call__")
        for steps, kind, hint in (
            (inspect.iscoroutinefunction, "a coroutine function", "returns the text"),
            (inspect.isgeneratorfunction, "a generator", "returns the text and yields nothing"),
        ):
            if steps(function) or steps(own):
                where = line_of(function) or "evaluate"
                raise ConfigError(f"{self.name} is {kind}.", where=where, hint=f"Give a function that {hint}.")
        parameters = _parameters(function)
        if not _takes_messages(function):
            hint = "Give it one parameter for them, such as def answer(messages)."
            raise ConfigError(f"{self.name} takes no messages.", where=line_of(function) or "evaluate", hint=hint)
        self._keywords = keywords_of(function, args, skip={"generation_kwargs"}, first=1) if args or parameters else {}
        super().__init__(stated_arguments(self._keywords), settings)
        self._takes_options = "generation_kwargs" in parameters
        self.facts = ModelFacts(name=self.name, chat=True, travels=False, hears=True)

    def describe(self) -> Mapping[str, object]:
        args = {"args": self.args} if self.args else {}
        return {"adapter": "function", "function": self.name, **args, **self.facts.constants}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        threads = self.settings.batch_size if isinstance(self.settings.batch_size, int) else 1
        if threads == 1:
            yield from ((instance, self._answer(instance)) for instance in instances)
            return
        with ThreadPoolExecutor(threads, "mm-eval-function") as pool:
            waiting: list[Any] = []
            for instance in instances:
                waiting.append((instance, pool.submit(self._answer, instance)))
                if len(waiting) >= AHEAD * threads:
                    asked, future = waiting.pop(0)
                    yield asked, future.result()
            yield from ((asked, future.result()) for asked, future in waiting)

    def _answer(self, instance: Instance) -> Answer | MMEvalError:
        options = GenerationOptions.from_kwargs(instance.generation_kwargs)
        given = {"generation_kwargs": dict(instance.generation_kwargs)} if self._takes_options else {}
        try:
            messages = with_pictures(instance)
            found = self.function(messages, **given, **self._keywords)
        except MMEvalError as error:
            return error
        except (Exception, SystemExit) as error:  # whatever a user's function raises
            place = line_in(error)
            said = f"{self.name} raised {kind_and_text(error)[:500]}"
            return ModelError(f"{said.rstrip('.')}." if place else said, hint=f"See {place}." if place else "")
        answer = Answer(found) if isinstance(found, str) else found
        if not isinstance(answer, Answer) or not isinstance(answer.output, str):
            hint = f"See {place}." if (place := line_of(self.function)) else ""
            return ModelError(
                f"{self.name} returned {type(found).__name__}; expected the text of the answer.", hint=hint
            )
        text, stopped = cut_at(answer.output, options.until)
        return replace(answer, output=text, ended="stop", truncated=False) if stopped else answer


def with_pictures(instance: Instance) -> list[Message]:
    """The messages of an instance, each content a list of parts, with the PIL image of each picture and each sound in its part.

    {"role": "user", "content": [{"type": "image", "image": <PIL.Image>}, {"type": "text", "text": "What is it?"}]}
    """
    given = {
        "image": iter(instance.images() if instance.images is not None else ()),
        "audio": iter(instance.sounds() if instance.sounds is not None else ()),
    }
    context = instance.context
    turns = [{"role": "user", "content": context}] if isinstance(context, str) else context
    messages = []
    for turn in turns:
        content = turn["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        kinds = [part.get("type") for part in parts]
        shown = [
            {**part, kind: next(given[kind])} if kind in given else dict(part)
            for kind, part in zip(kinds, parts, strict=True)
        ]
        messages.append({**turn, "content": shown})
    return messages


def _is_module(thing: object) -> bool:
    """Whether an object is a module of torch; torch is not imported for it."""
    return _has_class(thing, "torch.nn.modules.module.Module")


def _is_pipeline(thing: object) -> bool:
    """Whether an object is what `transformers.pipeline` makes: a module with its processor."""
    return _has_class(thing, "transformers.pipelines.base.Pipeline")


def _has_class(thing: object, name: str) -> bool:
    return any(f"{kind.__module__}.{kind.__qualname__}" == name for kind in type(thing).__mro__)


def _parameters(function: Callable[..., object]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a builtin without a signature
        return frozenset()


def _takes_messages(function: Callable[..., object]) -> bool:
    """Whether a function has a parameter that is filled by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(each.kind not in (each.KEYWORD_ONLY, each.VAR_KEYWORD) for each in parameters)


def _named(thing: object) -> str:
    """An object's name for people."""
    return str(getattr(thing, "__qualname__", None) or type(thing).__qualname__)


@contextmanager
def as_they_were() -> Iterator[None]:
    """Afterwards the streams of Python, NumPy and torch, on every device, are where they were. Imports none of them."""
    own, found = random.getstate(), _streams()
    try:
        yield
    finally:
        random.setstate(own)
        for put, state in found:
            put(state)


def _streams() -> list[tuple[Any, Any]]:
    """(function that sets a stream, its state) of the libraries that are imported."""
    found: list[tuple[object, object]] = []
    if (numpy := sys.modules.get("numpy")) is not None:
        found.append((numpy.random.set_state, numpy.random.get_state()))
    if (torch := sys.modules.get("torch")) is not None:
        found.append((torch.set_rng_state, torch.get_rng_state()))
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            found.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
        if torch.backends.mps.is_available():
            found.append((torch.mps.set_rng_state, torch.mps.get_rng_state()))
    return found
