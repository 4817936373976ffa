"""The picture of a release that other sites show beside a link to its page: title, sentence and the first rows of the heat map.

    Path("preview.png").write_bytes(preview(release_table(runs)))

It is drawn with Pillow and the font that comes with it, which has Latin letters only.
"""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING

from mm_eval.values.safe import in_line
from mm_eval.values.words import counted
from mm_eval.verbs.report.figures import INK, LINE, SOFT, blue, shade

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

    from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable

SIZE = (1200, 630)
"""Pixels of the picture, as most sites ask for."""
ROWS, COLUMNS = 8, 6
"""Most benchmarks and models in it."""
EDGE, NAME = 48, 250
"""Pixels around the picture's content, and of the column with the benchmarks' names."""


def preview(table: ReleaseTable) -> bytes:
    """A PNG of a release table."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    _write(draw, EDGE, 36, table.title, 44, INK, 1)
    top = 104
    for line in textwrap.wrap(in_line(table.sentence), 92)[:2]:
        _write(draw, EDGE, top, line, 24, SOFT)
        top += 32
    _table(draw, table, top + 14)
    numbers = [found for row in table.rows.values() for found in row.values()]
    sampled = any(found.run and found.run.results.run.sample for found in numbers)
    more = [f"{counted(len(table.columns) - COLUMNS, 'more model')}"] if len(table.columns) > COLUMNS else []
    left = len(table.shown()) - ROWS + bool(table.average)
    more += [counted(left, "more benchmark")] if left > 0 else []
    said = ["Sample data: no result on a benchmark"] if sampled else []
    said += [f"{' and '.join(more)} on the page"] if more else []
    _write(draw, EDGE, SIZE[1] - 40, ". ".join(said) or "mm-eval", 20, SOFT)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def _table(draw: ImageDraw, table: ReleaseTable, top: int) -> None:
    columns, every = table.columns[:COLUMNS], table.shown()
    lines = [(table.shown_label(row), table.rows[row], row) for row in every[: ROWS - bool(table.average)]]
    across = (SIZE[0] - 2 * EDGE - NAME) / max(1, len(columns))
    for place, name in enumerate(columns):
        _write(draw, EDGE + NAME + across * (place + 0.5), top, _cut(name, int(across / 11)), 20, INK, 1, "ma")
    top += 34
    height = min(46, (SIZE[1] - 60 - top) // max(1, len(lines) + bool(table.average)))
    for label, numbers, row in lines:
        _write(
            draw,
            EDGE,
            top + height / 2,
            _cut(label + (" (lower)" if table.better.get(row) is False else ""), 24),
            20,
            INK,
            0,
            "lm",
        )
        for place, name in enumerate(columns):
            found = numbers.get(name)
            depth = shade(found, list(numbers.values()), table.better.get(row, True))
            text = table.text(row, found.value) if found else "–"
            _cell(draw, EDGE + NAME + across * place, top, across, height, text, depth, bool(found and found.best))
        top += height
    if table.average:
        _write(draw, EDGE, top + height / 2, "Average", 20, INK, 1, "lm")
    for place, name in enumerate(columns if table.average else ()):
        average: ReleaseNumber | None = table.average.get(name)
        text = f"{100 * average.value:.1f}" if average else "–"
        _cell(draw, EDGE + NAME + across * place, top, across, height, text, 0.0, bold=True)


def _cell(draw: ImageDraw, x: float, y: float, across: float, high: float, text: str, depth: float, bold: bool) -> None:
    draw.rectangle((x, y, x + across, y + high), fill=blue(depth), outline=LINE)
    _write(draw, x + across / 2, y + high / 2, text, 22, INK, int(bold), "mm")


def _write(
    draw: ImageDraw, x: float, y: float, text: str, size: int, colour: str, bold: int = 0, anchor: str = "la"
) -> None:
    from PIL import ImageFont

    font = ImageFont.load_default(size)
    draw.text((x, y), in_line(text), fill=colour, font=font, anchor=anchor, stroke_width=0.5 * bold, stroke_fill=colour)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(1, most - 1)]}…"
