"""`mm-eval run --config FILE`: the models of a release, in turn or side by side, and one table of all."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.cli.say import say, say_report
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.run_files import real_path
from mm_eval.values.safe import in_line

if TYPE_CHECKING:
    from mm_eval.request import RunRequest
    from mm_eval.verbs.report.release.outcomes import Ended, Outcomes


def run_release(args: argparse.Namespace, read: Callable[[argparse.Namespace], RunRequest]) -> int:
    """Runs the models of a release file and prints one table; a model that fails leaves its column empty.

    read: reads the command's own options.
    """
    from dataclasses import replace

    from mm_eval.check_runs import check_models
    from mm_eval.results.release_order import RELEASE_PAGE
    from mm_eval.run_page import write_missing_reports
    from mm_eval.scoring.run_results import INTERRUPTED
    from mm_eval.verbs.report.release.numbers import release_table
    from mm_eval.verbs.report.release.outcomes import Outcomes
    from mm_eval.verbs.report.release.page import write_release_page
    from mm_eval.verbs.report.release.plan import at_a_time, read_release, stated
    from mm_eval.verbs.report.release.text import as_markdown, as_text

    named = bool(args.tasks)
    args.tasks = args.tasks or "none"
    if args.model or args.model_args or args.name:
        what = "--model, --model_args and --name belong in the file of --config."
        raise ConfigError(what, hint="Give one or the other.")
    base = read(args)
    base = base if named else replace(base, tasks=())
    given = [name for name in stated(base) if name != "data_root" or args.data_root]
    release = read_release(args.config, base, given)
    requests = release.chosen(args.only)
    parallel = at_a_time(requests, args.parallel or release.parallel)
    from mm_eval.deciding.lockstep import linked

    links = linked(requests, parallel)
    requests = links.requests
    sizes = check_models(requests, release.places)
    parent = _write_order(release.runs)
    if parent is not None and not (parent / RELEASE_PAGE).exists():
        table = release_table([], holes=dict.fromkeys(release.runs, "it has not run yet"), order=list(release.runs))
        with suppress(OSError, MMEvalError):  # the pages of the first models lead to it before all have ended
            write_release_page(parent / RELEASE_PAGE, table)
    found = Outcomes([links.ended])
    run = _side_by_side if parallel > 1 else _in_turn
    run(requests, parallel, found, sizes)
    if found.exit_code == INTERRUPTED:
        found.leave_out(requests, "it was not run, because the release was interrupted before it")
    for name, request in release.runs.items():
        if name not in requests:
            found.add_recorded(name, request)
    if found.runs or found.holes:
        found.runs.sort(key=lambda run: list(release.runs).index(run.name))
        table = release_table(found.runs, holes=found.holes, order=list(release.runs))
        table.title = release.title or table.title
        categories = any(request.categories for request in requests.values())
        plain = args.format == "text" and sys.stdout.isatty()  # elsewhere it goes into a file or another program
        say_report("\n" + (as_text if plain else as_markdown)(table, intervals=True, categories=categories))
        if found.runs:
            parent = Path(os.path.commonpath([real_path(run.folder).parent for run in found.runs]))
            write_missing_reports(found.runs)
        if parent is not None:
            say(f"page: {write_release_page(parent / RELEASE_PAGE, table)}")
    return found.exit_code


def _write_order(runs: Mapping[str, RunRequest]) -> Path | None:
    """Writes the order of the models beside their folders, for the pages of the runs. A full disk is theirs to report.

    Returns the folder, None where the models have no folder in common.
    """
    from mm_eval.results.release_order import write_release_order

    folders = {Path(str(request.output_path)): name for name, request in runs.items()}
    [parent] = parents if len(parents := {folder.parent for folder in folders}) == 1 else [None]
    if parent is not None:
        with suppress(OSError):
            parent.mkdir(parents=True, exist_ok=True)
            write_release_order(parent, {folder.name: name for folder, name in folders.items()})
    return parent


def _in_turn(requests: Mapping[str, RunRequest], parallel: int, found: Outcomes, sizes: Mapping[str, int]) -> None:
    """Runs the models one after another in this process; one that waits for others goes on when it is its turn again.

    sizes: how many requests each of them needs.
    """
    from mm_eval.engine.launch import processes
    from mm_eval.scoring.run_results import INTERRUPTED
    from mm_eval.verbs.report.release.outcomes import drive
    from mm_eval.verbs.report.release.progress import ModelInTurn, ReleaseProgress

    view = ReleaseProgress(list(requests), sizes=sizes, at_a_time=1)
    left = list(requests)
    while left:
        name, request = left[0], requests[left.pop(0)]
        say(f"{name}: {request.output_path}")
        model = ModelInTurn(view, name)
        with model.drawn() if processes().leads else nullcontext():
            ended = drive(request, model)
        if found.goes_on(name, ended):
            left.append(name)
            continue
        ended = ended.for_good
        view.ended(name, ended.exit_code, not ended.hole)
        found.add(name, ended, requests[name].include_path)
        _say_end(ended)
        if ended.exit_code == INTERRUPTED:
            break


def _say_end(ended: Ended) -> None:
    """What went wrong with a model, or that it was finished already."""
    lines = [*(["finished already: nothing was requested"] if ended.finished else []), *ended.problems]
    for line in lines:
        say_report(in_line(f"  {line}"))


def _side_by_side(requests: Mapping[str, RunRequest], parallel: int, found: Outcomes, sizes: Mapping[str, int]) -> None:
    """Runs the models in processes of their own, `parallel` at a time."""
    from mm_eval.scoring.run_results import INTERRUPTED
    from mm_eval.verbs.report.release.drivers import Drivers
    from mm_eval.verbs.report.release.progress import ReleaseProgress

    progress = ReleaseProgress(list(requests), sizes=sizes, at_a_time=parallel)

    def end(name: str, ended: Ended) -> None:
        found.add(name, ended, requests[name].include_path)
        with progress.aside():
            say(f"{name}: {requests[name].output_path}")
            _say_end(ended)

    from mm_eval.ray.executor import on_one_cluster

    with on_one_cluster(requests) as placed:
        interrupted = Drivers(placed, parallel, progress, found.goes_on, end).run()
    progress.draw(last=True)
    if interrupted:
        found.exit_code = INTERRUPTED
