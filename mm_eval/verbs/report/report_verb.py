"""Writes report.html of a run, or prints the release table of several: rows are benchmarks, columns are models.

The page opens from disk with no network. Nothing is requested and no model is loaded."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.folders import add_code_option, named_or_last, run_folders
from mm_eval.cli.options import add_option, add_options, option
from mm_eval.cli.say import say, say_lines, say_report
from mm_eval.config.arguments import PATH, TEXT
from mm_eval.values.errors import ConfigError
from mm_eval.values.files import write_atomic
from mm_eval.verbs.exports.writers import EXPORTS
from mm_eval.verbs.report.reading import read_runs, say_holes, writing

if TYPE_CHECKING:
    from mm_eval.verbs.report.release.table import ReleaseTable

READS_FOLDERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN",
        help="run folders (default: the newest one below ./runs); the folder of a release means its runs, that of a training has "
        "a page of its own: its curve",
    )
    parser.add_argument(
        "--format",
        choices=("html", "text", "md", "latex", "csv", *EXPORTS),
        metavar="{html,text,md,latex,csv}",
        default="html",
        help="html (default): report.html of one run, release.html of several; text (for the terminal), md, latex, csv: a "
        "table, which is printed (`mm-eval export` writes the formats of other tools)",
    )
    add_option(
        parser, "against", "RUN", "report.html: another run's answers beside each sample, flips as a filter", rule=PATH
    )
    parser.add_argument(
        "--categories",
        action="store_true",
        help="tables: a row for each further metric and category of a benchmark (csv always has them)",
    )
    parser.add_argument("--intervals", action="store_true", help="tables: half the 95%% interval beside each number")
    add_option(
        parser,
        "reference",
        "FILE",
        "tables: scores that others reported, in YAML: reported: [{model, task, metric, value, tolerance, source}]",
        rule=PATH,
    )
    what = "tables: rank only scores under one prompt (default: each model under its own)"
    parser.add_argument("--same_prompt", action="store_true", help=what)
    add_option(parser, "model_index", "FILE", "write the hub's model-index metadata to a file", rule=PATH)
    add_option(
        parser,
        "figures",
        "DIR",
        "write the table's figures, and nothing else: a heat map and each benchmark's bars, or the curves of a training, as SVG, "
        "PDF and PNG (needs matplotlib, the extra `figures`)",
        rule=PATH,
    )
    what = "html: the release page, each run's page and all pictures in full size, as files for a web server in a new folder"
    parser.add_argument("--site", type=option("site", PATH), metavar="DIR", help=what)
    add_option(parser, "title", "TEXT", "html: the title of the release page (default: Release table)", rule=TEXT)
    add_option(
        parser,
        "url",
        "URL",
        "with --site: the address of the site, for the picture beside links to it (needs matplotlib, the extra `figures`)",
        rule=TEXT,
    )
    add_option(parser, "output", "FILE", "the file to write to", rule=PATH)
    add_options(parser, "report")
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.run_page import write_missing_reports, write_report
    from mm_eval.verbs.report.release import text as release
    from mm_eval.verbs.report.release.numbers import check_models_of, read_reference, release_table

    args.runs = named_or_last(args.runs)
    if args.url and not (args.site and args.url.startswith(("https://", "http://"))):
        raise ConfigError(f"--url is the address of a site: https://... (got {args.url!r}).", hint="Add --site DIR.")
    if args.figures or args.url:
        from mm_eval.verbs.figures import require_matplotlib

        require_matplotlib()
    if _report_study(args):
        return 0
    runs, holes = read_runs(run_folders(args.runs), args.include_path)
    if args.model_index:
        import yaml

        from mm_eval.verbs.exports.hub import model_index

        card = model_index(runs)
        _write(args.model_index, yaml.safe_dump({"model-index": card}, sort_keys=False))
    reference = read_reference(args.reference) if args.reference else ()

    def table() -> ReleaseTable:
        reasons = {name: str(error) for name, error in holes.items()}
        found = release_table(runs, reference, reasons, mix_judges=args.mix_judges, same_prompt=args.same_prompt)
        check_models_of(reference, found, args.reference)
        found.title = args.title or found.title
        return found

    if args.figures:
        from mm_eval.verbs.report.figures import write_release_figures

        with writing("the figures", args.figures):
            for path in write_release_figures(Path(args.figures), table()):
                say(path)
        return say_holes(holes)
    if args.format in EXPORTS:
        from mm_eval.verbs.report.export_verb import write_exports

        for path in write_exports(runs, args.format, args.output):
            say(path)
        return say_holes(holes)
    if args.site:
        if args.format != "html" or args.against or args.output:
            raise ConfigError("--site goes with --format html, without --against and --output.")
        from mm_eval.verbs.report.site.bundle import write_bundle

        with writing("the files", args.site):
            index = write_bundle(Path(args.site), runs, table(), say, args.url or "")
        say(index)
        return say_holes(holes)
    if args.format == "html" and len(runs) == 1:
        if args.output or args.reference or args.intervals or args.categories:
            what = "--output, --reference, --intervals and --categories are for tables."
            raise ConfigError(what, hint="Add --format md.")
        say(
            write_report(
                runs[0], RecordedRun.read(args.against, include_path=args.include_path) if args.against else None
            )
        )
        return say_holes(holes)
    if args.against:
        raise ConfigError(
            "--against is for report.html of one run.", hint="mm-eval compare shows differences of several."
        )
    if args.format == "html":
        from mm_eval.verbs.report.release.page import write_release_page

        write_missing_reports(runs)
        page = Path(args.output or "release.html")
        with writing("the page", str(page)):
            write_release_page(page, table())
        say(page)
        return say_holes(holes)
    ways = {"text": release.as_text, "md": release.as_markdown, "latex": release.as_latex, "csv": release.as_csv}
    text = ways[args.format](table(), args.intervals, args.categories)
    if args.output:
        _write(args.output, text + "\n")
    else:
        (say_report if args.format == "text" else say_lines)(text)
    return say_holes(holes)


def _report_study(args: argparse.Namespace) -> bool:
    """Writes the page, table or figures of a folder that has its own, such as a training's; False for any other."""
    from mm_eval.verbs.training.curve_page import open_study

    study = open_study(Path(args.runs[0]), args.include_path) if len(args.runs) == 1 else None
    for_runs = (args.against, args.reference, args.model_index, args.site, args.categories, args.intervals)
    if study is None or any(for_runs) or args.format in EXPORTS:
        return False
    if args.figures:
        with writing("the figures", args.figures):
            for path in study.write_figures(Path(args.figures)):
                say(path)
    elif args.format == "html":
        with writing("the page", args.output or args.runs[0]):
            say(study.write_page(Path(args.output) if args.output else None))
    elif args.output:
        _write(args.output, study.text(args.format) + "\n")
    else:
        say_lines(study.text(args.format))
    return True


def _write(path: str, text: str) -> None:
    with writing("the file", path):
        file = Path(path)
        if file.exists() and not file.is_file():  # a pipe, or /dev/stdout
            file.write_text(text, encoding="utf-8")
        else:
            write_atomic(file.resolve(), text, durable=False)  # a full disk leaves the old table
