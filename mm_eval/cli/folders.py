"""Run folders on a command line, and the options of verbs that read them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mm_eval.cli.options import add_option
from mm_eval.cli.say import complain_briefly
from mm_eval.results.release_order import ORDER_FILE, read_release_order
from mm_eval.values.errors import ConfigError
from mm_eval.values.run_files import is_inside

RUN_FILE = "run.json"


def add_code_option(parser: argparse.ArgumentParser) -> None:
    """--include_path of a verb that opens recorded runs."""
    what = "a folder with task code of a recorded run that you trust; a run folder itself is not trusted to name code"
    add_option(parser, "include_path", "DIR", what)


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """--trust_run of a verb that asks what a recorded run names."""
    what = "contact and load what the run names, although it was made by somebody else or on another machine"
    parser.add_argument("--trust_run", action="store_true", help=what)


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """--format of a verb that prints a table, or the same as JSON."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")


def named_or_last(words: Sequence[str]) -> list[str]:
    """The folders that a command names; without any that of the newest run below ./runs, whose path is printed.

    Errors: ConfigError where there is none.
    """
    if words:
        return list(words)
    below = [each for depth in range(1, 5) for each in Path("runs").glob("*/" * depth + RUN_FILE) if each.is_file()]
    if not below:
        hint = "Name one: mm-eval report RUN."
        raise ConfigError("no run folder is named, and there is none below ./runs.", hint=hint)
    last = max(below, key=lambda path: (path.stat().st_mtime, str(path))).parent
    complain_briefly(f"the last run: {last}")
    return [str(last)]


def run_folders(words: Sequence[str]) -> list[str]:
    """The run folders that words name. A folder of several runs stands for these; pages among them are skipped.

    So `runs/mine/*`, which names the page of its table too, and `runs/mine` are the same.
    """
    beside = [each for each in words if _is_beside_runs(Path(each))]
    found: list[str] = []
    for word in [each for each in words if each not in beside] or list(words):
        folder = Path(word)
        runs = [] if _is_run(folder) else _below(folder)
        found += [str(run) for run in runs] or [word]
    return _in_order(found) if beside else found


def _is_beside_runs(path: Path) -> bool:
    """Whether a word is a file beside the runs of a release: its page, or the file with its order."""
    return (path.suffix == ".html" or path.name == ORDER_FILE) and path.is_file()


def _in_order(folders: list[str]) -> list[str]:
    """Folders that a glob named, in the order of their release where all are its runs; else as they are."""
    parents = {Path(folder).parent for folder in folders}
    if len(parents) != 1 or folders != sorted(folders):
        return folders
    places = _order_of(next(iter(parents)))
    return sorted(folders, key=lambda folder: places.get(Path(folder).name, len(places)))


def _order_of(folder: Path) -> dict[str, int]:
    """{folder name: place} of the models of a release; empty where nothing says their order."""
    return {name: place for place, name in enumerate(read_release_order(folder))}


def _below(folder: Path) -> list[Path]:
    """The run folders in a folder, in the order of its release, else of their names."""
    if not folder.is_dir():
        return []
    try:
        below = sorted(folder.iterdir())
    except OSError:
        return []
    places = _order_of(folder)
    below.sort(key=lambda each: places.get(each.name, len(places)))
    return [each for each in below if is_inside(folder, each) and _is_run(each)]


def _is_run(folder: Path) -> bool:
    """Whether a folder has a run.json. A folder that can't be searched is taken for a run, whose reader says what is wrong."""
    try:
        return (folder / RUN_FILE).exists()
    except OSError:
        return True
