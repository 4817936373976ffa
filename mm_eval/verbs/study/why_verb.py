"""Shows which setting explains the difference between a run and the score of a report.

A part of the run's documents is asked again with one setting of the protocol at a time: prompt, system prompt, chat template,
generation, examples, frames, model arguments such as pixel limits. Its extraction scores the same answers again. Each trial is
compared with the run, paired by document. Equal settings are not tried. Equal requests reuse the run's answers, and the same
command resumes where it stopped."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from mm_eval.cli.options import add_option, read_names
from mm_eval.cli.say import say, say_lines
from mm_eval.config.arguments import TEXT
from mm_eval.verbs.study.trial_options import add_trial_options

READS_FOLDERS = WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from mm_eval.verbs.study.why import FEWEST, MOST

    parser.add_argument("run", metavar="RUN", help="the run folder")
    what = "a named protocol of a report (`mm-eval protocols` lists them)"
    add_option(parser, "protocol", "NAME", what, rule=TEXT)
    docs = f"documents of each task (default: as many as the difference needs, from {FEWEST} to {MOST})"
    add_trial_options(parser, docs, "a folder for each trial goes below it (default: RUN/why-PROTOCOL)")


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.verbs.study.ablation import plan_trials, run_plan
    from mm_eval.verbs.study.trials import folders_of, show_study
    from mm_eval.verbs.study.why import Settings, gaps_of

    output = Path(args.output_path) if args.output_path else None
    tasks = read_names(args.tasks) if args.tasks else None
    plan = plan_trials(Path(args.run), args.protocol, tasks, args.docs, output, args.include_path, args.trust_run)
    if not plan.trials or plan.protocol is None:
        if args.format == "json":
            say_lines(json.dumps({"models": [], "notes": plan.notes}, indent=2))
            return 0
        if plan.notes:
            say_lines("\n".join(f"note: {note}" for note in plan.notes))
        what = "no setting that can be tried differs" if plan.notes else "no setting differs"
        say(f"{what} from the protocol {args.protocol or plan.run.request['protocol']}: nothing was requested")
        return 0
    reports = run_plan(plan, ProgressBar())
    if len(folders := folders_of(reports)) > 1:
        found = Settings.read(plan.run.model, folders, args.include_path)
        found.differing, found.gaps, found.reported = plan.differing, gaps_of(plan.rows), plan.reported
        show_study([found], plan.output, "why", args.format, plan.notes)
    return max(report.exit_code for report in reports.values())
