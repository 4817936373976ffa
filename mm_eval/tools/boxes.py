"""Boxes as models write them: four numbers in the unit of their family, into whole pixels of the original picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mm_eval.config.tools import LEAST_SIDE
from mm_eval.tools.tool import Given, ToolError, brief

UNITS: dict[str, str] = {
    "per_mille": "from 0 to 1000, relative to the width and the height of the picture",
    "pixels": "in pixels of the original picture",
    "resized": "in pixels of the picture as it is shown to you",
    "fraction": "from 0 to 1, relative to the width and the height of the picture",
}
"""What the numbers of a box mean, in the words that the model gets."""
MOST_ASPECT = 100
"""The longer side of a box over its shorter one. Processors refuse pictures beyond 200."""

Box = tuple[int, int, int, int]


def box_of(value: Sequence[Any], size: tuple[int, int], given: Given) -> Box:
    """The whole pixels (left, top, right, bottom) of a box in a picture of this size, clipped to it and grown to `LEAST_SIDE`.

    Errors: ToolError for a box that is empty, whose centre is outside of the picture, that is too long, or whose numbers are in
    another unit (all from 0 to 1).
    """
    numbers = [float(number) for number in value]
    if not all(math.isfinite(number) for number in numbers):
        raise ToolError(f"the box {brief(list(value))} has a number that is not finite.")
    x1, y1, x2, y2 = numbers
    said = f"[{', '.join(f'{number:g}' for number in numbers)}]"
    if x1 >= x2 or y1 >= y2:
        raise ToolError(f"the box {said} is empty: x1 must be below x2, and y1 below y2.")
    if given.unit != "fraction" and max(numbers) <= 1:
        raise ToolError(f"the box {said} is not in the unit of this tool: its numbers are {UNITS[given.unit]}.")
    wide, high = _whole(size, given)
    if not (0 <= (x1 + x2) / 2 <= wide and 0 <= (y1 + y2) / 2 <= high):
        raise ToolError(f"the box {said} is outside of the picture, which reaches from [0, 0] to [{wide:g}, {high:g}].")
    left, right = _stretch(max(0.0, x1) / wide * size[0], min(wide, x2) / wide * size[0], size[0])
    top, bottom = _stretch(max(0.0, y1) / high * size[1], min(high, y2) / high * size[1], size[1])
    if max(right - left, bottom - top) > MOST_ASPECT * min(right - left, bottom - top):
        raise ToolError(f"the box {said} is too long: one side is more than {MOST_ASPECT} times the other.")
    return left, top, right, bottom


def _whole(size: tuple[int, int], given: Given) -> tuple[float, float]:
    """The right and the lower end of a picture in the unit of the boxes."""
    if given.unit == "per_mille":
        return 1000.0, 1000.0
    if given.unit == "fraction":
        return 1.0, 1.0
    wide, high = given.shown_as(*size) if given.unit == "resized" and given.shown_as else size
    return float(wide), float(high)


def _stretch(low: float, high: float, most: int) -> tuple[int, int]:
    """Whole pixels that contain a stretch, at least `LEAST_SIDE` of them where there are so many."""
    first, last = math.floor(low), min(most, math.ceil(high))
    if last - first < LEAST_SIDE:
        first = max(0, min(math.floor((low + high) / 2) - LEAST_SIDE // 2, most - LEAST_SIDE))
        last = min(most, first + LEAST_SIDE)
    return first, last


def resized(width: int, height: int, factor: int, least: int, most: int) -> tuple[int, int]:
    """The size at which a processor of Qwen's shows a picture: sides are multiples of `factor`, the area between two bounds.

    >>> resized(1000, 600, 28, 56 * 56, 28 * 28 * 1280)
    (1008, 588)
    """
    wide, high = (max(factor, round(side / factor) * factor) for side in (width, height))
    if wide * high > most:
        by = math.sqrt(width * height / most)
        return tuple(max(factor, math.floor(side / by / factor) * factor) for side in (width, height))  # type: ignore[return-value]
    if wide * high < least:
        by = math.sqrt(least / (width * height))
        return tuple(math.ceil(side * by / factor) * factor for side in (width, height))  # type: ignore[return-value]
    return wide, high
