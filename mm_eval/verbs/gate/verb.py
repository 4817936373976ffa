"""Holds a run against a policy: GO if no benchmark loses more than the policy allows, NO-GO if one does, else UNDECIDED.

POLICY.yaml states what each benchmark may lose against the reference: `mme: {loss: 20}`, `default: {loss: 0.5}`. Losses are
paired by document, clustered by picture and corrected for the number of clauses. Nothing is asked: runs of other suites count
after `mm-eval import`. Exit codes: 0 for GO, 1 for NO-GO, 3 for UNDECIDED."""

from __future__ import annotations

import argparse

from mm_eval.cli.folders import add_code_option
from mm_eval.cli.options import add_options
from mm_eval.cli.say import say_lines, say_report
from mm_eval.values.errors import ConfigError

READS_FOLDERS = True
FORMATS = ("text", "json", "markdown", "junit")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("policy", metavar="POLICY.yaml", help="what each benchmark may lose")
    parser.add_argument("run", metavar="RUN", help="the run folder of the model that would be released")
    parser.add_argument("--against", metavar="RUN", help="the run folder of the reference, such as the last release")
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="text (default), json, markdown for a summary, junit for CI"
    )
    add_options(parser, "compare")
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.deciding.policy import GO, NO_GO, read_policy
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.results.table import terminal_width
    from mm_eval.verbs.gate.gate import gate
    from mm_eval.verbs.gate.text import as_json, as_junit, as_markdown, render

    if not args.against:
        hint = "mm-eval gate POLICY.yaml RUN --against LAST_RELEASE"
        raise ConfigError("the reference is missing.", where="--against", hint=hint)
    policy = read_policy(args.policy)
    run, reference = (RecordedRun.read(folder, include_path=args.include_path) for folder in (args.run, args.against))
    found = gate(policy, run, reference, args.mix_judges)
    if args.format == "text":
        say_report(render(found, terminal_width()))
    else:
        say_lines({"json": as_json, "markdown": as_markdown, "junit": as_junit}[args.format](found))
    return {GO: 0, NO_GO: 1}.get(found.verdict, 3)
