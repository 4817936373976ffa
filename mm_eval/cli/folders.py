"""Run folders on a command line, and the options of verbs that read them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mm_eval.cli.options import add_option
from mm_eval.values.run_files import is_inside

RUN_FILE = "run.json"


def add_code_option(parser: argparse.ArgumentParser) -> None:
    """--include_path of a verb that opens recorded runs."""
    what = "a folder with task code of a recorded run that you trust; a run folder itself is not trusted to name code"
    add_option(parser, "include_path", "DIR", what)


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """--trust_run of a verb that asks what a recorded run names."""
    what = "ask and load what the run names although somebody else made it, or you did on another machine"
    parser.add_argument("--trust_run", action="store_true", help=what)


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """--format of a verb that prints a table, or the same as JSON."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")


def run_folders(words: Sequence[str]) -> list[str]:
    """The run folders that words name. A folder of several runs stands for these; pages among them are skipped.

    So `runs/mine/*`, which names the page of its table too, and `runs/mine` are the same.
    """
    pages = [each for each in words if each.endswith(".html") and Path(each).is_file()]
    found: list[str] = []
    for word in [each for each in words if each not in pages] or list(words):
        folder = Path(word)
        runs = [] if _is_run(folder) else _below(folder)
        found += [str(run) for run in runs] or [word]
    return found


def _below(folder: Path) -> list[Path]:
    """The run folders in a folder, in the order of their names."""
    if not folder.is_dir():
        return []
    try:
        below = sorted(folder.iterdir())
    except OSError:
        return []
    return [each for each in below if is_inside(folder, each) and _is_run(each)]


def _is_run(folder: Path) -> bool:
    """Whether a folder has a run.json. A folder that can't be searched is taken for a run, whose reader says what is wrong."""
    try:
        return (folder / RUN_FILE).exists()
    except OSError:
        return True
