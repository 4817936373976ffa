"""The figure of a study of efforts: the number against the tokens of an answer, with both intervals.

write_effort_figures(Path("figures"), study)
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.results.sample_rows import sample_name
from mm_eval.values.safe import in_line
from mm_eval.values.types import Number
from mm_eval.verbs.figures import BLUE, GREEN, INK, LINE, SMALL, SOFT, new_figure, text_width, write_figures
from mm_eval.verbs.study.effort import Efforts, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.2
"""Inches without the remarks."""
WIDE = 8.0
"""From this ratio of the most to the fewest tokens on, their axis is logarithmic."""


def write_effort_figures(folder: Path, study: Efforts) -> list[Path]:
    """Writes effort-<task> for each task and group whose tokens are known, as SVG, PDF and PNG. Returns their paths."""
    names = [name for name in study.names if any(point.tokens for point in study.points(name))]
    return write_figures(folder, {f"effort-{sample_name(name)}": partial(effort_figure, study, name) for name in names})


def effort_figure(study: Efforts, name: str) -> Figure:
    """A point for each effort, from few to many tokens; the band below the best number is as high as the margin."""
    points = sorted((point for point in study.points(name) if point.tokens), key=_tokens)
    unit, key, best, chosen = study.unit_of(name), study.key(name), study.best_point(name), study.chosen(name)
    assert unit is not None and key is not None
    figure = new_figure(
        HEIGHT,
        [
            *study.verdicts(name),
            "lines: 95% intervals of the number and of the mean of tokens; green: the effort that the sentence names",
        ],
    )
    axes = figure.add_subplot()
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(True)
    axes.grid(True)
    factor = unit.factor
    if best is not None:
        higher = study.runs[study.baseline].results.better(name, key.metric)
        ends = sorted((factor * best.number.value, factor * best.number.value + study.margin * (-1 if higher else 1)))
        axes.axhspan(
            *ends, color=GREEN, alpha=0.15, linewidth=0, zorder=0, label=f"within {study.margin:g} of the best"
        )
    axes.plot(
        list(map(_tokens, points)), [factor * p.number.value for p in points], color=SOFT, linewidth=0.8, zorder=1
    )
    for point in points:
        _draw(axes, point, factor, GREEN if chosen is not None and point.effort == chosen.effort else BLUE)
    if min(map(_tokens, points)) > 0 and max(map(_tokens, points)) > WIDE * min(map(_tokens, points)):
        _as_logarithm(axes, points)
    _label(figure, axes, points, factor)
    axes.set_title(in_line(f"{study.model}: {name}", 90))
    axes.set_ylabel(f"{in_line(key.label, 40)}{', %' if unit.is_percent else ''}")
    axes.set_xlabel("output tokens of a document (mean)")
    if best is not None:
        axes.legend(loc="best", fontsize=SMALL, frameon=False, labelcolor=SOFT)
    return figure


def _tokens(point: Point) -> float:
    return float(point.tokens.value) if point.tokens is not None else 0.0


def _as_logarithm(axes: Axes, points: list[Point]) -> None:
    """A logarithmic axis with ticks that are written as counts."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", size=0)


def _draw(axes: Axes, point: Point, factor: float, colour: str) -> None:
    x, y = _tokens(point), factor * point.number.value
    reaches = [
        [[max(0.0, middle - low)], [max(0.0, high - middle)]]
        for middle, (low, high) in ((x, _ends(point.tokens, 1.0)), (y, _ends(point.number, factor)))
    ]
    axes.errorbar([x], [y], reaches[1], reaches[0], fmt="none", ecolor=colour, elinewidth=1.2, capsize=2, zorder=2)
    axes.plot([x], [y], "o", color=colour, markersize=5, markeredgecolor="white", markeredgewidth=0.6, zorder=3)


def _ends(number: Number | None, factor: float) -> tuple[float, float]:
    """The ends of a number's interval; the number itself without one."""
    assert number is not None
    low, high = number.interval or (number.value, number.value)
    return factor * low, factor * high


def _label(figure: Figure, axes: Axes, points: list[Point], factor: float) -> None:
    """The efforts' names beside their points: to the right, to the left of the last ones, where the line does not run."""
    last = max(points, key=_tokens)
    for point in points:
        left = point is last and len(points) > 1
        axes.annotate(
            in_line(point.effort, 24),
            (_tokens(point), factor * point.number.value),
            xytext=(-6 if left else 6, -10),
            textcoords="offset points",
            ha="right" if left else "left",
            fontsize=SMALL,
            color=INK,
            zorder=4,
            bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": LINE, "linewidth": 0, "alpha": 0.7},
        )
    axes.margins(x=0.06 + 0.01 * max(text_width(in_line(point.effort, 24), SMALL) for point in points))
