"""The figures of a release: a heat map of models by benchmarks, and bars with 95% intervals of each benchmark.

    write_release_figures(Path("figures"), release_table(runs))

`preview` is the picture that other sites show beside a link to the release's page: title, sentence and the first rows.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.results.number_text import PERCENT, Unit
from mm_eval.results.sample_rows import sample_name
from mm_eval.values.safe import in_line
from mm_eval.values.words import counted
from mm_eval.verbs.figures import (
    COLOURS,
    INK,
    LINE,
    SIZE,
    SMALL,
    SOFT,
    WIDTH,
    content,
    new_figure,
    settings,
    text_width,
    wrapped,
    write_figures,
)
from mm_eval.verbs.report.release.average import AVERAGE
from mm_eval.verbs.report.release.ranking import ranked_columns
from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW, BAR = 0.36, 0.24
"""Heights of a row of the heat map and of a bar with its space, in inches."""
LEAST_WIDTH, MOST_CELL = 3.3, 1.2
"""Width of the heat map of few models, which fits a column of a page in two, and of a cell that has room, in inches."""
LONGEST = 1.3
"""Inches of a line of a benchmark's name."""
PREVIEW = (1200, 630)
"""Pixels of the preview, as most sites ask for."""
MOST_ROWS, MOST_COLUMNS = 7, 6
"""Of the preview."""


def write_release_figures(folder: Path, table: ReleaseTable) -> list[Path]:
    """Writes heat-map and bars-<benchmark> into the folder, as SVG, PDF and PNG, and returns their paths. Raises OSError."""
    figures = {"heat-map": partial(heat_map, table)}
    for row in table.rows:
        several = sum(task == row[0] for task, _ in table.rows) > 1
        figures[f"bars-{sample_name('.'.join(row) if several else row[0])}"] = partial(bars, table, row)
    return write_figures(folder, figures)


def heat_map(table: ReleaseTable) -> Figure:
    """A row for each benchmark's main number and their average, a column for each model. Only a rank that was earned has a
    colour, as on the release page."""
    rows = _rows(table)
    names = [wrapped(row.name, LONGEST) for row in rows]
    left = 0.3 + max((text_width(line) for name in names for line in name.split("\n")), default=0)
    for between in (" to ", "\nto "):  # on two lines, where the page is too narrow for one
        ends = [line for row in rows for text in row.ends(between) for line in text.split("\n")]
        cell = 0.15 + max([text_width(line, SMALL) for line in ends] + [text_width("100.0 *")])
        if left + cell * len(table.columns) <= WIDTH:
            break
    count = max(1, len(table.columns))
    cell = max(cell, min(MOST_CELL, (WIDTH - left) / count), (LEAST_WIDTH - left) / count)
    heads = {name: wrapped(name, cell - 0.05, SIZE, "bold") for name in table.columns}
    most_lines = max((head.count("\n") + 1 for head in heads.values()), default=0)
    height = 0.25 + 0.15 * most_lines + (ROW + 0.12 * between.count("\n")) * len(rows)
    figure = new_figure(height, _remarks(table), left + cell * count)
    _draw(figure.add_subplot(), list(zip(names, rows, strict=True)), heads, SIZE, between)
    return figure


