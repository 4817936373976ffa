"""Options that several verbs share, and how their values are read."""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from mm_eval.config.arguments import Rule, invalid, is_json, parse_json, shortly
from mm_eval.options import OF_PARTS, Option
from mm_eval.request import COMMAND_NAMES, OPTIONS, WITHOUT_JUDGE, RunRequest, read_option, task_names
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import JsonObject

if TYPE_CHECKING:
    from mm_eval.scoring.run_results import Report


_NAMED_VALUE = Rule("a text, a finite number, a list or a mapping with a name", is_json)


def in_group(parser: argparse._ActionsContainer, title: str) -> argparse._ActionsContainer:
    """The group of options of this title in the help of a verb; without a title the verb itself."""
    if not title:
        return parser
    known = (group for group in parser._action_groups if group.title == title)
    return next(known, None) or parser.add_argument_group(title)


def add_option(
    parser: argparse._ActionsContainer, name: str, metavar: str, help: str, rule: Rule | None = None, **more: Any
) -> None:
    """Adds `--name`, read and checked by its rule. rule: of an option of this verb alone. more: as of `add_argument`."""
    parser.add_argument(
        f"--{COMMAND_NAMES.get(name, name)}", type=option(name, rule), metavar=metavar, help=help, **more
    )


def option(name: str, rule: Rule | None = None) -> Callable[[str], object]:
    """A function that reads and checks an option's text, for argparse. rule: as of `add_option`."""
    return partial(read_option, name, rule=rule)


_TITLES = {"tasks": "tasks and data", "model": "model and prompts", "store": "answers and failures", "cost": "cost"}
"""The groups of options in the help. Those of other sets are in no group, and those of a part are in its own."""
_DEFAULTS = RunRequest(()).options()


def add_options(parser: argparse._ActionsContainer, *sets: str, several: bool = False, **helps: str) -> None:
    """Adds the options of some sets (`OPTIONS` of request.py), and those of parts that are added to them.

    several: those that may be given more than once may be. helps: the help of options that mean something else here.
    """
    for name in sets:
        for each in OPTIONS.get(name, ()):
            _add(in_group(parser, _TITLES.get(name, "")), each, several, helps.get(each.name, each.help))
        for part in OF_PARTS:
            for each in part.options if name in part.sets else ():
                _add(in_group(parser, _TITLES.get(name, part.title)), each, several, each.help)


def _add(parser: argparse._ActionsContainer, each: Option, several: bool, help: str) -> None:
    more: JsonObject = {"dest": each.name}
    if each.is_field:
        more["default"] = _DEFAULTS[each.name]
    more |= each.more
    if several and each.several:
        help, more["action"], more["default"] = each.several, "append", None
    if each.metavar:
        more["metavar"] = each.metavar
        if each.is_field and not each.pairs:
            more["type"] = option(each.name)
    parser.add_argument(f"--{COMMAND_NAMES.get(each.name, each.name)}", help=help, **more)


def read_part_options(args: argparse.Namespace, name: str) -> dict[str, object]:
    """The options of a request, by their flat names, that parts add to a set."""
    return _read(args, (each for part in OF_PARTS if name in part.sets for each in part.options))


def _read(args: argparse.Namespace, options: Iterable[Option]) -> dict[str, object]:
    found: dict[str, object] = {}
    for each in options:
        value = getattr(args, each.name, None)
        if each.pairs and value is not None:
            texts = value if isinstance(value, list) else [value]
            read = tuple(read_pairs(text, f"--{each.name}", typed=each.pairs == "typed") for text in texts)
            found[each.name] = read if isinstance(value, list) else read[0]
        elif each.is_field:
            found[each.name] = tuple(value) if isinstance(value, list) else value
    return found


def read_request(args: argparse.Namespace, *sets: str, **rest: object) -> RunRequest:
    """The request that the options of some sets state. rest: further fields of it."""
    found: JsonObject = {}
    if "model" in sets:
        found |= WITHOUT_JUDGE
    for name in sets:
        found |= {**_read(args, OPTIONS.get(name, ())), **read_part_options(args, name)}
    if found.get("metadata") is not None:  # of several, the last counts where two state one key
        found["metadata"] = {name: value for stated in found["metadata"] for name, value in stated.items()}
    found["data_root"] = found.get("data_root") or os.environ.get("MM_EVAL_DATA_ROOT")
    names = () if args.tasks is None else task_names(args.tasks, "--tasks")
    return RunRequest.of_options(names, **{**found, **rest})


def report_lines(report: Report, args: argparse.Namespace) -> str:
    """The report of a run as --format wants it, on a terminal of this width."""
    from mm_eval.results.run_table import render
    from mm_eval.results.table import terminal_width

    return render(report, terminal_width(), markdown=args.format == "md")


def read_names(text: str) -> list[str]:
    """Names separated by commas. >>> read_names("mme, seedbench")  gives  ['mme', 'seedbench']"""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise ConfigError("no task is named.", hint="`mm-eval ls tasks` lists them.")
    return names


def read_pairs(text: str, option: str, *, typed: bool = False) -> dict[str, object]:
    """`k=v,k=v` or a JSON object. A comma inside brackets or quotes separates nothing: until=["\\n","a,b"].

    typed: values are read as JSON or Python where they are that (0.7, true, ["a"], ['a']), and stay text otherwise.
    """
    if text.lstrip().startswith("{"):
        return _check_pairs(dict(parse_json(text, option)), option)
    pairs: dict[str, object] = {}
    for item in _split(text):
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{option} has {shortly(item)} where name=value is needed.")
        if name.strip() in pairs:
            raise ConfigError(f"{option} gives {shortly(name.strip())} twice.")
        pairs[name.strip()] = _read_value(value.strip()) if typed else _unquoted(value.strip())
    return _check_pairs(pairs, option)


def _check_pairs(pairs: dict[str, object], option: str) -> dict[str, object]:
    for name, value in pairs.items():
        if not _NAMED_VALUE.fits({name: value}):
            raise invalid(f"{option}: {shortly(name)}", value, _NAMED_VALUE)
    return pairs


def _split(text: str) -> list[str]:
    items, depth, quote, current = [], 0, "", ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth <= 0:
            items.append(current)
            current = ""
            continue
        current += character
    return [item for item in [*items, current] if item.strip()]


def _read_value(value: str) -> object:
    """A value as JSON where it is JSON, else as text. A number that is not finite becomes a float, for the check to reject."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if value.lower() in words:
        return words[value.lower()]
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        with suppress(ValueError):
            return value if math.isfinite(float(value)) else float(value)
        if value[:1] in ("[", "{"):
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                return ast.literal_eval(value)
        return _unquoted(value)


def _unquoted(value: str) -> str:
    """The text between quotes that the shell left: dtype="float" in a quoted argument."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" and value.count(value[0]) == 2
    return value[1:-1] if is_quoted else value
