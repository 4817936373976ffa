"""A table as a value, and the formats in which it is written: terminal, Markdown, LaTeX, CSV, HTML, and JSON for a page.

    table = Table([Column("task", "text"), Column("accuracy")], [Row({"task": "mme", "accuracy": "0.81"})])
    print(to_text(table))

Every text from data, task files or models is escaped here, once, for the format that it is written in.
"""

from __future__ import annotations

import csv
import io
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mm_eval.values.safe import csv_cell, html, in_line, latex, latex_comment, markdown
from mm_eval.values.types import Number

LONGEST = 80
"""Characters of a cell on the terminal; a longer one is cut in the middle."""


LEAST_NAME = 12
"""Characters to which a name is cut where a table is too wide for the terminal."""


@dataclass(frozen=True)
class Column:
    """A column. kind: text is set flush left, numbers flush right. cell: the name of its cells in the rows, else the title.

    spare: how soon it is left out of a table that is too wide for the terminal: the highest first, 0 never. A page shows
        such a column on demand.
    """

    title: str
    kind: Literal["text", "number"] = "number"
    cell: str | None = None
    spare: int = 0

    @property
    def key(self) -> str:
        return self.title if self.cell is None else self.cell


@dataclass(frozen=True)
class Value:
    """A number with what follows it: its interval, marks, a remark. bold: the best of its row.

    Both texts are mm-eval's own and are not escaped.
    """

    text: str
    after: str = ""
    bold: bool = False


@dataclass(frozen=True)
class DocCount:
    """A count of docs; a page shows the docs on a click. found: (task, doc id). said: what they are. model: its place."""

    found: Sequence[tuple[str, int]]
    said: str
    model: int | None = None


@dataclass(frozen=True)
class Drawing:
    """The 95% interval of a difference on a line from -reach to reach. Only pages draw it."""

    difference: Number
    reach: float


Cell = str | int | float | Value | DocCount | Drawing | None
"""What stands at one place of a table; None for a number that does not exist, which is shown as a dash."""


@dataclass(frozen=True)
class Row:
    """Cells by name. part: a part of another number, which a page shows on demand. marked: a difference that is significant."""

    cells: Mapping[str, Cell]
    part: bool = False
    marked: bool = False


@dataclass(frozen=True)
class Table:
    """The columns choose from the rows' cells: one list of rows may have a layout for the terminal and one for pages."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    def grid(self, shown: Callable[[Cell], str]) -> list[list[str]]:
        """The rows as texts."""
        return [[shown(row.cells[column.key]) for column in self.columns] for row in self.rows]


@dataclass(frozen=True)
class TablePart:
    """A table with a title of its own on a page, and sentences on it. note: the same in one sentence, for a text."""

    title: str
    table: Table
    said: Sequence[str] = ()
    note: str = ""


def terminal_width() -> int:
    """Columns of the terminal: what COLUMNS says, else the terminal; 80 where the output is none."""
    return shutil.get_terminal_size((80, 24)).columns


def fitted(table: Table, width: int | None, longest: int | None = LONGEST) -> tuple[Table, list[str]]:
    """The table within a width, and the titles of the columns that were left out for it.

    A number is never cut: where nothing is left to leave out, the names in the first column are.
    """
    out: list[str] = []
    while width is not None and _width(table, longest) > width:
        spare = max((column.spare for column in table.columns), default=0)
        if not spare:
            return _with_short_names(table, width, longest), out
        out = [column.title for column in table.columns if column.spare == spare] + out
        table = replace(table, columns=[column for column in table.columns if column.spare != spare])
    return table, out


def left_out(titles: Sequence[str]) -> list[str]:
    """The line below a table that names the columns without room; none where all stand there."""
    return [f"not shown, the terminal is too narrow: {', '.join(titles)} (COLUMNS=200 shows them)"] if titles else []


def _width(table: Table, longest: int | None) -> int:
    return max(map(len, to_text(table, longest).split("\n")))


def _with_short_names(table: Table, width: int, longest: int | None) -> Table:
    """The table with the middle of long names left out, the longest first, down to 12 characters."""
    texts = {column.key: 0 for column in table.columns if column.kind == "text"}
    while (over := _width(table, longest) - width) > 0 and texts:
        texts = {key: max((len(_text(row.cells[key])) for row in table.rows), default=0) for key in texts}
        widest = max(texts, key=lambda key: texts[key])
        if texts[widest] <= LEAST_NAME:
            break
        most = max(LEAST_NAME, texts[widest] - over)
        rows = [replace(row, cells={**row.cells, widest: _short(_text(row.cells[widest]), most)}) for row in table.rows]
        table = replace(table, rows=rows)
    return table


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - most // 2 - 1]}…{name[len(name) - most // 2 :]}"


def to_text(table: Table, longest: int | None = LONGEST) -> str:
    """Aligned columns below a head and a rule. longest: characters of a cell, None for any number."""
    head = [in_line(column.title, longest) for column in table.columns]
    rows = table.grid(lambda cell: in_line(_text(cell, absent="-"), longest))
    widths = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if column.kind == "text" else cell.rjust(width)
            for cell, width, column in zip(cells, widths, table.columns, strict=True)
        ]
        return "  ".join(padded).rstrip()

    return "\n".join([line(head), "-" * (sum(widths) + 2 * len(widths) - 2), *map(line, rows)])


def to_broken_text(table: Table, width: int) -> str:
    """Aligned columns within a width: the cells of text columns are broken into lines, the widest first. No number is."""
    texts = [place for place, column in enumerate(table.columns) if column.kind == "text"]
    cells = [[in_line(column.title) for column in table.columns], *table.grid(lambda cell: in_line(_text(cell, "-")))]
    widths = [max(map(len, of_column)) for of_column in zip(*cells, strict=True)]
    while (over := sum(widths) + 2 * len(widths) - 2 - width) > 0 and texts:
        widest = max(texts, key=lambda place: widths[place])
        if widths[widest] <= LEAST_NAME:
            break
        next_one = max((widths[place] for place in texts if widths[place] < widths[widest]), default=LEAST_NAME)
        widths[widest] = max(LEAST_NAME, widths[widest] - over, min(next_one, widths[widest] - 1))

    def lines(row: Sequence[str]) -> Iterable[str]:
        parts = [
            textwrap.wrap(cell, wide, break_on_hyphens=False) or [""] if place in texts else [cell]
            for place, (cell, wide) in enumerate(zip(row, widths, strict=True))
        ]
        for at in range(max(map(len, parts))):
            found = [part[at] if at < len(part) else "" for part in parts]
            yield "  ".join(
                cell.ljust(wide) if place in texts else cell.rjust(wide)
                for place, (cell, wide) in enumerate(zip(found, widths, strict=True))
            ).rstrip()

    head, *rows = cells
    rule = "-" * (sum(widths) + 2 * len(widths) - 2)
    return "\n".join([*lines(head), rule, *(line for row in rows for line in lines(row))])


def to_markdown(table: Table) -> str:
    """A table of GitHub's Markdown with the notes below it."""

    def shown(cell: Cell) -> str:
        if isinstance(cell, Value):
            return (f"**{cell.text}**" if cell.bold else cell.text) + cell.after
        return markdown(_text(cell))

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    head = line(markdown(column.title) for column in table.columns)
    rule = line("---" if column.kind == "text" else "---:" for column in table.columns)
    notes = [f"\n{markdown(note)}" for note in table.notes]
    return "\n".join([head, rule, *map(line, table.grid(shown)), *notes])


