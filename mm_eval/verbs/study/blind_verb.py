"""Shows how much pictures and sounds matter: asks a run's questions again without them, and with those of other documents.

The gain of seeing or hearing is paired by document, with an interval. A benchmark that can be answered without has none. The
frames of videos are pictures. The same command resumes where it stopped. A single blind run is `mm-eval run ... --blind`."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.options import read_names
from mm_eval.verbs.study.trial_options import add_trial_options

READS_FOLDERS = WRITES_RESULTS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the folder of a run that saw its pictures or heard its sounds")
    docs = "about so many documents of each task (default: all of the run)"
    add_trial_options(parser, docs, "the folders of the blind runs go below it (default: RUN/blind)")


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.verbs.study.ablation import plan_blind, run_plan
    from mm_eval.verbs.study.blind import SENSES, Blindness
    from mm_eval.verbs.study.trials import folders_of, show_study

    output = Path(args.output_path) if args.output_path else None
    tasks = read_names(args.tasks) if args.tasks else None
    plan = plan_blind(Path(args.run), tasks, args.docs, output, args.include_path, args.trust_run)
    reports = run_plan(plan, ProgressBar())
    if folders := folders_of(reports):
        found = Blindness.read(plan.run.model, {SENSES[plan.media]: plan.run.folder, **folders}, args.include_path)
        show_study([found], plan.output, "blind", args.format, plan.notes)
    return max(report.exit_code for report in reports.values())
