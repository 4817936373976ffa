"""Says whether two sides are one model: another endpoint, build, engine or chat template against weights that you have.

A and B are each a model with its arguments, NAME[,key=value...], or a run folder. A model is asked a bundled probe set of 200
documents twice, and what changes between the two is its noise. Levels of evidence (tokens, log-probabilities, texts, endings,
accuracy, steadiness) each have a verdict, bounds and the number of documents that a verdict takes. Exit codes: 0 for no
difference above what is allowed, 1 for a difference, 3 for not decided. The same command resumes where it stopped, and asks
nothing twice."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mm_eval.cli.folders import add_format_option
from mm_eval.cli.options import add_option, add_options, read_request
from mm_eval.config.arguments import COUNT_FROM_1, PATH, Rule, number
from mm_eval.values.errors import ConfigError

if TYPE_CHECKING:
    from mm_eval.verbs.same.evidence import Rules

READS_FOLDERS = WRITES_RESULTS = True
SETS = ("tasks", "cost")
_PERCENT = Rule(
    "a number of percent above 0 and below 100", lambda v: isinstance(v, (int, float)) and 0 < v < 100, number
)
_SHARE = Rule("a share above 0 and below 1", lambda v: isinstance(v, (int, float)) and 0 < v < 1, number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "what is known: a model with its arguments, such as hf,pretrained=..., or a run folder"
    parser.add_argument("first", metavar="A", help=what)
    what = "what is in question: openai,base_url=http://...,model=NAME, or a run folder; model:WORD is never a folder"
    parser.add_argument("second", metavar="B", help=what)
    parser.add_argument("--tasks", metavar="A,B", help="ask these tasks, too")
    parser.add_argument("--no_probe", action="store_true", help="ask the tasks alone, without the probe set")
    what = "the share of documents that may differ (default 5)"
    add_option(parser, "difference", "PERCENT", what, rule=_PERCENT)
    what = "only these levels decide: tokens,logprobs,texts,endings,accuracy,steadiness (default: all)"
    parser.add_argument("--levels", metavar="A,B", help=what)
    what = (
        "how much of a token's probability may move between two builds (default by type: 0.001 float32, 0.01 float16, "
        "0.05 bfloat16 and where the type is not known)"
    )
    add_option(parser, "tolerance", "SHARE", what, rule=_SHARE)
    add_option(
        parser, "docs", "N", "documents of a recorded run that a model is asked (default 200)", rule=COUNT_FROM_1
    )
    what = "the folder of both sides' run folders, same.json and same.html (default: a name made of both, in ./runs)"
    add_option(parser, "output_path", "DIR", what, rule=PATH)
    add_option(parser, "device", "DEVICE", "the device of models that are loaded here")
    add_option(
        parser, "batch_size", "N", "rows per batch of models that are loaded here, or auto (default)", default="auto"
    )
    add_format_option(parser)
    add_options(parser, *SETS)


def main(args: argparse.Namespace) -> int:
    from mm_eval.cli.progress import ProgressBar
    from mm_eval.cli.say import complain_briefly, say, say_lines, say_report
    from mm_eval.engine.folder import RunFolder
    from mm_eval.results.recorded import RecordedRun
    from mm_eval.results.table import terminal_width
    from mm_eval.scoring.run_results import INTERRUPTED
    from mm_eval.verbs.same.evidence import OTHER, SAME, Evidence
    from mm_eval.verbs.same.replies import Side
    from mm_eval.verbs.same.sides import LABELS, ask, plan_same
    from mm_eval.verbs.same.text import as_json, render, write_page

    rules = _rules(args)
    request = read_request(args, *SETS, device=args.device, batch_size=args.batch_size)
    plan = plan_same((args.first, args.second), request, args.output_path, not args.no_probe, args.docs)
    reports = ask(plan, ProgressBar())
    if any(report.exit_code == INTERRUPTED for report in reports.values()):
        return INTERRUPTED
    silent = [label for label, report in reports.items() if report.results is None]
    if not silent:
        sides = [
            Side.read(name, RecordedRun.read(plan.folder(place), include_path=args.include_path))
            for place, name in enumerate(plan.names)
        ]
        silent = [label for label in reports if not sides[LABELS.index(label)].has_replies]
    if silent:
        names = " and ".join(plan.names[LABELS.index(label)] for label in silent)
        complain_briefly(f"NOT DECIDED: nothing was answered by {names}. The same command asks again what failed.")
        return 3
    found, notes = Evidence(sides[0], sides[1], rules), [f"note: {said}" for said in plan.notes]
    text = as_json(found, notes)
    RunFolder(plan.output).write("same.json", text)
    page = write_page(plan.output / "same.html", found, notes)
    if args.format == "json":
        say_lines(text)
    else:
        say_report(render(found, notes, terminal_width()) + "\n")
        say(f"page with the documents: {page}")
    return {SAME: 0, OTHER: 1}.get(found.verdict, 3)


def _rules(args: argparse.Namespace) -> Rules:
    """What is allowed. ConfigError for a level that there is not."""
    from mm_eval.values.errors import did_you_mean
    from mm_eval.verbs.same.evidence import LEVELS, Rules

    rules = Rules(tolerance=args.tolerance)
    names = (
        [name.strip() for name in args.levels.split(",") if name.strip()] if args.levels is not None else list(LEVELS)
    )
    for name in names or [""]:
        if name not in LEVELS:
            hint = did_you_mean(name, LEVELS) if name else f"They are {', '.join(LEVELS)}."
            raise ConfigError(f"there is no level {name!r}.", where="--levels", hint=hint)
    share = rules.difference if args.difference is None else args.difference / 100
    return Rules(share, tuple(names), args.tolerance)
