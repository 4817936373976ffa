"""Asks a model the same questions at several efforts or thinking budgets, and names the cheapest effort that is enough.

RUN.yaml has `tasks`, `model`, `model_args` and any option of a run, and one of `reasoning_effort: [low, high]`,
`thinking_budget: [1024, 8192]` or `efforts: {NAME: {model_args: {...}, gen_kwargs: {...}}}`. The numbers are paired by document
and drawn against the tokens of the answers. Each effort is a run folder of its own; the same command resumes where it stopped."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.folders import add_format_option
from mm_eval.cli.options import add_option
from mm_eval.cli.say import say, say_lines, say_report
from mm_eval.config.arguments import ABOVE_0, PATH

if TYPE_CHECKING:
    from mm_eval.engine.progress import Progress
    from mm_eval.run import Report
    from mm_eval.verbs.study.effort import Efforts
    from mm_eval.verbs.study.effort_file import EffortFile

WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="RUN.yaml", help="the file of the run and its efforts")
    what = (
        "how large a loss to the best effort does not matter, in the table's unit (default: the file's, else 1 point)"
    )
    add_option(parser, "margin", "POINTS", what, rule=ABOVE_0)
    what = "one run folder per effort goes below it, with effort.html, effort.json (default: the file's, else runs/effort-MODEL)"
    add_option(parser, "output_path", "DIR", what, rule=PATH)
    what = "where the figures go (default: figures below the output; needs matplotlib, the extra `figures`)"
    add_option(parser, "figures", "DIR", what, rule=PATH)
    add_format_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.check_runs import check_models
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.verbs.figures import require_matplotlib
    from mm_eval.verbs.study.effort import Efforts
    from mm_eval.verbs.study.effort_file import read_efforts
    from mm_eval.verbs.study.trials import folders_of

    stated = read_efforts(args.file, args.output_path, args.margin)
    if args.figures:
        require_matplotlib()
    check_models(stated.runs)
    reports = run_efforts(stated, ProgressBar())
    folders = folders_of(reports)
    if len(folders) > 1:
        include_path = next(iter(stated.runs.values())).include_path
        found = Efforts.read(stated.model, folders, include_path)
        found.margin, found.said = stated.margin, stated.said
        _show(found, stated.output, Path(args.figures) if args.figures else None, args.format)
    return max(report.exit_code for report in reports.values())


def run_efforts(stated: EffortFile, progress: Progress) -> dict[str, Report]:
    """Runs each effort into its folder, up to one that is interrupted. Efforts that load the same share a model."""
    from mm_eval.prepare import Prepared, prepare
    from mm_eval.verbs.study.trials import run_trials, sharing

    trials: dict[str, Prepared] = {}
    for name, request in stated.runs.items():
        trials[name] = sharing(prepare(request, progress.phase), trials)
    return run_trials(trials, progress)


def _show(study: Efforts, output: Path, figures: Path | None, form: str) -> None:
    """Writes effort.json, effort.html and the figures, and says what they hold."""
    import importlib.util

    from mm_eval.engine.folder import RunFolder
    from mm_eval.results.table import terminal_width
    from mm_eval.values.safe import json_safe
    from mm_eval.verbs.study.effort_figure import write_effort_figures
    from mm_eval.verbs.study.effort_text import as_values, render
    from mm_eval.verbs.study.variants_text import as_json, write_page

    values = {**json.loads(as_json([study])), "effort": as_values(study)}
    text = json_safe(json.dumps(values, indent=2, ensure_ascii=False))
    RunFolder(output).write("effort.json", text)
    page = write_page(output / "effort.html", [study])
    drawn = figures is not None or importlib.util.find_spec("matplotlib") is not None
    written = write_effort_figures(figures or output / "figures", study) if drawn else []
    if form == "json":
        say_lines(text)
        return
    say_report(render(study, terminal_width()) + "\n")
    if written:
        say(f"figures: {', '.join(str(path) for path in written if path.suffix == '.svg')} (and PDF, PNG)")
    elif not drawn:
        say("no figure was drawn: matplotlib is not installed (pip install 'mm-eval[figures]')")
    say(f"page with the flips: {page}")
    say(f"run folders: {output}")