def bars(table: ReleaseTable, row: tuple[str, str]) -> Figure:
    """A bar for each model of a row, from 0, with a whisker for its 95% interval.

    Pale bars are not ranked, hollow ones are reported numbers.
    """
    numbers, unit = table.rows[row], table.unit(row)
    columns = [name for name in table.columns if name in numbers]
    names = [wrapped(in_line(name, 50), 1.25 * LONGEST) for name in columns]
    high = 0.7 + sum(BAR * (name.count("\n") + 1) ** 0.5 for name in names)
    figure = new_figure(high, _remarks(table, row))
    axes = figure.add_subplot()
    axes.spines["left"].set_visible(True)
    for place, name in enumerate(columns):
        found, colour = numbers[name], COLOURS[table.columns.index(name) % len(COLOURS)]
        value = unit.factor * found.value
        drawn = axes.barh(place, value, 0.7, color=colour, alpha=0.35 if found.set_apart else 1)
        if not found.ours:
            drawn[0].set(facecolor="white", edgecolor=colour, linewidth=1)
        if found.bounds:
            start, end = (unit.factor * bound for bound in found.bounds)
            axes.plot([start, end], [place, place], color=INK, linewidth=0.8, marker="|", markersize=5)
        said, beside = unit.text(found.value) + ("" if found.ours else " *"), axes.get_yaxis_transform()
        axes.text(1.02, place, said, transform=beside, va="center", weight=_weight(found))
    ends = [end for found in numbers.values() for end in (found.value, *(found.bounds or ()))]
    most = 1.0 if unit.is_percent else 1.02 * max(0.0, *ends) or 1.0
    axes.set_xlim(unit.factor * min(0.0, *ends), unit.factor * max(most, *ends))
    axes.set_xlabel("percent" if unit.is_percent else "")
    axes.set_yticks(range(len(columns)), names, fontsize=SIZE, color=INK)
    axes.set_ylim(len(columns) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.set_title(table.label(row) + (" (lower is better)" if table.better.get(row) is False else ""), weight="bold")
    return figure


def preview(table: ReleaseTable) -> bytes:
    """The picture of a release that other sites show beside a link to its page, as PNG."""
    rows = _rows(table)
    kept = rows[:MOST_ROWS] + (rows[-1:] if table.average and len(rows) > MOST_ROWS else [])
    hidden = [counted(len(rows) - len(kept), "more benchmark")] if len(rows) > len(kept) else []
    if len(table.columns) > MOST_COLUMNS:
        hidden.insert(0, counted(len(table.columns) - MOST_COLUMNS, "more model"))
    numbers = [found for columns in table.rows.values() for found in columns.values()]
    said = ["Sample data, not a benchmark result"] if _has_sample(numbers) else []
    said += [f"{' and '.join(hidden)} on the page"] if hidden else []
    columns = table.columns[:MOST_COLUMNS]
    with settings():
        figure = new_figure(PREVIEW[1] / 100, width=PREVIEW[0] / 100)
        figure.text(0.03, 0.95, in_line(table.title, 50), fontsize=28, weight="bold", va="top")
        lines = textwrap.wrap(in_line(table.sentence), 100)[:2]
        figure.text(0.03, 0.85, "\n".join(lines), fontsize=15, color=SOFT, va="top")
        figure.text(0.03, 0.03, ". ".join(said) or "mm-eval", fontsize=13, color=SOFT)
        figure.set_layout_engine("constrained", rect=(0.02, 0.08, 0.96, 0.77 - 0.05 * len(lines)))
        heads = {name: wrapped(in_line(name, 34), 8.6 / max(1, len(columns)), 15, "bold") for name in columns}
        _draw(figure.add_subplot(), [(in_line(row.name, 24), row) for row in kept], heads, 15)
        return content(figure, "png", 100)


@dataclass(frozen=True)
class _Row:
    """A row of the heat map."""

    name: str
    numbers: Mapping[str, ReleaseNumber]
    unit: Unit
    lacking: Mapping[str, str] = field(default_factory=dict)

    def ends(self, between: str) -> list[str]:
        """The intervals of its numbers."""
        return [self.unit.ends(found.bounds, between) for found in self.numbers.values() if found.bounds]


def _rows(table: ReleaseTable) -> list[_Row]:
    rows = []
    for row in table.shown():
        name = in_line(table.shown_label(row)) + (" ↓" if table.better.get(row, True) is False else "")
        lacking = {column: found.said for column in table.columns if (found := table.lacking(row, column)) is not None}
        rows.append(_Row(name, table.rows[row], table.unit(row), lacking))
    return [*rows, _Row(AVERAGE, table.average, PERCENT)] if table.average else rows


def _draw(
    axes: Axes, rows: Sequence[tuple[str, _Row]], heads: Mapping[str, str], size: float, between: str = ""
) -> None:
    """Draws the cells of the heat map. rows: with their names. heads: the columns, with what stands above each.

    between: stands between the ends of an interval; without it a cell has neither interval nor rank.
    """
    from matplotlib.patches import Rectangle

    small = size * SMALL / SIZE
    for y, (_, row) in enumerate(rows):
        ranks = dict(ranked_columns(row.numbers)) if between else {}
        for x, column in enumerate(heads):
            found = row.numbers.get(column)
            colour = blue(shade(found, list(row.numbers.values())))
            cell = Rectangle((x, y), 1, 1, facecolor=colour, edgecolor=LINE, linewidth=0.6, clip_on=False)
            if found and found.set_apart:
                cell.set_hatch("///")  # in the colour of its edge: a colour of its own needs matplotlib 3.11
            axes.add_patch(cell)
            value = row.lacking.get(column, "–") if found is None else row.unit.text(found.value) + _marks(found)
            ends = row.unit.ends(found.bounds, between) if between and found and found.bounds else ""
            middle = y + (0.4 if ends else 0.5)
            axes.text(x + 0.5, middle, value, ha="center", va="center", weight=_weight(found), fontsize=size)
            axes.text(x + 0.5, y + 0.94, ends, ha="center", va="bottom", fontsize=small, color=SOFT, linespacing=1)
            if column in ranks:
                axes.text(x + 0.03, y + 0.05, f"#{ranks[column]}", va="top", fontsize=small, color=SOFT)
    axes.set(xlim=(0, len(heads)), ylim=(len(rows), 0))
    axes.xaxis.tick_top()
    axes.set_xticks([x + 0.5 for x in range(len(heads))], list(heads.values()), weight="bold", fontsize=size, color=INK)
    axes.set_yticks([y + 0.5 for y in range(len(rows))], [name for name, _ in rows], fontsize=size, color=INK)


def _weight(found: ReleaseNumber | None) -> str:
    return "bold" if found and found.best else "normal"


def _marks(found: ReleaseNumber) -> str:
    return ("" if found.ours else " *") + (" !" if found.flaw else "")


def blue(shade: float) -> str:
    """The colour of a number's field: from white to 40% of blue."""
    return "#" + "".join(f"{round(255 + (part - 255) * 0.4 * shade):02x}" for part in (0x00, 0x72, 0xB2))


def shade(found: ReleaseNumber | None, numbers: Sequence[ReleaseNumber]) -> float:
    """How dark a number's field is: 1 for the best of its row, 0 for the last rank and where nothing is significant.

    Numbers of one rank have one shade: a colour says no more than the tests do.
    """
    last = max((each.rank or 1 for each in numbers), default=1)
    if found is None or found.rank is None or last == 1 or (found.rank == 1 and not found.best):
        return 0.0
    return (last - found.rank) / (last - 1)


def _remarks(table: ReleaseTable, row: tuple[str, str] | None = None) -> list[str]:
    """What the marks mean, and whether the numbers are results at all."""
    rows: Mapping[tuple[str, str], Mapping[str, ReleaseNumber]] = table.rows if row is None else {row: table.rows[row]}
    numbers = [found for columns in rows.values() for found in columns.values()]
    remarks = ["Whiskers are 95% intervals." if row else "Below each number its 95% interval."]
    if row is None and any((found.rank or 1) > 1 for found in numbers):
        remarks.append("Blue: the rank in a row; a row without colour shows no significant difference.")
    if any(found.best for found in numbers):
        remarks.append(
            "Bold: shares the first rank; others of its row are behind at 5%, corrected for all pairs (Holm)."
        )
    if any(found.set_apart for found in numbers):
        how = "Pale" if row else "Hatched"
        remarks.append(f"{how}: measured differently from the rest of its row, and not ranked with it.")
    if any(not found.ours for found in numbers):
        remarks.append("* as reported, not measured by us.")
    if any(found.flaw for found in numbers) and row is None:
        remarks.append("! documents failed or were cut: see the table.")
    if _has_sample(numbers):
        remarks.append("Sample data, not the benchmarks. Do not publish these numbers.")
    return remarks


def _has_sample(numbers: Sequence[ReleaseNumber]) -> bool:
    return any(found.run and found.run.results.run.sample for found in numbers)
