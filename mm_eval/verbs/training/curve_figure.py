"""The figure of a curve for papers: the number over the steps with its 95% interval, and the paired change of each step below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mm_eval.values.safe import in_line
from mm_eval.verbs.figures import BLUE, GREEN, INK, ORANGE, SMALL, SOFT, new_figure
from mm_eval.verbs.training.curve import Curve, is_worse
from mm_eval.verbs.training.curve_chart import CHANGE_TITLE, MOST_WHISKERS, change_interval, interval, is_settled
from mm_eval.verbs.training.curve_text import title, unit_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

UPPER, LOWER = 1.9, 1.2
"""Heights of both parts, in inches."""


def curve_figure(curve: Curve, remarks: Sequence[str] = ()) -> Figure:
    """Draws a curve. A change that can be told apart from 0 has a colour and a direction. remarks: those of the study."""
    parts = [UPPER, LOWER] if len(curve.points) > 1 else [UPPER]
    figure = new_figure(0.5 + sum(parts), remarks)
    upper, *lower = figure.subplots(len(parts), squeeze=False, sharex=True, height_ratios=parts).flat
    _draw_values(upper, curve)
    for axes in lower:
        _draw_changes(axes, curve)
    for axes in (upper, *lower):
        axes.grid(axis="y")
        axes.spines["bottom"].set_visible(True)
    _set_steps(axes, [point.step for point in curve.points])
    return figure


def _draw_values(axes: Axes, curve: Curve) -> None:
    factor, steps = unit_in(curve).factor, [point.step for point in curve.points]
    values = [factor * point.number.value for point in curve.points]
    low, high = ([factor * interval(point)[side] for point in curve.points] for side in (0, 1))
    few = len(steps) <= MOST_WHISKERS
    axes.set_title(in_line(title(curve)))
    axes.set_ylabel("percent" if unit_in(curve).is_percent else "")
    axes.fill_between(steps, low, high, color=BLUE, alpha=0.18, linewidth=0)
    axes.vlines(steps, low, high, color=BLUE, linewidth=0.8 if few else 0)
    axes.plot(steps, values, color=BLUE, linewidth=1.2, marker="o", markersize=3.5 if few else 2)
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top + 0.12 * (top - bottom))  # room for what is said of a step
    for point, value in zip(curve.points, values, strict=True):
        if is_settled(curve, point):
            axes.axvline(point.step, color=SOFT, linewidth=0.6, zorder=0)
            axes.plot(point.step, value, color=BLUE, marker="o", markersize=5, markeredgecolor=INK)
            side, apart = ("right", -4) if 2 * point.step > steps[0] + steps[-1] else ("left", 4)
            said = f"step {point.step:,}: nothing later is better"
            at = axes.get_xaxis_transform()
            axes.annotate(said, (point.step, 1), (apart, -2), at, "offset points", ha=side, va="top", fontsize=SMALL)


def _draw_changes(axes: Axes, curve: Curve) -> None:
    factor = unit_in(curve).factor
    axes.set_title(CHANGE_TITLE, fontsize=SMALL, color=SOFT)
    axes.axhline(0, color=SOFT, linewidth=0.8)
    for point in curve.points:
        if point.change is None:
            continue
        worse, apart = is_worse(point.change), point.change.told_apart
        colour = (ORANGE if worse else GREEN) if apart else SOFT
        low, high = (factor * end for end in change_interval(point.change))
        axes.vlines(point.step, low, high, color=colour, linewidth=1)
        value = factor * point.change.difference.value
        axes.plot(point.step, value, color=colour, marker=("v" if worse else "^") if apart else "o", markersize=4)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:+g}" if round(value, 9) else "0")


def _set_steps(axes: Axes, steps: list[int]) -> None:
    """The axis of the steps: a tick at each where there is room, else at round ones."""
    from matplotlib.ticker import MaxNLocator

    nearest = min((after - before for before, after in zip(steps, steps[1:], strict=False)), default=1)
    if steps[-1] - steps[0] <= 9 * nearest:
        axes.set_xticks(steps)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("step")
