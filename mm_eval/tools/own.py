"""A tool of a task: a plain Python function becomes a `Tool`.

    def count_words(text: str) -> str:
        "How many words a text has."
        return str(len(text.split()))

After an empty line its docstring may have a line for each parameter, `text: what is counted`.
Its name, its docstring and its annotations are what the model reads. Two parameters are filled by mm-eval, and the model
does not see them: `pictures`, those shown so far (RGB), and `doc`, the row of the data. It returns a text, a number, a picture,
or a list of them. What the model did wrong it raises as ToolError or ValueError. It must be a function of its arguments alone,
since a run that goes on, and every scoring, calls it again. Several documents' calls may run at a time, each in a thread, for at
most MM_EVAL_TASK_SECONDS (600).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mm_eval.tools.tool import Given, Result, Tool, ToolError
from mm_eval.values.deadline import in_time
from mm_eval.values.errors import ConfigError, DataError, MMEvalError, kind_and_text, said_by

FILLED = ("pictures", "doc")
"""Parameters that the model does not see."""
_KINDS = {str: "string", float: "number", int: "integer", bool: "boolean", dict: "object", list: "array"}
_ABOUT = re.compile(r"^\s*(\w+):\s*(.+)$", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")


def tool_of(function: Callable[..., object], where: str = "") -> Tool:
    """The tool of a task's function.

    Errors: ConfigError for one that can't be told to a model: no docstring, a parameter without a type.
    """
    name = getattr(function, "__name__", "")
    if not _NAME.match(name):
        raise ConfigError(f"a tool needs a name (got {name!r}).", where=where, hint="Write it with def.")
    said = inspect.getdoc(function) or ""
    about = said.split("\n\n")[0].strip()
    if not about:
        hint = "Begin it with a sentence in triple quotes: the model reads what the tool does."
        raise ConfigError(f"the tool {name!r} has no docstring.", where=where, hint=hint)
    schema, filled = _schema(function, said, where)
    return Tool(
        name, name, " ".join(about.split()), lambda unit: schema, _use(function, schema, filled), "doc" in filled
    )


def _schema(function: Callable[..., object], said: str, where: str) -> tuple[dict[str, object], list[str]]:
    """(the schema of what the model gives, the names of what mm-eval fills)."""
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError) as error:
        raise ConfigError(
            f"the types of the tool {function.__name__!r} can't be read: {error}.", where=where
        ) from error
    abouts = dict(_ABOUT.findall(said.partition("\n\n")[2]))
    properties, required, filled = dict[str, Any](), list[str](), list[str]()
    for name, parameter in inspect.signature(function).parameters.items():
        if name in FILLED:
            filled.append(name)
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(
                f"the tool {function.__name__!r} has the parameter {name!r} without a name of its own.", where=where
            )
        rule = _rule(hints.get(name))
        if rule is None:
            what = f"the parameter {name!r} of the tool {function.__name__!r} needs a type that a tool declaration can state."
            hint = "Types are str, int, float, bool, dict, list, list[...], Literal[...] and None besides one of them."
            raise ConfigError(what, where=where, hint=hint)
        properties[name] = {**rule, **({"description": abouts[name].strip()} if name in abouts else {})}
        if parameter.default is parameter.empty:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}, filled


def _rule(hint: object) -> dict[str, object] | None:
    """The JSON schema of a type; None for one that has none."""
    if hint in _KINDS:
        return {"type": _KINDS[hint]}
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal and all(isinstance(each, str) for each in inner):
        return {"type": "string", "enum": list(inner)}
    if origin in (list, Sequence) and len(inner) == 1 and (item := _rule(inner[0])) is not None:
        return {"type": "array", "items": item}
    if origin in (dict, Mapping):
        return {"type": "object"}
    if origin is Union or str(origin) == "<class 'types.UnionType'>":
        others = [each for each in inner if each is not type(None)]
        return _rule(others[0]) if len(others) == 1 else None
    return None


def _use(
    function: Callable[..., object], schema: Mapping[str, Any], filled: Sequence[str]
) -> Callable[[Mapping[str, object], Given], Result]:
    def use(arguments: Mapping[str, Any], given: Given) -> Result:
        known: dict[str, object] = {name: arguments[name] for name in schema["properties"] if name in arguments}
        own = {"pictures": [picture.copy() for picture in given.pictures], "doc": given.doc} if filled else {}
        known |= {name: own[name] for name in filled}
        name = function.__name__
        try:
            return result_of(in_time(f"the tool {name!r}", function, **known), name)
        except (MMEvalError, ToolError):
            raise
        except ValueError as error:
            raise ToolError(said_by(error) or "the arguments are not accepted.") from error
        except Exception as error:
            raise DataError(f"the tool {name!r} raised {kind_and_text(error)}.") from error

    return use


def result_of(returned: object, name: str) -> Result:
    """The result of what a function returned: texts, one a line, and pictures. DataError for anything else."""
    from PIL.Image import Image

    parts = list(returned) if isinstance(returned, (list, tuple)) else [returned]
    texts = [str(part) for part in parts if isinstance(part, (str, int, float))]
    pictures = tuple(part for part in parts if isinstance(part, Image))
    if len(texts) + len(pictures) < len(parts):
        odd = next(part for part in parts if not isinstance(part, (str, int, float, Image)))
        raise DataError(f"the tool {name!r} returned a {type(odd).__name__}; a text, a number or a picture is needed.")
    return Result("\n".join(texts), pictures)
