"""Compares runs with the first, paired by document and clustered by picture: differences with 95% intervals, p-values, and the
documents that flipped.

Differences in data, tasks and prompts are reported first."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.folders import add_code_option, add_format_option, run_folders
from mm_eval.cli.options import add_option, add_options, read_names
from mm_eval.cli.say import say, say_lines, say_report
from mm_eval.config.arguments import PATH, WHOLE_FROM_0
from mm_eval.values.errors import ConfigError

READS_FOLDERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folders, or a release's; the first is compared with"
    )
    parser.add_argument("--tasks", metavar="A,B", help="only these tasks (default: all that the runs share)")
    parser.add_argument(
        "--categories", action="store_true", help="all metrics of each benchmark, and its main metric by category"
    )
    add_option(parser, "flips", "N", "flipped documents to list each way (default 10)", default=10, rule=WHOLE_FROM_0)
    add_option(
        parser,
        "html",
        "FILE",
        "write a page: the table, and each sample with all answers; opens with no network",
        rule=PATH,
    )
    what = "intervals that are valid whenever you look, also at live runs: stop when you have seen enough"
    parser.add_argument("--anytime", action="store_true", help=what)
    add_options(parser, "compare")
    add_format_option(parser)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.results.table import terminal_width
    from mm_eval.verbs.study.compare import compare
    from mm_eval.verbs.study.compare_text import as_json, render
    from mm_eval.verbs.study.task_variants import first_of, has_variants

    folders = run_folders(args.runs)
    if args.anytime and len(folders) > 1:
        return _anytime(args, folders)
    runs = [RecordedRun.read(folder, include_path=args.include_path) for folder in folders]
    if len(folders) == 1 and has_variants(runs[0]):  # its tasks with and without tools
        folders, runs = folders * 2, runs * 2
    if len(folders) < 2:
        hint = "mm-eval compare RUN_A RUN_B; one alone is compared where it has a task twice, as TASK and TASK@python."
        raise ConfigError("at least two runs are needed.", hint=hint)
    runs[0] = first_of(runs)
    only = read_names(args.tasks) if args.tasks else None
    compared = compare(runs, only, categories=args.categories, mix_judges=args.mix_judges)
    for comparison in compared:
        if not comparison.changes and comparison.two_judges:
            (task, key), said = next(iter(comparison.two_judges.items()))
            where = f"{folders[0]} and {comparison.run.folder}"
            what = f"two judges gave {key.label} of {task} in {where}: {said}."
            hint = "mm-eval score RUN --judge NAME judges both runs by the same one; --mix_judges compares them all the same."
            raise ConfigError(what, hint=hint)
        if not comparison.changes and comparison.two_golds:
            task, said = next(iter(comparison.two_golds.items()))
            what = f"{task} was scored by two sets of golds in {folders[0]} and {comparison.run.folder}: {said}."
            hint = "mm-eval score RUN --gold_fixes FILE scores both by the same ones, and without FILE by the data's."
            raise ConfigError(what, hint=hint)
        if not comparison.changes and comparison.unknown:
            raise ConfigError(f"{comparison.unknown[0]}.", where=str(comparison.run.folder))
        if not comparison.changes:
            hint = "Did they run on the same data? Did all documents of one of them fail? Was one run with --no_judge?"
            what = f"{folders[0]} and {comparison.run.folder} have no scored document in common."
            raise ConfigError(what, hint=hint)
    page = Path(args.html) if args.html else None
    if page:
        from mm_eval.verbs.study.compare_text import write_comparison

        write_comparison(page, runs[0], compared)
    if args.format == "json":
        say_lines(as_json(runs[0], compared))
        return 0
    say_report(render(runs[0], compared, args.flips, page, every=args.categories, width=terminal_width()))
    if page:
        say()
        say(f"page: {page}")
    return 0


def _anytime(args: argparse.Namespace, folders: list[str]) -> int:
    """Compares what is answered so far, with intervals that hold at every moment."""
    import json

    from mm_eval.deciding.live import LiveRun, looked_at, render

    for name in ("categories", "html", "mix_judges"):
        if getattr(args, name):
            raise ConfigError(f"--{name} and --anytime can't be combined.", where=f"--{name}", hint="Give one of them.")
    only = read_names(args.tasks) if args.tasks else None
    runs = [LiveRun.read(folder, args.include_path) for folder in folders]
    found = {
        str(run.folder): [each for each in looked_at(runs[0], run) if only is None or each.unit.name in only]
        for run in runs[1:]
    }
    if not any(found.values()):
        what = f"{folders[0]} and {', '.join(folders[1:])} have no answered document in common for a score that allows this."
        raise ConfigError(what, hint="Wait for more answers; corpus metrics can't be compared before the end.")
    if args.format == "json":
        rows = [{"run": folder, "numbers": [each.to_json() for each in of_run]} for folder, of_run in found.items()]
        say_lines(json.dumps({"first": folders[0], "compared": rows}, indent=2))
    else:
        say_report(render(runs, found))
    return 0
