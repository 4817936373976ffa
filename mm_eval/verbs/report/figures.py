"""The figures of a release as SVG files: a heat map of models by benchmarks, and bars with 95% intervals of each benchmark.

    write_figures(Path("figures"), release_table(runs))

They are drawn without a library, dark on white, with their text as text, so that a paper's tools can open, scale and edit them.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from mm_eval.engine.folder import RunFolder
from mm_eval.results.number_text import PERCENT, Unit
from mm_eval.results.sample_rows import sample_name
from mm_eval.values.safe import html, in_line
from mm_eval.verbs.report.release.average import AVERAGE
from mm_eval.verbs.report.release.ranking import ranked_columns
from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable

INK, SOFT, LINE = "#1d2125", "#5c6570", "#c8cdd3"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a00", "#8b4fbf")
SIZE, SMALL = 12, 9.5
"""Heights of text, in pixels of the figure."""
CELL, ROW, BAR = 96, 36, 26
"""Least width and height of a cell of the heat map, and height of a bar with its space."""
LONGEST = 24
"""Characters of a line of a model's name above its column."""
FULL = 340
"""Length of the longest bar."""


def write_figures(folder: Path, table: ReleaseTable) -> list[Path]:
    """Writes heat-map.svg and bars-<benchmark>.svg into the folder and returns their paths. Raises StoreError or OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    files = RunFolder(folder)
    written = [files.write_lines("heat-map.svg", heat_map(table))]
    for row in table.rows:
        several = sum(task == row[0] for task, _ in table.rows) > 1
        name = sample_name(".".join(row) if several else row[0])
        written.append(files.write_lines(f"bars-{name}.svg", bars(table, row)))
    return written


def heat_map(table: ReleaseTable) -> Iterator[str]:
    """A row for each benchmark's main number and their average, a column for each model, in the shades of the release page:
    white for the worst of a row."""
    heads = [textwrap.wrap(in_line(name), LONGEST) or [""] for name in table.columns]
    rows: list[tuple[str, Mapping[str, ReleaseNumber], bool | None, Unit]] = [
        (
            table.shown_label(row) + (" ↓" if table.better.get(row) is False else ""),
            table.rows[row],
            table.better.get(row, True),
            table.unit(row),
        )
        for row in table.shown()
    ]
    rows += [(AVERAGE, table.average, True, PERCENT)] if table.average else []
    left = 20 + max((width(name) for name, *_ in rows), default=0)
    across = max([CELL, *(16 + width(line) for head in heads for line in head)])
    top = 14 + 15 * max(map(len, heads), default=1)
    remarks = _remarks(table)
    high = top + ROW * len(rows)
    wide = max([left + across * len(heads) + 10, *(20 + width(remark, SMALL) for remark in remarks)])
    yield from _opened(wide, high + 12 + 14 * len(remarks), "Models by benchmarks")
    for place, head in enumerate(heads):
        for at, line in enumerate(reversed(head)):
            yield _text(left + across * (place + 0.5), top - 8 - 15 * at, line, anchor="middle", bold=True)
    for at, (name, numbers, better, unit) in enumerate(rows):
        y, ranks = top + ROW * at, dict(ranked_columns(numbers))
        yield _text(left - 10, y + ROW / 2 + 4, name, anchor="end", bold=name == AVERAGE)
        for place, column in enumerate(table.columns):
            x, found = left + across * place, numbers.get(column)
            yield _cell(x, y, across, found, shade(found, list(numbers.values()), better))
            yield from _value(x, y, across, found, ranks.get(column), unit)
    yield from _below(remarks, high + 18)
    yield "</svg>"


def bars(table: ReleaseTable, row: tuple[str, str]) -> Iterator[str]:
    """A bar for each model of a row, from 0, with a whisker for its 95% interval.

    Pale bars are not ranked, hollow ones are reported numbers.
    """
    numbers = table.rows[row]
    columns = [name for name in table.columns if name in numbers]
    left = 20 + max((width(in_line(name, LONGEST * 2)) for name in columns), default=0)
    ends = [end for found in numbers.values() for end in (found.value, *(found.bounds or ()))]
    unit = table.unit(row)
    low: float = min([0.0, *ends])
    high: float = max([1.0 if unit.is_percent else 0.0, *ends])
    remarks = _remarks(table, row)
    bottom = 30 + BAR * len(columns)
    wide: float = max([left + FULL + 80, *(20 + width(remark, SMALL) for remark in remarks)])
    title = table.label(row) + (" (lower is better)" if table.better.get(row) is False else "")

    def at(value: float) -> float:
        return left + FULL * (value - low) / ((high - low) or 1)

    yield from _opened(wide, bottom + 30 + 14 * len(remarks), title)
    yield _text(left, 18, title, bold=True)
    for value in _ticks(low, high):
        yield _line(at(value), 28, at(value), bottom, LINE)
        yield _text(at(value), bottom + 14, f"{unit.factor * value:g}", anchor="middle", size=SMALL, colour=SOFT)
    for place, name in enumerate(columns):
        found, y = numbers[name], 32 + BAR * place
        colour = COLOURS[table.columns.index(name) % len(COLOURS)]
        looks = f'fill="{colour}" fill-opacity="{0.3 if found.set_apart else 0.8}"'
        looks = looks if found.ours else f'fill="white" stroke="{colour}" stroke-width="1.5"'
        start, end = sorted((at(0), at(found.value)))
        yield f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{BAR - 8}" {looks}/>'
        yield from _whisker(found, at, y + (BAR - 8) / 2)
        yield _text(left - 10, y + 13, in_line(name, LONGEST * 2), anchor="end")
        yield _text(left + FULL + 14, y + 13, unit.text(found.value) + ("" if found.ours else " *"), bold=found.best)
    yield from _below(remarks, bottom + 34)
    yield "</svg>"


def width(text: str, size: float = SIZE) -> float:
    """About how wide a text is: no font is read."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in in_line(text))
    return size * (0.62 * (len(in_line(text)) - wide) + 1.05 * wide)


