"""The tools of a task: those that mm-eval brings, and functions of its own."""

from __future__ import annotations

from mm_eval.config.tools import PYTHON, ToolsConfig
from mm_eval.tools.calculator import CALCULATOR
from mm_eval.tools.own import tool_of
from mm_eval.tools.pictures import CROP, ROTATE, ZOOM
from mm_eval.tools.python import PYTHON_TOOL, described
from mm_eval.tools.tool import Tool

BUILT_IN: dict[str, Tool] = {tool.key: tool for tool in (ZOOM, CROP, ROTATE, CALCULATOR, PYTHON_TOOL)}


def tools_in(config: ToolsConfig) -> tuple[Tool, ...]:
    """The tools of a config whose functions are resolved. ConfigError for a function that can't be told to a model."""
    built_in = {**BUILT_IN, PYTHON: described(config.pictures)}
    return tuple(built_in[each] if isinstance(each, str) else tool_of(each, config.where) for each in config.use)
