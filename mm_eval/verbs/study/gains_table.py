"""The pair of each task without and with tools as rows of a table: its numbers, the gain, and what it took."""

from __future__ import annotations

from collections.abc import Sequence

from mm_eval.results.table import Cell, Column, Row, Table
from mm_eval.verbs.study.cells import difference_cells, reach, with_margin
from mm_eval.verbs.study.gains import Gain, dollars_text

NAMES = [Column("task", "text"), Column("model", "text")]
NUMBERS = [
    *map(Column, ("without", "with")),
    Column("gain", cell="difference"),
    *map(Column, ("95% interval", "p (Holm)", "gained", "lost")),
]
TAKES = [
    Column("tokens"),
    *map(Column, ("times", "calls", "used in", "dollars")),
]
"""What tools take. A model without a price has no dollars, and one that counts no tokens has no column of them."""


def gains_table(gains: Sequence[tuple[str, Gain]], numbers: bool = True) -> Table:
    """A row for each (model, gain). numbers: with the pairs of numbers, where no table beside this one has them."""
    rows = []
    for model, gain in gains:
        change, use = gain.change, gain.use
        cells: dict[str, Cell] = {
            "task": gain.task,
            "model": model,
            "without": with_margin(change.first, change.unit),
            "with": with_margin(change.second, change.unit),
            **difference_cells(change, change.difference, change.unit, reach([change.difference])),
            "gained": str(gain.flips[0]) if gain.flips else None,
            "lost": str(gain.flips[1]) if gain.flips else None,
            "tokens": f"{use.tokens[0]:,.0f} → {use.tokens[1]:,.0f}" if use.times else None,
            "times": f"{use.times:.1f}" if use.times else None,
            "calls": f"{use.calls:.1f}" if use.calls is not None else None,
            "used in": f"{use.used:,} of {use.docs:,}" if use.docs else None,
            "dollars": " → ".join(map(dollars_text, use.dollars)) if use.dollars else None,
        }
        rows.append(Row(cells, marked=change.told_apart))
    names = NAMES if len({model for model, _ in gains}) > 1 else NAMES[:1]
    takes = [column for column in TAKES if any(row.cells[column.key] is not None for row in rows)]
    return Table([*names, *(NUMBERS if numbers else ()), *takes], rows)