def to_latex(table: Table) -> str:
    """A booktabs tabular with the notes as comments below it."""

    def shown(cell: Cell) -> str:
        if not isinstance(cell, Value):
            return latex(_text(cell))
        after = cell.after.replace(" ± ", r" {\small $\pm$ ") + ("}" if " ± " in cell.after else "")
        return (f"\\textbf{{{cell.text}}}" if cell.bold else cell.text) + after

    def line(cells: Iterable[str]) -> str:
        return " & ".join(cells) + r" \\"

    kinds = "".join("l" if column.kind == "text" else "r" for column in table.columns)
    head = line(latex(column.title) for column in table.columns)
    body = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", head, r"\midrule", *map(line, table.grid(shown))]
    return "\n".join([*body, r"\bottomrule", r"\end{tabular}", *map(latex_comment, table.notes)])


def to_csv(table: Table) -> str:
    """Comma-separated values; no text can start a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.title for column in table.columns])
    for row in table.rows:
        cells = [row.cells[column.key] for column in table.columns]
        writer.writerow(
            [cell if isinstance(cell, (int, float)) else csv_cell(_text(cell, absent="")) for cell in cells]
        )
    return out.getvalue().rstrip("\n")


def to_html(table: Table) -> str:
    """A table element with the notes as paragraphs below it."""

    def shown(cell: Cell) -> str:
        text = html(_text(cell))
        return f"<td><b>{text}</b></td>" if isinstance(cell, Value) and cell.bold else f"<td>{text}</td>"

    head = "".join(f"<th>{html(column.title)}</th>" for column in table.columns)
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in table.grid(shown))
    notes = "".join(f"<p>{html(note)}</p>" for note in table.notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def to_page(table: Table) -> dict[str, object]:
    """JSON for differences.js: the head as (title, class, whether it is shown on demand), and the rows."""
    head = [[column.title, "n" if column.kind == "number" else "", column.spare > 0] for column in table.columns]
    rows = [
        {
            "cells": [_page_cell(row.cells[column.key]) for column in table.columns],
            **({"part": True} if row.part else {}),
            **({"marked": True} if row.marked else {}),
        }
        for row in table.rows
    ]
    return {"head": head, "rows": rows}


def _page_cell(cell: Cell) -> str | dict[str, object]:
    if isinstance(cell, Drawing) and (interval := cell.difference.interval) is not None:
        return {"kind": "interval", "value": cell.difference.value, "interval": list(interval), "reach": cell.reach}
    if isinstance(cell, DocCount) and cell.found:
        by_task: dict[str, list[int]] = {}
        for task, doc_id in cell.found:
            by_task.setdefault(task, []).append(doc_id)
        return {"kind": "docs", "count": len(cell.found), "docs": by_task, "said": cell.said, "model": cell.model}
    return _text(cell)


def _text(cell: Cell, absent: str = "–") -> str:
    """A cell as plain text. absent: the text for None."""
    match cell:
        case None:
            return absent
        case Value():
            return cell.text + cell.after
        case DocCount():
            return str(len(cell.found))
        case Drawing():
            return ""
        case _:
            return str(cell)
