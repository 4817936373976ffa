"""The command line: one file a verb. `mm-eval --tasks mme` is short for `mm-eval run --tasks mme`.

A verb stands here or in the folder of its feature. Its file is imported when it is the verb, so that `--help` stays quick. It may
state that it READS_FOLDERS of runs, which may hold anything (`--verbosity DEBUG` shows what could not be read), and that it
WRITES_RESULTS into a folder, so that losing the terminal loses nothing.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import importlib
import logging
import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile, zip_longest
from types import ModuleType

from mm_eval.aliases import OTHERWISE
from mm_eval.cli import say as output
from mm_eval.cli.say import (
    LogHandler,
    OutputError,
    SafeFormatter,
    complain,
    complain_briefly,
    complain_of_fault,
    discard_output,
    finish_line,
    guard_streams,
    output_was_lost,
    say,
    say_lines,
    usable_streams,
    wrapped,
)
from mm_eval.engine.threads import chosen_by_command
from mm_eval.package import __version__
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError, did_you_mean, kind_and_text
from mm_eval.values.run_files import UNREADABLE, odd_content

log = logging.getLogger(__name__)

VERBS = {
    "run": ("mm_eval.cli.run", "evaluate a model on tasks (the default)"),
    "score": ("mm_eval.cli.score", "score a run again from its journal, without the model"),
    "prompts": (
        "mm_eval.verbs.study.prompts_verb",
        "find the prompt that suits a model: several prompt blocks, compared document by document",
    ),
    "watch": (
        "mm_eval.verbs.training.watch_verb",
        "evaluate each new checkpoint of a training, with paired differences",
    ),
    "report": ("mm_eval.verbs.report.report_verb", "write report.html of a run, or a release table of several"),
    "view": (
        "mm_eval.verbs.report.view_verb",
        "serve run folders on this machine: tables, samples, full-size pictures, live runs",
    ),
    "diagnose": (
        "mm_eval.verbs.diagnose.verb",
        "say what went wrong in a run, with counts, examples and the command that mends it",
    ),
    "show": ("mm_eval.verbs.show.verb", "print the prompt of a document as a model gets it, without loading weights"),
    "ls": (
        "mm_eval.verbs.ls.verb",
        "list and search tasks, groups, tags, models, metrics, filters, scorers, formats",
    ),
    "protocols": (
        "mm_eval.protocols.verb",
        "list and check named protocols of reports: settings with sources, and reported scores",
    ),
    "compare": (
        "mm_eval.verbs.study.compare_verb",
        "compare runs document by document: differences with intervals, and what flipped",
    ),
    "why": (
        "mm_eval.verbs.study.why_verb",
        "find the setting that explains the difference between a run and a report",
    ),
    "blind": (
        "mm_eval.verbs.study.blind_verb",
        "measure how much pictures and sounds matter: repeat a run without them, and with those of other documents",
    ),
    "effort": (
        "mm_eval.verbs.study.effort_verb",
        "measure how much effort a model needs: score against tokens at several efforts or thinking budgets",
    ),
    "gate": (
        "mm_eval.verbs.gate.verb",
        "check a run against a policy of allowed losses: GO, NO-GO or undecided, with an exit code for CI",
    ),
    "same": (
        "mm_eval.verbs.same.verb",
        "say whether two endpoints, builds or checkpoints are one model, with levels of evidence",
    ),
    "plan": (
        "mm_eval.deciding.plan_verb",
        "compute how many documents a difference needs, and what a release can detect",
    ),
    "export": (
        "mm_eval.verbs.report.export_verb",
        "write runs in the formats of other tools: inspect_ai, lm-eval, lmms-eval, the hub, Every Eval Ever",
    ),
    "import": (
        "mm_eval.verbs.exports.import_verb",
        "convert another suite's logs into a run and score them with mm-eval's rules",
    ),
    "check-published": (
        "mm_eval.verbs.published.verb",
        "check that a model card, the hub's file or a release table has the numbers of a run",
    ),
    "bundle": (
        "mm_eval.verbs.bundle.verb",
        "copy the data sets of tasks to a data root, for a machine without network",
    ),
    "fetch": (
        "mm_eval.verbs.fetch.verb",
        "download a data set that can't be loaded by name; check and convert it",
    ),
    "validate": (
        "mm_eval.verbs.validate.verb",
        "check task configs completely; the gold answers must score full marks",
    ),
    "doubt": (
        "mm_eval.verbs.doubt.verb",
        "list documents whose gold answer is probably wrong, by the answers of several models",
    ),
    "judge": (
        "mm_eval.judge.verb",
        "measure the judge of a run: known answers, both orders of a pair, people's labels",
    ),
    "sandbox": (
        "mm_eval.sandbox.verb",
        "make the sandboxed Python that models may use, and test its isolation from inside",
    ),
    "tools": ("mm_eval.tools.verb", "run the recorded code of a run again, and list the results that differ"),
}
"""The file of each command, and a line of help. The file is imported when it is the verb, so that `--help` stays quick."""

GROUPS = {
    "run": ("run", "score", "prompts", "watch"),
    "look": ("report", "view", "diagnose", "show", "ls", "protocols"),
    "compare": ("compare", "gate", "same", "why", "blind", "effort", "plan"),
    "share": ("export", "check-published", "import", "bundle", "fetch"),
    "check": ("validate", "doubt", "judge", "sandbox", "tools"),
}
"""The verbs as the help groups them."""

GARBAGE_AFTER = 50_000
"""Objects made before Python searches for cycles. A run makes millions that are in no cycle: at Python's default of 700 it
spends a fifth of its time on the search."""

EXIT_OK, EXIT_USAGE, EXIT_PARTIAL, EXIT_FAULT, EXIT_INTERRUPTED = 0, 2, 3, 70, 130
"""1 is for verbs that print a verdict: the answer is no."""

WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
"""Variables by which a user chooses how OpenMP's threads wait for each other."""


