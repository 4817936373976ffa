"""Code of the user's as a model: its arguments as keywords, and its faults with their file and line.

keywords_of(Echo, {"word": "no"})     {"word": "no"}, checked against the signature of Echo
with faults_of(Echo, "prepare"): ...  what the code raises becomes a ConfigError: "mine.py:12: Echo.prepare: KeyError: 'x'"
"""

from __future__ import annotations

import inspect
import json
import sysconfig
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import GeneratorType
from typing import Any

from mm_eval.config.arguments import is_json, number, shortly, switch, whole_number
from mm_eval.config.located import shown_path
from mm_eval.package import FOLDERS
from mm_eval.values.errors import ConfigError, MMEvalError, did_you_mean, kind_and_text
from mm_eval.values.types import JsonObject

_ELSEWHERE = tuple(
    sorted({*(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))})
    + [str(folder / name) for folder in FOLDERS for name in ("mm_eval", "models")]
    + [str(FOLDERS[0])]
)
"""The folders of code that is not the user's."""
TYPED: Mapping[str, Callable[[str], Any]] = {"int": whole_number, "float": number, "bool": switch}
NEEDED = {"int": "a whole number", "float": "a number", "bool": "true or false"}
JSON_KINDS: Mapping[str, tuple[type, Callable[[Any], Any]]] = {
    "list": (list, list), "Sequence": (list, list), "tuple": (list, tuple), "set": (list, set), "dict": (dict, dict),
    "Mapping": (dict, dict),
}  # fmt: skip
"""Types that are written as JSON in --model_args: what JSON gives for them, and what makes them of it."""


def is_own(kind: type) -> bool:
    """Whether a class is not one of mm-eval's."""
    return not kind.__module__.startswith("mm_eval.")


def takes_keywords(kind: type) -> bool:
    """Whether a class is called with its arguments as keywords, and not with (args, settings)."""
    if hasattr(kind, "create"):
        return False
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):  # a class of C
        return False
    takes_all = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    return not takes_all and [each.name for each in parameters[:2]] != ["args", "settings"]


def keywords_of(
    function: Callable[..., object], given: Mapping[str, object], skip: Collection[str] = (), first: int = 0
) -> JsonObject:
    """The arguments of a function or class as its keywords; texts become what its annotations or defaults say.

    skip: parameters that it gets otherwise, and first: how many it gets by position.
    Errors: ConfigError for a name that it does not take, one that is missing, and a value of another type.
    """
    name, where = called(function), line_of(function)
    parameters = dict(list(inspect.signature(function).parameters.items())[first:])
    known = {
        key: each
        for key, each in parameters.items()
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY) and key not in skip
    }
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for key in given:
        if key not in known and not takes_any:
            if not known:
                raise ConfigError(f"{shortly(key)}: {name} takes no model_args.", where=where)
            hint = did_you_mean(key, known)
            raise ConfigError(f"{name} takes no argument {shortly(key)} (model_args).", where=where, hint=hint)
    if missing := [key for key, each in known.items() if each.default is each.empty and key not in given]:
        hint = f"Write --model_args {','.join(f'{key}=...' for key in missing)}."
        raise ConfigError(f"{name} needs the argument {missing[0]!r}.", where=where, hint=hint)
    return {key: _as_declared(key, known.get(key), value, name, where) for key, value in given.items()}


def _as_declared(key: str, parameter: inspect.Parameter | None, value: object, name: str, where: str) -> object:
    """A text as the type that the parameter's annotation names, or else its default has; a number or a switch without either."""
    if not isinstance(value, str):
        return value
    declared = _declared(parameter) if parameter is not None else ""
    if "None" in declared and value.strip().lower() in ("none", "null"):
        return None
    if kinds := [kind for kind in JSON_KINDS if kind in declared]:
        try:
            found = json.loads(value)
        except ValueError:
            found = None
        for kind in kinds:
            if isinstance(found, JSON_KINDS[kind][0]):
                return JSON_KINDS[kind][1](found)
        if "text" in declared:
            return value
        example = '{"a": 1}' if kinds[0] in ("dict", "Mapping") else '["a", "b"]'
        raise ConfigError(
            f"{name} has {key}={value!r}; a {kinds[0]} is needed.", where=where, hint=f"Such as {key}={example}."
        )
    for kind, read in TYPED.items():
        if kind in declared:
            found = read(value)
            if isinstance(found, str) and "str" not in declared:
                raise ConfigError(f"{name} has {key}={value!r}; {NEEDED[kind]} is needed.", where=where)
            if not isinstance(found, str):
                return float(found) if kind == "float" else found
    if declared:
        return value
    found = switch(value)
    return number(found) if isinstance(found, str) else found


