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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mm_eval.config.arguments import Rule
from mm_eval.config.functions import FunctionRef
from mm_eval.config.located import located, where_item
from mm_eval.config.schema import POSITIVE, check_keys, is_function
from mm_eval.values.errors import ConfigError, did_you_mean

BUILT_IN = ("zoom", "crop", "rotate", "calculator")
"""The names of tools that task files need no function for."""
CALL_FORMATS = (
    "hermes", "qwen_xml", "glm", "seed", "kimi", "gemma4", "mistral", "harmony", "intern", "hunyuan",
)  # fmt: skip
"""How models write calls."""
BOX_UNITS = ("per_mille", "pixels", "resized", "fraction")
"""What the numbers of a box may mean."""
LEAST_SIDE = 32
"""The shortest side of a part of a picture in pixels; a smaller box grows around its centre, as far as the picture reaches."""
MOST_ROUNDS = 10
"""Answers of a document where the task does not state `rounds`."""
KEYS: dict[str, Rule] = {
    "use": Rule("a list of tools", lambda v: isinstance(v, list) and bool(v)),
    "calls": POSITIVE,
    "rounds": Rule("a whole number from 2", lambda v: POSITIVE.fits(v) and v >= 2),
    "edge": Rule(f"a whole number from {LEAST_SIDE}", lambda v: POSITIVE.fits(v) and v >= LEAST_SIDE),
    "format": Rule(f"one of {', '.join(CALL_FORMATS)}", lambda v: isinstance(v, str) and v in CALL_FORMATS),
    "boxes": Rule(f"one of {', '.join(BOX_UNITS)}", lambda v: isinstance(v, str) and v in BOX_UNITS),
}


@dataclass(frozen=True)
class ToolsConfig:
    """The checked `tools` of a task.

    stated: the whole, as the file has it. use: names and functions. calls: of a document; the ones that follow are refused.
    edge: the longest side of a picture that a tool returns, in pixels. rounds: answers of a document. format, boxes: None for
    the family's.
    """

    stated: Any
    use: tuple[Any, ...]
    calls: int = 8
    edge: int = 2048
    rounds: int = MOST_ROUNDS
    format: str | None = None
    boxes: str | None = None
    where: str = ""


def tools_of(stated: Any, where: str) -> ToolsConfig:
    """The `tools` of a task. ConfigError with file:line for an unknown or missing key, an unknown tool, or a wrong type."""
    if not isinstance(stated, (list, Mapping)) or not stated:
        raise ConfigError(f"'tools' must be a list of tools or a mapping, not {stated!r:.80}.", where=where)
    if isinstance(stated, list):
        _check_use(stated, where)
        return ToolsConfig(stated, tuple(stated), where=where)
    entry = located(stated)
    check_keys(entry, KEYS, "tools")
    if entry.get("use") is None:
        raise ConfigError("tools needs `use`.", where=where, hint=f"Tools are {', '.join(BUILT_IN)}.")
    _check_use(entry["use"], entry.where("use"))
    return ToolsConfig(
        stated,
        tuple(entry["use"]),
        entry.get("calls") or ToolsConfig.calls,
        entry.get("edge") or ToolsConfig.edge,
        entry.get("rounds") or MOST_ROUNDS,
        entry.get("format"),
        entry.get("boxes"),
        where,
    )


def _check_use(stated: list[Any], where: str) -> None:
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


def _name(tool: Any) -> str:
    """The name of a tool as a task states it."""
    if isinstance(tool, FunctionRef):
        return tool.function
    return tool if isinstance(tool, str) else str(getattr(tool, "__name__", tool))
