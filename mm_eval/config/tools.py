"""`tools:` in a task file: what the model may call before it answers.

    tools: [zoom, crop, !function utils.my_tool]

or, with limits and with what the family's table does not know:

    tools:
      use: [zoom]
      calls: 8          # of a document; the ones that follow are refused
      rounds: 10        # answers of a document, the last one included
      edge: 2048        # the longest side of a picture that a tool returns, in pixels
      format: hermes    # of the calls, for a model of an unknown family
      boxes: pixels     # the unit of boxes, in place of the family's

With `python` the defaults are 50 calls and 50 rounds, and there are two limits more:

    tools:
      use: [python]
      pictures: 4       # that a call returns, at most
      characters: 20000 # of what a call prints; beyond them the middle is cut
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mm_eval.config.arguments import Rule
from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import TOKEN_CAPS, LocatedDict, located, where_item
from mm_eval.config.schema import POSITIVE, check_keys, is_function
from mm_eval.values.errors import ConfigError, did_you_mean

PYTHON = "python"
"""The tool that runs code: a sandbox is needed for it."""
BUILT_IN = ("zoom", "crop", "rotate", "calculator", PYTHON)
"""The names of tools that task files need no function for."""
CALL_FORMATS = (
    "hermes", "qwen_xml", "glm", "seed", "kimi", "gemma4", "mistral", "harmony", "intern", "hunyuan",
    "deepeyes_v2", "thyme", "pyvision",
)  # fmt: skip
"""How models write calls."""
BOX_UNITS = ("per_mille", "pixels", "resized", "fraction")
"""What the numbers of a box may mean."""
LEAST_SIDE = 32
"""The shortest side of a part of a picture in pixels; a smaller box grows around its centre, as far as the picture reaches."""
MOST_ROUNDS = 10
"""Answers of a document where the task does not state `rounds`."""
LEAST_TOKENS = 8192
"""Tokens of an answer of a task with `@python`, where its own cap is lower."""
OF_PYTHON = 50
"""Calls, and answers, of a document with `python` where the task does not state them."""
KEYS: dict[str, Rule] = {
    "use": Rule("a list of tools", lambda v: isinstance(v, list) and bool(v)),
    "calls": POSITIVE,
    "rounds": Rule("a whole number from 2", lambda v: POSITIVE.fits(v) and v >= 2),
    "edge": Rule(f"a whole number from {LEAST_SIDE}", lambda v: POSITIVE.fits(v) and v >= LEAST_SIDE),
    "pictures": Rule(
        "a whole number from 0 to 16", lambda v: v == 0 and v is not False or POSITIVE.fits(v) and v <= 16
    ),
    "characters": Rule("a whole number from 200 to 1,000,000", lambda v: POSITIVE.fits(v) and 200 <= v <= 1_000_000),
    "format": Rule(f"one of {', '.join(CALL_FORMATS)}", lambda v: isinstance(v, str) and v in CALL_FORMATS),
    "boxes": Rule(f"one of {', '.join(BOX_UNITS)}", lambda v: isinstance(v, str) and v in BOX_UNITS),
}


@dataclass(frozen=True)
class ToolsConfig:
    """The checked `tools` of a task.

    stated: the whole, as the file has it. use: names and functions. calls: of a document; the ones that follow are refused.
    edge: the longest side of a picture that a tool returns, in pixels. rounds: answers of a document. format, boxes: None for
    the family's. pictures, characters: of what a call of `python` returns.
    """

    stated: Any
    use: tuple[Any, ...]
    calls: int = 8
    edge: int = 2048
    rounds: int = MOST_ROUNDS
    format: str | None = None
    boxes: str | None = None
    where: str = ""
    pictures: int = 4
    characters: int = 20_000

    @property
    def runs_code(self) -> bool:
        """Whether a model may run code."""
        return PYTHON in self.use


def tools_of(stated: object, where: str) -> ToolsConfig:
    """The `tools` of a task. ConfigError with file:line for an unknown or missing key, an unknown tool, or a wrong type."""
    if not isinstance(stated, (list, Mapping)) or not stated:
        raise ConfigError(f"'tools' must be a list of tools or a mapping, not {stated!r:.80}.", where=where)
    if isinstance(stated, list):
        _check_use(stated, where)
        calls, rounds = _usual(stated)
        return ToolsConfig(stated, tuple(stated), calls, rounds=rounds, where=where)
    entry = located(stated)
    check_keys(entry, KEYS, "tools")
    if entry.get("use") is None:
        raise ConfigError("tools needs `use`.", where=where, hint=f"Tools are {', '.join(BUILT_IN)}.")
    _check_use(entry["use"], entry.where("use"))
    for name in OF_CODE:
        if entry.get(name) is not None and PYTHON not in entry["use"]:
            raise ConfigError(
                f"{name!r} is a limit of the tool {PYTHON!r}, which is not used.", where=entry.where(name)
            )
    calls, rounds = _usual(entry["use"])
    return ToolsConfig(
        stated,
        tuple(entry["use"]),
        entry.get("calls") or calls,
        entry.get("edge") or ToolsConfig.edge,
        entry.get("rounds") or rounds,
        entry.get("format"),
        entry.get("boxes"),
        where,
        **{name: entry[name] for name in OF_CODE if entry.get(name) is not None},
    )


OF_CODE = ("pictures", "characters")
"""Keys that only the tool python has a use for."""


def _usual(use: list[object]) -> tuple[int, int]:
    """(calls, rounds) of a document where the task does not state them."""
    return (OF_PYTHON, OF_PYTHON) if PYTHON in use else (ToolsConfig.calls, MOST_ROUNDS)


def with_python(stated: object) -> object:
    """The `tools` of a task with `python` beside those that it has. What is none is left, and an error later."""
    if stated is None:
        return [PYTHON]
    if isinstance(stated, Mapping) and isinstance(stated.get("use"), list):
        entry = LocatedDict(stated)
        entry["use"] = with_python(stated["use"])
        return entry
    return [*stated, PYTHON] if isinstance(stated, list) and PYTHON not in stated else stated


def answers_with_code(stated: object) -> object:
    """The `generation_kwargs` of a task for answers that may hold code: at least `LEAST_TOKENS`, and no text that ends them.

    A cap of 16 tokens, as tasks of a word have it, leaves no room for a call, and a stop at a line's end cuts one.
    """
    if stated is not None and not isinstance(stated, Mapping):
        return stated
    found = LocatedDict(stated or {})
    capped = [name for name in TOKEN_CAPS if found.get(name) is not None] or [TOKEN_CAPS[0]]
    for name in capped:
        if not POSITIVE.fits(found.get(name)) or found[name] < LEAST_TOKENS:
            found[name] = LEAST_TOKENS
    if found.get("until"):
        found["until"] = []
    return found


def _check_use(stated: list[object], where: str) -> None:
    """ConfigError for an unknown tool, for what is none, and for one that is named twice."""
    names = list[str]()
    for number, each in enumerate(stated):
        place = where_item(stated, number, where)
        if isinstance(each, str) and each not in BUILT_IN:
            raise ConfigError(f"unknown tool {each!r}.", where=place, hint=did_you_mean(each, BUILT_IN))
        if not isinstance(each, str) and not is_function(each):
            hint = "Write its name, or !function utils.my_tool."
            raise ConfigError(f"{each!r:.80} is not a tool.", where=place, hint=hint)
        names.append(_name(each))
    if twice := next((name for number, name in enumerate(names) if name in names[:number]), None):
        raise ConfigError(f"the tool {twice!r} is named twice.", where=where)


def _name(tool: object) -> str:
    """The name of a tool as a task states it."""
    if isinstance(tool, FunctionRef):
        return tool.function
    return tool if isinstance(tool, str) else str(getattr(tool, "__name__", tool))