def _declared(parameter: inspect.Parameter) -> set[str]:
    """The names of the types in a parameter's annotation, or that of its default; none where neither says one."""
    stated = parameter.annotation
    if stated is parameter.empty:
        stated = type(parameter.default) if parameter.default not in (parameter.empty, None) else ""
    text = stated.__name__ if isinstance(stated, type) else str(stated)
    named = {word for word in ("bool", "int", "float", "str", "None", "Any", *JSON_KINDS) if word in _words(text)}
    if {"str", "Any"} & {part.strip() for part in text.split("|")}:
        named.add("text")  # and not the items of a list
    return named or ({"other"} if text else set())


def _words(text: str) -> set[str]:
    words = set("".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split())
    return words | ({"None"} if "Optional" in words or "NoneType" in words else set())


def stated_arguments(arguments: Mapping[str, object]) -> dict[str, object]:
    """Arguments as JSON values, as they are part of a model's identity: a set by its items, other objects by their kind."""
    items = {name: sorted(v, key=repr) if isinstance(v, (set, frozenset)) else v for name, v in arguments.items()}
    return {name: value if is_json(value) else called(value) for name, value in items.items()}


def called(thing: object) -> str:
    """The name of a function, a class or an object for people."""
    return str(getattr(thing, "__qualname__", None) or type(thing).__qualname__).rpartition("<locals>.")[2]


def line_of(thing: Any) -> str:
    """`file:line` of a function, or of a class's `__init__`; empty for mm-eval's own, and where that is not known."""
    if isinstance(thing, type):
        if not is_own(thing):
            return ""
        made = vars(thing).get("__init__")
        thing = made if inspect.isfunction(made) and made.__code__.co_filename != "<string>" else thing
    try:
        code = inspect.unwrap(thing).__code__
        return f"{_shown(code.co_filename)}:{code.co_firstlineno}"
    except AttributeError:
        pass
    try:
        kind = thing if isinstance(thing, type) else type(thing)
        return f"{_shown(inspect.getsourcefile(kind) or '')}:{inspect.getsourcelines(kind)[1]}"
    except (OSError, TypeError):
        return ""


def line_at(steps: object) -> str:
    """`file:line` at which a generator of the user's waits; empty for any other thing."""
    frame = steps.gi_frame if isinstance(steps, GeneratorType) else None
    if frame is None or not _is_users(frame.f_code.co_filename):
        return ""
    return f"{_shown(frame.f_code.co_filename)}:{frame.f_lineno}"


def line_in(error: BaseException) -> str:
    """`file:line` of the last step of an exception in the user's code; empty if there is none."""
    found, step = "", error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if _is_users(file):
            found = f"{_shown(file)}:{step.tb_lineno}"
        step = step.tb_next
    return found


def _is_users(file: str) -> bool:
    if file.startswith("<"):  # a notebook, a command of Python
        return file.startswith(("<ipython", "<stdin", "<string"))
    return not file.startswith(_ELSEWHERE)


def _shown(file: str) -> str:
    return file if file.startswith("<") or not file else shown_path(Path(file))


@contextmanager
def faults_of(thing: object, part: str = "") -> Iterator[None]:
    """What code of the user's raises becomes a ConfigError with its file and line. That of mm-eval's own code stays as it is.

    thing: the class, object or function. part: the method that is called.
    """
    kind = thing if isinstance(thing, type) else type(thing)
    try:
        yield
    except MMEvalError:
        raise
    except (Exception, SystemExit) as error:
        if not is_own(kind) or not (where := line_in(error) or line_of(thing)):
            raise
        what = ".".join(filter(None, (called(thing), part)))
        raise ConfigError(f"{what} raised {kind_and_text(error)}.", where=where) from error
