"""A request written as the command line that makes it, for messages and pages that name a command to try."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from mm_eval.config.arguments import SWITCH
from mm_eval.request import COMMAND_NAMES, EXECUTOR, RULES, RunRequest


def as_command(request: RunRequest, verb: str = "") -> str:
    """The command line of a request, quoted for a shell; options at their defaults are left out. verb: none for `run`."""
    words = ["mm-eval", *([verb] if verb else [])]
    if verb == "show":
        words += request.tasks
    else:
        words += ["--tasks", ",".join(request.tasks)]
    for each in fields(RunRequest):
        value = getattr(request, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if each.name in ("tasks", "prompt_blocks", "name", "judge", "judge_args") or value == default:
            continue
        if verb and ("judge" in each.name or each.name in EXECUTOR):  # only a run, and `score`, ask judges
            continue
        if verb not in ("", "show") and each.name.startswith(
            "protocol"
        ):  # its settings of the run stand in the other options
            continue
        name = COMMAND_NAMES.get(each.name, each.name)
        if name == "no_report" or value is True and RULES[each.name] is SWITCH:
            words.append(f"--{name}")
        else:
            words += [f"--{name}", _as_text(value)]
    for adapter, args in request.judges if not verb else ():
        words += ["--judge", adapter, *(["--judge_args", _as_text(args)] if args else [])]
    return shlex.join(words)


def _as_text(value: Any) -> str:
    """An option's value as the command line takes it; a mapping as pairs where these are plain, else as JSON."""
    if isinstance(value, Mapping):
        plain = all(
            isinstance(part, (str, int, float)) and re.fullmatch(r"[\w./:@-]+", str(part)) for part in value.values()
        )
        return ",".join(f"{name}={part}" for name, part in value.items()) if plain else json.dumps(value)
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