def _opened(wide: float, high: float, title: str) -> Iterator[str]:
    size = f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="Helvetica, Arial, sans-serif">'
    yield f"<title>{html(title)}</title>"
    yield '<rect width="100%" height="100%" fill="white"/>'
    yield '<defs><pattern id="apart" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    yield '<rect width="8" height="8" fill="white"/><rect width="3" height="8" fill="#e6e9ed"/></pattern></defs>'


def _cell(x: float, y: float, across: float, found: ReleaseNumber | None, shade: float) -> str:
    """The field of a number; hatched where it is not ranked."""
    fill = "url(#apart)" if found and found.set_apart else blue(shade)
    return f'<rect x="{x:.1f}" y="{y}" width="{across:.1f}" height="{ROW}" fill="{fill}" stroke="{LINE}"/>'


def _value(
    x: float, y: float, across: float, found: ReleaseNumber | None, rank: str | None, unit: Unit
) -> Iterator[str]:
    if found is None:
        yield _text(x + across / 2, y + ROW / 2 + 4, "–", anchor="middle", colour=SOFT)
        return
    said = unit.text(found.value) + ("" if found.ours else " *") + (" !" if found.flaw else "")
    bounds = found.bounds
    middle = y + (16 if bounds else ROW / 2 + 4)
    yield _text(x + across / 2, middle, said, anchor="middle", bold=found.best)
    if rank:
        yield _text(x + 4, y + 11, f"#{rank}", size=SMALL, colour=SOFT)
    if bounds:
        text = unit.ends(bounds, " to ")
        yield _text(x + across / 2, y + 29, text, anchor="middle", size=SMALL, colour=SOFT)


def blue(shade: float) -> str:
    """The colour of a number's field: from white to 40% of blue."""
    return "#" + "".join(f"{round(255 + (part - 255) * 0.4 * shade):02x}" for part in (0x00, 0x72, 0xB2))


def shade(found: ReleaseNumber | None, numbers: Sequence[ReleaseNumber], higher: bool | None) -> float:
    """A number's place between the worst and the best ranked one of its row; pale where no two can be told apart."""
    ranked = [each for each in numbers if not each.set_apart]
    values = [each.value for each in ranked]
    if found is None or higher is None or found.set_apart or len(values) < 2 or min(values) == max(values):
        return 0.0
    share = (found.value - min(values)) / (max(values) - min(values))
    return (share if higher else 1 - share) * (1.0 if any((each.rank or 1) > 1 for each in ranked) else 0.3)


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers within an axis, 3 to 9 of them."""
    rough = (high - low) / 4 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each for each in (1, 2, 2.5, 5, 10) if each * power >= 0.8 * rough) * power
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def _whisker(found: ReleaseNumber, at: Callable[[float], float], y: float) -> Iterator[str]:
    if found.bounds:
        start, end = map(at, found.bounds)
        yield _line(start, y, end, y, INK)
        for x in (start, end):
            yield _line(x, y - 4, x, y + 4, INK)


def _remarks(table: ReleaseTable, row: tuple[str, str] | None = None) -> list[str]:
    """What the marks mean, and whether the numbers are results at all."""
    rows: Mapping[tuple[str, str], Mapping[str, ReleaseNumber]] = table.rows if row is None else {row: table.rows[row]}
    numbers = [found for columns in rows.values() for found in columns.values()]
    remarks = ["Whiskers are 95% intervals." if row else "Below each number its 95% interval."]
    if any(found.best for found in numbers):
        remarks.append(
            "Bold: shares the first rank; others of its row are behind at 5%, corrected for all pairs (Holm)."
        )
    if any(found.set_apart for found in numbers):
        how = "Pale" if row else "Hatched"
        remarks.append(f"{how}: measured otherwise than the rest of its row, and not ranked with it.")
    if any(not found.ours for found in numbers):
        remarks.append("* as reported, not measured by us.")
    if any(found.flaw for found in numbers) and row is None:
        remarks.append("! documents failed or were cut: see the table.")
    if any(found.run and found.run.results.run.sample for found in numbers):
        remarks.append("Sample data, not the benchmarks: no result to publish.")
    return remarks


def _below(remarks: Sequence[str], y: float) -> Iterator[str]:
    for at, remark in enumerate(remarks):
        yield _text(10, y + 14 * at, remark, size=SMALL, colour=SOFT)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    anchor: str = "start",
    size: float = SIZE,
    colour: str = INK,
    bold: bool = False,
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    looks = f'font-size="{size}" fill="{colour}" text-anchor="{anchor}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {looks}>{html(text)}</text>'
