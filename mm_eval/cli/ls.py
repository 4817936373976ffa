"""Lists tasks, models, metrics and other names, each with one line. Nothing is imported or executed to list tasks."""

from __future__ import annotations

import argparse
import importlib

from mm_eval.cli.options import add_option
from mm_eval.cli.say import say
from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.registry import Registry
from mm_eval.report.safe import in_line

REGISTRIES = {
    "models": "mm_eval.engine.model:MODELS",
    "metrics": "mm_eval.metrics:METRICS",
    "filters": "mm_eval.filters:FILTERS",
    "scorers": "mm_eval.scorers:SCORERS",
    "formats": "mm_eval.catalog.formats:FORMATS",
}
CATALOG = ("tasks", "groups", "tags")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default="tasks", metavar="WHAT", help=", ".join((*CATALOG, *REGISTRIES)))
    parser.add_argument("search", nargs="?", default="", metavar="WORD", help="only lines that contain the word")
    add_option(parser, "include_path", "DIR", "a folder with tasks of your own")


def main(args: argparse.Namespace) -> int:
    if args.what in CATALOG:
        lines = _from_catalog(args.what, args.include_path)
    elif args.what in REGISTRIES:
        lines = _from_registry(args.what)
    else:
        raise ConfigError(f"{args.what!r} can't be listed.", hint=did_you_mean(args.what, (*CATALOG, *REGISTRIES)))
    found = [(in_line(name), text) for name, text in lines if args.search.lower() in f"{name} {text}".lower()]
    width = max((len(name) for name, _ in found), default=0)
    for name, text in found:
        say(f"{name:<{width}}  {text}".rstrip())
    if not found and args.search:
        raise ConfigError(f"no {args.what} match {args.search!r}.")
    return 0


def _from_catalog(what: str, include_path: str | None) -> list[tuple[str, str]]:
    from mm_eval.catalog.manager import TaskManager

    manager = TaskManager(include_path=include_path)
    names = {"tasks": manager.all_tasks, "groups": manager.all_groups, "tags": manager.all_tags}[what]
    return [(name, manager.summary(name)) for name in names]


def _from_registry(what: str) -> list[tuple[str, str]]:
    module, _, attribute = REGISTRIES[what].partition(":")
    registry: Registry[object] = getattr(importlib.import_module(module), attribute)
    return [(name, registry.summary(name)) for name in registry.names()]
