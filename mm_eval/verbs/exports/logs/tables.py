"""Reads tables as streams: xlsx, tsv, csv, or the records of a JSON file. The first line of a table names the columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from mm_eval.verbs.exports.logs.files import damaged, entries, opened
from mm_eval.verbs.exports.logs.xlsx import rows_of

MOST_CELL = 16 * 2**20
"""Characters of one cell of a table."""


def table(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """(line, {column: value}) of xlsx, tsv or csv, whose first line names the columns, or of the records of a JSON file.

    An empty cell is no value: None, or not in the mapping at all.
    """
    suffix = path.suffix.lower()
    if suffix == ".xlsx":
        yield from rows_of(path)
    elif suffix in (".json", ".jsonl"):
        for number, (line, value) in enumerate(entries(path), 1):
            if not isinstance(value, dict):
                raise damaged(path if line else f"{path} entry {number}", "an entry is not a record", line or None)
            yield line, value
    else:
        yield from _separated(path, "\t" if suffix == ".tsv" else ",")


def _separated(path: Path, mark: str) -> Iterator[tuple[int, dict[str, object]]]:
    csv.field_size_limit(MOST_CELL)
    opened(path).close()
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=mark, strict=True)
        try:
            names = next(reader, [])
            if twice := next((name for name in names if name and names.count(name) > 1), None):
                raise damaged(path, f"two columns are named {twice!r}", reader.line_num)
            for cells in reader:
                if not any(cells):
                    continue
                if len(cells) != len(names):
                    what = f"the row has {len(cells)} cells where the first line names {len(names)} columns"
                    raise damaged(path, what, reader.line_num)
                yield reader.line_num, {name: cell or None for name, cell in zip(names, cells, strict=True)}
        except (csv.Error, UnicodeDecodeError) as error:
            what = "the file ends in the middle of a cell" if "unexpected end of data" in str(error) else str(error)
            raise damaged(path, what, reader.line_num) from error