class HelpFormatter(argparse.HelpFormatter):
    """Help whose description keeps its paragraphs, and its lines that are set in."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = textwrap.dedent(text).strip().split("\n\n")
        return "\n\n".join(
            each if "\n " in f"\n{each}" else textwrap.fill(each, width, break_on_hyphens=False) for each in paragraphs
        )


class Parser(argparse.ArgumentParser):
    """An argument parser that raises ConfigError, so that every mistake is printed in one form.

    common: options that stand first in the help, which then only names the others. every: the help describes all of them.
    words: what is read.
    """

    common: Sequence[str] = ()
    every = False
    words: Sequence[str] = ()

    def format_help(self) -> str:
        """The help of argparse, or for a verb with many options the common ones, and the names of the others by group."""
        if not self.common:
            return super().format_help()
        known = {action.dest: action for action in self._actions if action.help != argparse.SUPPRESS}
        formatter = self._get_formatter()
        formatter.add_usage("%(prog)s --tasks A,B [OPTIONS]", [], [], "usage: ")
        formatter.add_text(self.description)
        _section(formatter, "common options", [known[name] for name in self.common])
        rest = [
            ("other" if group is self._optionals else str(group.title), actions)
            for group in self._action_groups
            if (actions := [a for a in group._group_actions if a.dest in known.keys() - {*self.common, "help"}])
        ]
        for title, actions in rest if self.every else ():
            _section(formatter, title, actions)
        text = formatter.format_help()
        return (
            text
            if self.every
            else f"{text}\nmore options, described by {self.prog} --help all:\n{_names_by_group(rest)}\n"
        )

    @property
    def known(self) -> list[str]:
        return [option for action in self._actions for option in action.option_strings]

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The arguments of a command. Unknown options are checked first: argparse would report a missing one instead."""
        self.words = words
        for word in words:
            if word.startswith("--") and (name := word.split("=")[0]) not in self.known:
                raise ConfigError(f"unknown option {name!r}.", hint=did_you_mean(name, self.known))
        return self.parse_intermixed_args(words)  # `ls tasks --include_path DIR WORD`: words may follow options

    def error(self, message: str) -> None:  # type: ignore[override]
        extra = message.startswith("unrecognized arguments: ")
        hint = "Separate names with commas." if extra else f"See {self.prog} --help."
        names = list(takewhile(lambda word: not word.startswith("-"), self.words))
        if extra and names and self.prog == "mm-eval run" and not {"--tasks", "--config"} & set(self.words):
            meant = ["mm-eval", "run", "--tasks", ",".join(names), *self.words[len(names) :]]
            hint = f"Tasks are named by an option: {shlex.join(meant)}"
        raise ConfigError(f"{message}.", hint=hint)


