"""The text of docs/reference/cli.md: what --help prints when the documentation is built."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout, suppress

from mm_eval.cli import VERBS, main


def made() -> str:
    """A section for the command and for each verb."""
    return "\n".join(f"## {title}\n\n```text\n{help_of(words)}```\n" for title, words in sections())


def sections() -> list[tuple[str, list[str]]]:
    """(title, words of the command) of each section."""
    return [("mm-eval", []), *((f"mm-eval {verb}", [verb]) for verb in VERBS)]


def help_of(words: list[str]) -> str:
    """What `--help` prints at a width of 110 columns."""
    before, printed = os.environ.get("COLUMNS"), io.StringIO()
    os.environ["COLUMNS"] = "110"
    try:
        with redirect_stdout(printed), suppress(SystemExit):  # argparse ends so after its help
            main([*words, "--help", *(["all"] if words else [])])
    finally:
        del os.environ["COLUMNS"]
        if before is not None:
            os.environ["COLUMNS"] = before
    return printed.getvalue()
