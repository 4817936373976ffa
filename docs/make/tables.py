"""Puts tables and generated text into a page when the documentation is built, so that no page holds a copy of data.

A line that is only a link to a CSV file becomes the table of that file. On GitHub the link leads to the same table.
A line `<!-- made by models.py -->` becomes what `made()` of docs/make/models.py returns.

    python docs/make/tables.py docs/reference/models.md    prints the page as it is built
"""

from __future__ import annotations

import csv
import re
import runpy
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

MAKE = Path(__file__).parent
_LINK = re.compile(r"^\[[^\]\n]+\]\((?P<file>[^)\s]+\.csv)\)$", re.MULTILINE)
_MADE = re.compile(r"^<!-- made by (?P<script>\w+\.py) -->$", re.MULTILINE)


def filled(text: str, folder: Path) -> str:
    """The text of a page with its tables. folder: that of the page, from which its links count."""
    text = _LINK.sub(lambda found: csv_table(folder / found["file"]), text)
    return _MADE.sub(lambda found: str(runpy.run_path(str(MAKE / found["script"]))["made"]()).rstrip(), text)


def csv_table(path: Path) -> str:
    """The table of a CSV file, whose cells are Markdown and whose first row has the headings."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    for number, row in enumerate(rows, 2):
        if len(row) != len(header):
            raise ValueError(f"{path}, row {number}: {len(row)} cells below {len(header)} headings")
    return table(header, rows)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, without a line break at its end."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    page = Path(sys.argv[1])
    print(filled(page.read_text(encoding="utf-8"), page.parent))