def _section(formatter: argparse.HelpFormatter, title: str, actions: Sequence[argparse.Action]) -> None:
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()


def _names_by_group(groups: Sequence[tuple[str, Sequence[argparse.Action]]]) -> str:
    """The names of options by group, a paragraph each."""
    width = max(len(title) for title, _ in groups) + 4
    return "\n".join(
        textwrap.fill(
            " ".join(action.option_strings[-1] for action in actions),
            shutil.get_terminal_size().columns - 2,
            initial_indent=f"  {title:<{width - 2}}",
            subsequent_indent=" " * width,
            break_on_hyphens=False,
        )
        for title, actions in groups
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code.

    0: done. 1: a verdict that says no. 2: the command, a file or a folder is wrong. 3: some requests failed, or a disk filled
    during a run. 70: a fault of mm-eval itself. 130: interrupted.
    """
    gc.set_threshold(GARBAGE_AFTER)
    atexit.register(gc.freeze)  # the search for cycles at exit takes 0.2 s and frees nothing that exit does not free
    if argv is None:
        guard_streams()
    words = [_with_underscores(word) for word in (sys.argv[1:] if argv is None else argv)]
    with usable_streams(), chosen_by_command():
        return _exit_code(words)


def _exit_code(words: list[str]) -> int:
    """Runs a command; an error is printed on the error stream."""
    try:
        code = _dispatch(words)
        sys.stdout.flush()
        return max(code, EXIT_PARTIAL) if output_was_lost() and code != EXIT_USAGE else code
    except MMEvalError as error:
        stopped = isinstance(error, StoreError) and output.writes_results  # a full disk stops a run that has answers
        if isinstance(error, StoreError) and not stopped and error.hint == StoreError.SAFE_ANSWERS:
            error.hint = "Make room for it, or write it elsewhere."  # of a page or a table: it holds no answers
        complain(error)
        return EXIT_PARTIAL if stopped else EXIT_USAGE
    except KeyboardInterrupt:
        complain_briefly("interrupted; finished answers are kept.")
        return EXIT_INTERRUPTED
    except OutputError as error:
        discard_output()
        if error.reader_is_gone:  # `mm-eval ls | head`
            return EXIT_OK
        complain_briefly(error)
        return EXIT_USAGE  # verbs that write results into a folder continue without their output
    except Exception as error:
        complain_of_fault(error)
        return EXIT_FAULT
    finally:
        finish_line()


def _wait_without_spinning() -> None:
    """Lets torch's threads sleep while they wait for each other, unless the user has chosen otherwise. Before torch is imported.

    By default they spin. On a machine with other work the awaited thread is then not scheduled: three times the CPU seconds.
    """
    if not any(name in os.environ for name in WAITING):
        os.environ["OMP_WAIT_POLICY"] = "passive"


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        say(f"mm-eval {__version__}")
        return EXIT_OK
    if words[:1] == ["help"]:  # mm-eval help, help all, help VERB
        words = ["--help", *words[1:]] if words[1:] in ([], ["all"]) else [words[1], "--help", *words[2:]]
    if words in (["--help", "all"], ["-h", "all"]):
        words = ["run", *words]
    if not words or words[0] in ("-h", "--help"):
        say_lines(_overview())
        return EXIT_OK if words else EXIT_USAGE
    if not words[0].startswith("-") and words[0] not in VERBS:
        raise ConfigError(f"unknown command {words[0]!r}.", hint=_meant(words))
    verb, rest = (words[0], words[1:]) if words[0] in VERBS else ("run", words)
    _wait_without_spinning()
    module = importlib.import_module(VERBS[verb][0])
    output.writes_results = getattr(module, "WRITES_RESULTS", False)
    args, rest = _arguments(verb, module, rest)
    handler = LogHandler(sys.stderr)
    handler.setFormatter(SafeFormatter("mm-eval: %(message)s"))
    logging.basicConfig(level=args.verbosity, handlers=[handler])
    code: int
    try:
        code = module.main(args)
    except ConfigError as error:
        if path := getattr(error, "path", ""):  # code that this command must name
            command = f"{shlex.join(['mm-eval', verb, *rest])} --include_path {shlex.quote(path)}"
            raise ConfigError(error.what, where=error.where, hint=f"If you trust it: {command}") from error
        raise
    except SystemExit as error:  # its code may be 0 or 1, which say that all is done, or a verdict
        from mm_eval.engine.own_code import line_in

        raise ConfigError(f"this code ended the program ({kind_and_text(error)}).", where=line_in(error)) from error
    except UNREADABLE as error:
        if not getattr(module, "READS_FOLDERS", False):
            raise
        log.debug("A run folder can't be read.", exc_info=True)
        raise odd_content(error, _named(args)) from error
    return code


def _arguments(verb: str, module: ModuleType, words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The arguments that the words of a verb state, and these words as ours, where they are those of another program."""
    from mm_eval.cli.options import add_option  # `--help` needs no option's rule, and they take a third of its time
    from mm_eval.request import VERBOSITY

    parser = Parser(
        prog=f"mm-eval {verb}", description=module.__doc__, allow_abbrev=False, formatter_class=HelpFormatter
    )
    what = "DEBUG, INFO, WARNING (default) or ERROR"
    add_option(parser, "verbosity", "LEVEL", what, VERBOSITY, default="WARNING")
    module.add_arguments(parser)
    parser.common, parser.every = getattr(module, "COMMON", ()), words[-1:] == ["all"]
    for action in parser._actions:
        if action.dest in getattr(module, "NOT_SHOWN", ()):
            action.help = argparse.SUPPRESS
    if verb == "run" and not _means_otherwise(words):
        with suppress(ConfigError):  # words of another program, or a mistake: see below
            return parser.read(words), words
    from mm_eval.aliases.command import words_of

    words, notes = words_of(verb, words, parser.known)
    for note in notes:
        complain_briefly(f"note: {note}")
    return parser.read(words), words


def _means_otherwise(words: Sequence[str]) -> bool:
    """Whether an option has a value that we would take, and that means something else to the users of another program."""
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        name, equals, value = word.partition("=")
        if name in OTHERWISE and re.search(OTHERWISE[name], value if equals else following):
            return True
    return False


def _meant(words: Sequence[str]) -> str:
    """What a word that is not a command may mean: a command of nearly that name, or tasks."""
    from mm_eval.aliases.command import verb_of
    from mm_eval.config.manager import TaskManager

    if meant := verb_of(words[0], words):
        return meant
    near = did_you_mean(words[0], VERBS)
    names = words[0].partition("@")[0].split(",")
    known = set(TaskManager().entries)
    return (
        f"Tasks are named by an option: {shlex.join(['mm-eval', '--tasks', *words])}"
        if known.issuperset(names)
        else near
    )


def _named(args: argparse.Namespace) -> str:
    """The run folders that a command names."""
    runs = getattr(args, "runs", None) or [getattr(args, "run", "")]
    return ", ".join(runs[:3])


def _with_underscores(word: str) -> str:
    """--output-path=DIR as --output_path=DIR: both spellings are allowed."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return "--" + name[2:].replace("-", "_") + equals + value


def _overview() -> str:
    width = max(map(len, VERBS)) + 1
    verbs = "\n\n".join(
        "\n".join(
            [f"{title}:", *(wrapped(f"  {verb:<{width}}{VERBS[verb][1]}", " " * (width + 2)) for verb in of_group)]
        )
        for title, of_group in GROUPS.items()
    )
    return (
        "usage: mm-eval [VERB] [OPTIONS]\n\n"
        "Evaluates vision-language and text models: scores with error bars, and no\n"
        "answer is ever lost.\n\n"
        "  mm-eval --tasks mme,seedbench\n"
        "      the bundled tiny model on the bundled sample data; needs no network\n"
        "  mm-eval --tasks mme,seedbench --model llava \\\n"
        "          --model_args pretrained=llava-hf/llava-1.5-7b-hf\n"
        "      a model of your own on the real data\n\n"
        f"{verbs}\n\n"
        "mm-eval VERB --help lists the options of a verb.\n"
        "mm-eval --help all describes all options of run.\n\n"
        "exit codes:\n"
        "  0    done: answered and scored, or the verdict is yes\n"
        "  1    the printed verdict is no\n"
        "  2    the command, a config, a file or a folder is wrong\n"
        "  3    some requests failed and results are partial, no verdict could be\n"
        "       reached, or the disk filled during a run\n"
        "  70   a fault of mm-eval itself\n"
        "  130  interrupted; finished answers are kept"
    )
