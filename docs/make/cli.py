"""Writes docs/reference/cli.md from the command's own --help. Run it after an option has changed; a test compares."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from mm_eval.cli import VERBS

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
    command = [sys.executable, "-m", "mm_eval", *words, "--help", *(["all"] if words else [])]
    environment = {**os.environ, "COLUMNS": "110"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
