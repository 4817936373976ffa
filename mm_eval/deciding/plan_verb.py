"""Prints how many documents a difference takes, and which differences a release can show, before it is run.

Per task and for the average: the smallest difference that is found with the stated power, corrected for all comparisons. With
--difference: how many documents it takes, whether the benchmark has them, and the average share that a release with --stop_when
decided needs. With --policy: which clauses of a gate can be decided. The standard deviation of a difference comes from two or
more runs (--from), else from a stated or assumed range. Differences are paired by document and clustered by picture. All are in
the table's unit: percentage points for fractions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from mm_eval.cli.folders import add_code_option, add_format_option, run_folders
from mm_eval.cli.options import add_option
from mm_eval.cli.say import say, say_lines, say_report
from mm_eval.config.arguments import ABOVE_0, PATH, Rule, is_number, number
from mm_eval.values.errors import ConfigError

if TYPE_CHECKING:
    from mm_eval.deciding.design import Planned, Question
    from mm_eval.results.recorded import RecordedRun

READS_FOLDERS = True
POWER = Rule("a number between 0.5 and 1", lambda value: is_number(value) and 0.5 <= value < 1, number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", metavar="A,B", help="tasks and groups (default: all that the runs of --from share)")
    parser.add_argument("--from", dest="runs", nargs="+", metavar="RUN", default=[], help="run folders, or a release's")
    add_option(parser, "difference", "POINTS", "a difference that should be found, in the table's unit", rule=ABOVE_0)
    add_option(parser, "power", "SHARE", "the chance to find it (default 0.8)", default=0.8, rule=POWER)
    parser.add_argument(
        "--models", type=int, metavar="N", default=None, help="models that are compared (default 2, or those of --from)"
    )
    what = "compare each model with one of them only (default: all pairs)"
    parser.add_argument("--reference", action="store_true", help=what)
    add_option(parser, "alpha", "ALPHA", "false alarms over all comparisons (default 0.05)", default=0.05)
    what = (
        "the standard deviation of one document's difference between two models, in the table's unit (default: assumed)"
    )
    add_option(parser, "spread", "POINTS", what, rule=ABOVE_0)
    what = "a policy file of `mm-eval gate`: print which of its clauses the available documents can decide"
    add_option(parser, "policy", "FILE", what, rule=PATH)
    add_format_option(parser)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.deciding.design import Question, answered, as_json, planned_of_runs, planned_of_tasks
    from mm_eval.deciding.plan_text import render
    from mm_eval.request import named_tasks, task_names
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.results.table import terminal_width

    if not args.tasks and not args.runs:
        raise ConfigError("name --tasks, or runs by --from.", hint="mm-eval plan --tasks blink --difference 2")
    if args.models is not None and args.models < 2:
        raise ConfigError(f"a comparison needs two models, not {args.models}.", where="--models")
    runs = [RecordedRun.read(folder, include_path=args.include_path) for folder in run_folders(args.runs)]
    if len(runs) == 1:
        raise ConfigError(
            "the standard deviation of a difference needs two runs.", where="--from", hint="Name a second one."
        )
    if args.policy and args.difference is not None:
        what = "the losses of the policy are the differences that should be found."
        raise ConfigError(what, where="--difference", hint="Leave it out.")
    models = args.models or max(2, len({run.model for run in runs}))
    question = Question(args.difference, args.power, args.alpha, models, args.reference, args.spread)
    tasks = task_names(args.tasks, "--tasks") if args.tasks else None
    names = None if tasks is None else named_tasks(tasks)
    if runs:
        rows = planned_of_runs(runs, names)
        if not rows:
            what = (
                f"the runs share no number of {', '.join(names)}" if names else "the runs share no metric that varies"
            )
            raise ConfigError(f"{what}.", where="--from", hint="mm-eval compare shows what they share.")
    else:
        rows = planned_of_tasks(tasks or (), question, args.include_path)
    if args.policy:
        return _plan_of_policy(args, rows, question, runs)
    found = answered(rows, question)
    if args.format == "json":
        say_lines(json.dumps(as_json(found, question), indent=2))
    else:
        say_report(render(found, question, terminal_width()))
        if missing := without_spread(runs, names, {row.name for row in rows}):
            say_report(
                f"Not in the table, as the difference of the runs has no standard error there: {', '.join(missing)}."
            )
        if not runs:
            say()
            say_report("`mm-eval plan --from RUN RUN` takes the standard deviation from runs of like models.")
    return 0


def _plan_of_policy(
    args: argparse.Namespace, rows: Sequence[Planned], question: Question, runs: Sequence[RecordedRun]
) -> int:
    """Which clauses of a policy the documents can decide."""
    from mm_eval.deciding.policy import read_policy
    from mm_eval.deciding.policy_plan import planned_clauses, render
    from mm_eval.results.number_text import unit_of
    from mm_eval.results.table import terminal_width

    policy = read_policy(args.policy)
    headlines = {row.name: runs[0].results.headline(row.name) for row in rows} if runs else {}
    numbers = {name: float(each.value) * unit_of(each).factor for name, each in headlines.items() if each}
    found = planned_clauses(rows, policy, question, numbers)
    if args.format == "json":
        say_lines(json.dumps({"policy": policy.path, "clauses": [each.to_json() for each in found]}, indent=2))
    else:
        say_report(render(found, policy, question, terminal_width()))
    return 0


def without_spread(runs: Sequence[RecordedRun], names: Sequence[str] | None, planned: AbstractSet[str]) -> list[str]:
    """The benchmarks that all runs have a number of, and that could not be planned. names: those that were asked for."""
    from mm_eval.deciding.design import with_members

    covered = with_members(planned, runs)
    return [
        name
        for name in (runs[0].results.rows if runs else ())
        if name not in covered
        and (names is None or name in names)
        and all(
            name in run.results.rows and name not in run.results.members and run.results.headline(name) for run in runs
        )
    ]
