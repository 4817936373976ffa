"""Writes recorded runs in the formats of other tools: logs of inspect_ai, the files of lm-evaluation-harness and lmms-eval, and
the YAML file of a model's repository on the hub.

Nothing is requested and no model is loaded. `mm-eval import` reads the logs of other suites."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.folders import add_code_option, run_folders
from mm_eval.cli.options import add_option
from mm_eval.cli.say import say
from mm_eval.config.arguments import PATH
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.exports.writers import FORMATS
from mm_eval.verbs.report.reading import read_runs, say_holes, writing

READS_FOLDERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders; the folder of a release means its runs")
    what = "inspect, lm_eval, lmms_eval: files that these tools read; eval_results: YAML for a model's repository"
    parser.add_argument("--format", choices=tuple(FORMATS), required=True, help=what)
    add_option(parser, "output", "DIR", "the folder to write to (default: export-FORMAT)", rule=PATH)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    runs, holes = read_runs(run_folders(args.runs), args.include_path)
    for path in write_exports(runs, args.format, args.output):
        say(path)
    return say_holes(holes)


def write_exports(runs: list[RecordedRun], kind: str, output: str | None) -> list[Path]:
    """Writes the runs in the format of another tool, by default below export-FORMAT."""
    from mm_eval.verbs.report.site.bundle import names_of

    folder, written = Path(output or f"export-{kind}"), list[Path]()
    names = names_of([run.folder for run in runs])
    with writing("the files", str(folder)):
        for name, run in zip(names, runs, strict=True):
            written += FORMATS[kind](run, folder, name, len(runs) == 1)
    return written
