"""Writes docs/reference/cli.md from the command's own --help. Run it after an option has changed; a test compares."""

from __future__ import annotations

import io
import os
from contextlib import redirect_stdout, suppress
from pathlib import Path

from mm_eval.cli import VERBS, main

PAGE = Path(__file__).parent.parent / "reference" / "cli.md"
HEAD = """# Command line

This page is written by `python docs/make/cli.py` from `mm-eval VERB --help`. In option names `-` and `_` are the same.

"""


def page() -> str:
    """The whole page."""
    return HEAD + "\n".join(f"## {title}\n\n```text\n{help_of(words)}```\n" for title, words in sections())


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


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
