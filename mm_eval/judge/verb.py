"""Measures how good the judge of a run is: answers of known worth, both orders of a pair, agreement of two judges, noise, length,
and people's labels.

The judge's replies are recorded in the run folder, and the same command asks nothing twice. With --docs 0 nothing is asked."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.folders import add_code_option, add_format_option, add_trust_option
from mm_eval.cli.options import add_option, read_names, read_pairs
from mm_eval.cli.say import say_lines, say_report
from mm_eval.config.arguments import PATH, WHOLE_FROM_0
from mm_eval.values.errors import ConfigError

READS_FOLDERS = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="the run folder")
    parser.add_argument("--tasks", metavar="A,B", help="only these tasks (default: all that a judge scored)")
    add_option(
        parser,
        "docs",
        "N",
        "documents of each task about which the judge is asked (default 20; 0: none)",
        default=20,
        rule=WHOLE_FROM_0,
    )
    add_option(parser, "judge", "NAME", "ask this judge instead of the run's own", action="append", default=[])
    what = "model=...,base_url=...; or JSON; name=NAME names the judge"
    parser.add_argument("--judge_args", metavar="K=V,...", action="append", default=[], help=what)
    add_option(
        parser,
        "judge_labels",
        "FILE",
        "people's verdicts: JSONL or CSV with task, doc_id, label (1 right, 0 wrong)",
        rule=PATH,
    )
    add_format_option(parser)
    add_code_option(parser)
    add_trust_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.config.installed import UntrustedCode
    from mm_eval.judge.labels import read_labels
    from mm_eval.judge.quality import Quality, ask_the_judge
    from mm_eval.judge.quality_text import as_json, render
    from mm_eval.judge.recorded_quality import judged_tasks, recorded_findings
    from mm_eval.request import JudgeRequest
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.trust import UntrustedRun

    run = RecordedRun.read(args.run, include_path=args.include_path)
    tasks = judged_tasks(run, read_names(args.tasks) if args.tasks else None)
    ids = {task.name: task.lengths.keys() | task.empty for task in tasks}
    labels = read_labels(args.judge_labels, ids) if args.judge_labels else {}
    quality, left_out = Quality(), list[str]()
    its_args = tuple(read_pairs(given, "--judge_args") for given in args.judge_args)
    judge = JudgeRequest(models=tuple(args.judge), args=its_args)
    if args.docs:
        try:
            names = [task.name for task in tasks]
            quality = ask_the_judge(
                Path(args.run), judge, args.docs, ProgressBar(), names, args.include_path, args.trust_run
            )
        except ConfigError as error:
            if args.judge or isinstance(error, (UntrustedCode, UntrustedRun)):
                raise
            left_out.append(f"the checks that ask the judge: {error}")
    else:
        left_out.append("the checks that ask the judge (--docs 0).")
    left_out += quality.left_out
    findings = {
        task.name: [*quality.findings.get(task.name, ()), *recorded_findings(task, labels.get(task.name))]
        for task in tasks
    }
    if args.format == "json":
        say_lines(as_json(tasks, findings, left_out))
    else:
        say_report(render(tasks, findings, left_out, quality.said))
    return quality.exit_code
