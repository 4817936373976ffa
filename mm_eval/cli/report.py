"""Writes report.html of a run, or prints the release table of several: rows are benchmarks, columns are models.

The page opens from disk with no network. Nothing is requested and no model is loaded."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.options import add_option
from mm_eval.cli.say import say, say_lines
from mm_eval.errors import ConfigError, MMEvalError, StoreError

if TYPE_CHECKING:
    from mm_eval.runs.recorded import RecordedRun
    from mm_eval.runs.release import ReleaseTable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders")
    parser.add_argument(
        "--format",
        choices=("html", "md", "latex", "csv"),
        default="html",
        help="html (default): report.html of one run, release.html of several; md, latex, csv: a table, which is printed",
    )
    add_option(parser, "against", "RUN", "report.html: another run's answers beside each sample, flips as a filter")
    parser.add_argument(
        "--categories", action="store_true", help="tables: a row for each category of a benchmark (csv always has them)"
    )
    parser.add_argument("--intervals", action="store_true", help="tables: half the 95%% interval beside each number")
    add_option(
        parser,
        "reference",
        "FILE",
        "tables: numbers that others reported, in YAML: reported: [{model, task, metric, value, tolerance, source, judge}]",
    )
    parser.add_argument(
        "--mix_judges", action="store_true", help="tables: rank numbers of different judges together (the notes say so)"
    )
    add_option(parser, "model_index", "FILE", "write the hub's model-index metadata to a file")
    add_option(parser, "output", "FILE", "write the table to a file instead of printing it")


def main(args: argparse.Namespace) -> int:
    from mm_eval.report import release
    from mm_eval.report.html import write_report
    from mm_eval.runs.recorded import RecordedRun
    from mm_eval.runs.release import model_index, read_reference, release_table

    runs, holes = _read(args.runs)
    if args.model_index:
        import yaml

        _write(args.model_index, yaml.safe_dump({"model-index": model_index(runs)}, sort_keys=False))
    if args.format == "html" and len(runs) == 1:
        if args.output or args.reference or args.intervals or args.categories:
            what = "--output, --reference, --intervals and --categories are for tables."
            raise ConfigError(what, hint="Add --format md.")
        say(write_report(runs[0], RecordedRun.read(args.against) if args.against else None))
        return 0
    if args.against:
        raise ConfigError(
            "--against is for report.html of one run.", hint="mm-eval compare shows differences of several."
        )
    table = release_table(
        runs, read_reference(args.reference) if args.reference else (), holes, mix_judges=args.mix_judges
    )
    if args.format == "html":
        say(_write_page(Path(args.output or "release.html"), table))
        return 3 if holes else 0
    ways = {"md": release.as_markdown, "latex": release.as_latex, "csv": release.as_csv}
    text = ways[args.format](table, args.intervals, args.categories)
    if args.output:
        _write(args.output, text + "\n")
    else:
        say_lines(text)
    return 3 if holes else 0


def _read(folders: list[str]) -> tuple[list[RecordedRun], dict[str, str]]:
    """The runs with numbers, and {folder name: reason} of begun runs without. A single run must have numbers."""
    from mm_eval.runs.recorded import RecordedRun

    runs, holes = [], dict[str, str]()
    for folder in folders:
        try:
            runs.append(RecordedRun.read(folder))
        except MMEvalError as error:
            if not (Path(folder) / "run.json").is_file() or folder == folders[-1] and not runs:
                raise
            holes[Path(folder).name] = str(error)
    return runs, holes


def _write_page(path: Path, table: ReleaseTable) -> Path:
    from mm_eval.report.release_page import write_release_page

    try:
        return write_release_page(path, table)
    except OSError as error:
        raise StoreError(f"the page can't be written: {error.strerror}.", where=str(path)) from error


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"the file can't be written: {error.strerror}.", where=path) from error
