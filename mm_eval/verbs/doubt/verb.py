"""Lists documents whose gold answer is probably wrong: strong models of several families agree on another answer.

Give the runs of five or more models on the same tasks. Each document gets the probability that its gold is wrong, by a model of
the answers that allows for mistakes which models share. `--html FILE` writes a page to look at each; the decisions are saved from
it as a file, which `mm-eval score RUN --gold_fixes FILE` applies. Nothing is requested."""

from __future__ import annotations

import argparse
from pathlib import Path

from mm_eval.cli.folders import add_code_option, add_format_option, run_folders
from mm_eval.cli.options import add_option, read_names
from mm_eval.cli.say import say_lines, say_report
from mm_eval.config.arguments import COUNT_FROM_1, PATH, Rule, is_number, number
from mm_eval.values.errors import ConfigError, did_you_mean

READS_FOLDERS = True
PRIOR = Rule("a number above 0 and below 0.5", lambda value: is_number(value) and 0 < value < 0.5, number)
SHARE = Rule("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1, number)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folders of several models, or a release's")
    parser.add_argument("--tasks", metavar="A,B", help="only these tasks (default: all that two of the runs share)")
    what = "the share of golds that are wrong before the answers are looked at (default 0.03)"
    add_option(parser, "prior", "SHARE", what, default=0.03, rule=PRIOR)
    parser.add_argument(
        "--family",
        metavar="RUN,RUN",
        action="append",
        default=[],
        help="runs of one family, beside those whose names begin alike; may be given several times",
    )
    what = "list documents whose gold is wrong with at least this probability (default 0.2)"
    add_option(parser, "at_least", "P", what, default=0.2, rule=SHARE)
    add_option(parser, "most", "N", "list at most so many (default 50)", default=50, rule=COUNT_FROM_1)
    add_option(parser, "html", "FILE", "write a page to look at each, from which decisions are saved", rule=PATH)
    add_format_option(parser)
    add_code_option(parser)


def main(args: argparse.Namespace) -> int:
    from mm_eval.results.recorded import RecordedRun, told_apart
    from mm_eval.results.table import terminal_width
    from mm_eval.verbs.doubt.doubt import doubt
    from mm_eval.verbs.doubt.page import write_page
    from mm_eval.verbs.doubt.text import as_json, render

    folders = run_folders(args.runs)
    if twice := next((each for each in folders if folders.count(each) > 1), None):
        raise ConfigError(f"the run {twice} is named twice.", hint="A run agrees with itself: name it once.")
    runs = told_apart([RecordedRun.read(folder, include_path=args.include_path) for folder in folders])
    only = read_names(args.tasks) if args.tasks else None
    known = dict.fromkeys(name for run in runs for name in run.spec["tasks"])
    for name in only or ():
        if name not in known:
            raise ConfigError(f"no run has a task {name!r}.", where="--tasks", hint=did_you_mean(name, known))
    together = [[_place(name, folders) for name in read_names(words)] for words in args.family]
    found = doubt(runs, args.prior, only, args.at_least, args.most, together)
    page = Path(args.html) if args.html else None
    if page:
        write_page(page, found)
    if args.format == "json":
        say_lines(as_json(found))
    else:
        say_report(render(found, terminal_width(), page))
    return 0


def _place(name: str, folders: list[str]) -> int:
    """The place of a run by its folder, or by the last part of it."""
    named = [
        place for place, folder in enumerate(folders) if name.rstrip("/") in (folder.rstrip("/"), Path(folder).name)
    ]
    if len(named) != 1:
        what = f"{name!r} is {'none' if not named else 'more than one'} of the runs."
        raise ConfigError(what, where="--family", hint=did_you_mean(name, folders))
    return named[0]
