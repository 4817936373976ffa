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
from mm_eval.config.located import LocatedDict, located, where_item
from mm_eval.config.schema import POSITIVE, check_keys, is_function
from mm_eval.config.task_config import TaskConfig, TaskKey
from mm_eval.features.tools.boxes import LEAST, UNITS
from mm_eval.features.tools.calculator import CALCULATOR
from mm_eval.features.tools.formats.table import FORMATS
from mm_eval.features.tools.own import tool_of
from mm_eval.features.tools.pictures import CROP, ROTATE, ZOOM
from mm_eval.features.tools.tool import Limits, Tool
from mm_eval.values.errors import ConfigError, did_you_mean

KEY = "tools"
BUILT_IN: dict[str, Tool] = {tool.key: tool for tool in (ZOOM, CROP, ROTATE, CALCULATOR)}
MOST_ROUNDS = 10
"""Answers of a document where the task does not state `rounds`."""
KEYS: dict[str, Rule] = {
    "use": Rule("a list of tools", lambda v: isinstance(v, list) and bool(v)),
    "calls": POSITIVE,
    "rounds": Rule("a whole number from 2", lambda v: POSITIVE.fits(v) and v >= 2),
    "edge": Rule(f"a whole number from {LEAST}", lambda v: POSITIVE.fits(v) and v >= LEAST),
    "format": Rule(f"one of {', '.join(FORMATS)}", lambda v: isinstance(v, str) and v in FORMATS),
    "boxes": Rule(f"one of {', '.join(UNITS)}", lambda v: isinstance(v, str) and v in UNITS),
}


@dataclass(frozen=True)
class ToolsConfig:
    """The tools of a task. use: names and functions, as stated. format, boxes: None for the family's."""

    use: tuple[Any, ...]
    limits: Limits = Limits()
    rounds: int = MOST_ROUNDS
    format: str | None = None
    boxes: str | None = None
    where: str = ""

    def tools(self) -> tuple[Tool, ...]:
        """The tools. Their functions must be resolved. ConfigError for a function that can't be told to a model."""
        return tuple(BUILT_IN[each] if isinstance(each, str) else tool_of(each, self.where) for each in self.use)


class ToolsKey(TaskKey):
    """The key `tools` of task files."""

    name = KEY

    @staticmethod
    def check(source: LocatedDict) -> None:
        stated, where = source[KEY], source.where(KEY)
        if not isinstance(stated, (list, Mapping)) or not stated:
            raise ConfigError(f"'tools' must be a list of tools or a mapping, not {stated!r:.80}.", where=where)
        if isinstance(stated, Mapping):
            entry = located(stated)
            check_keys(entry, KEYS, KEY)
            if entry.get("use") is None:
                raise ConfigError("tools needs `use`.", where=where, hint=f"Tools are {', '.join(BUILT_IN)}.")
            stated, where = entry["use"], entry.where("use")
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

    @staticmethod
    def read(config: TaskConfig) -> ToolsConfig | None:
        """The tools of a task; None where it has none."""
        if (stated := config.of_features.get(KEY)) is None:
            return None
        where = config.where(KEY)
        if isinstance(stated, list):
            return ToolsConfig(tuple(stated), where=where)
        limits = Limits(**{name: stated[name] for name in ("calls", "edge") if stated.get(name) is not None})
        rounds = stated.get("rounds") or MOST_ROUNDS
        return ToolsConfig(tuple(stated["use"]), limits, rounds, stated.get("format"), stated.get("boxes"), where)


def _name(tool: Any) -> str:
    """The name of a tool as a task states it."""
    if isinstance(tool, FunctionRef):
        return tool.function
    return tool if isinstance(tool, str) else str(getattr(tool, "__name__", tool))
