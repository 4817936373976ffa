"""Writes recorded runs in the formats of other tools: logs of inspect_ai, the files of lm-evaluation-harness and lmms-eval, the
YAML file of a model's repository on the hub, and records of Every Eval Ever.

Nothing is requested and no model is loaded. `mm-eval import` reads the logs of other suites."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.folders import add_code_option, run_folders
from mm_eval.cli.options import add_option
from mm_eval.cli.say import say
from mm_eval.config.arguments import PATH, TEXT, Rule
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports.every_eval_ever import RELATIONSHIPS, SCHEMA_VERSION
from mm_eval.verbs.exports.writers import EXPORTS, FORMATS, OF_THE_HUB, OF_THE_STORE, eval_results, every_eval_ever
from mm_eval.verbs.report.reading import read_runs, say_holes, writing

READS_FOLDERS = True
ADDRESS = Rule(
    "an address that begins with https:// or http://", lambda value: str(value).startswith(("https://", "http://"))
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders; the folder of a release means its runs")
    what = (
        "inspect, lm_eval, lmms_eval: files that these tools read; hub (or eval_results): YAML for a model's repository; "
        f"every_eval_ever: records of its schema {SCHEMA_VERSION}"
    )
    parser.add_argument("--format", choices=EXPORTS, metavar="FORMAT", required=True, help=what)
    what = "with --format hub: the address of a page that shows the run, which the hub links"
    add_option(parser, "source", "URL", what, rule=ADDRESS)
    what = "with --format every_eval_ever: who publishes the number (default: unknown)"
    add_option(parser, "organization", "NAME", what, rule=TEXT)
    what = f"with --format every_eval_ever: of whoever ran it to the model's developer: {', '.join(RELATIONSHIPS)} (default)"
    parser.add_argument("--relationship", choices=RELATIONSHIPS, metavar="NAME", help=what)
    add_option(parser, "output", "DIR", "the folder to write to (default: export-FORMAT)", rule=PATH)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    runs, holes = read_runs(run_folders(args.runs), args.include_path)
    if args.source and args.format not in OF_THE_HUB:
        raise ConfigError("only --format hub has a source.", where="--source", hint="Leave it out.")
    for name in ("organization", "relationship"):
        if getattr(args, name) and args.format != OF_THE_STORE:
            raise ConfigError(f"only --format {OF_THE_STORE} has it.", where=f"--{name}", hint="Leave it out.")
    about = (args.organization, args.relationship)
    for path in write_exports(runs, args.format, args.output, args.source, about):
        say(path)
    return say_holes(holes)


def write_exports(
    runs: list[RecordedRun],
    kind: str,
    output: str | None,
    source: str | None = None,
    about: tuple[str | None, str | None] = (None, None),
) -> list[Path]:
    """Writes the runs in the format of another tool, by default below export-FORMAT.

    about: of records of Every Eval Ever, the organisation and its relationship to the model's developer.
    """
    from mm_eval.verbs.report.site.bundle import names_of

    folder, written = Path(output or f"export-{kind}"), list[Path]()
    names = names_of([run.folder for run in runs])
    with writing("the files", str(folder)):
        for name, run in zip(names, runs, strict=True):
            if kind in OF_THE_HUB:
                written += eval_results(run, folder, name, source)
            elif kind == OF_THE_STORE:
                written += every_eval_ever(run, folder, *about)
            else:
                written += FORMATS[kind](run, folder, name, len(runs) == 1)
    return written
