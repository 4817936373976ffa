"""Places in pictures: how well a box fits, and whether a click is inside.

A model writes places in the units of its family: from 0 to 1, from 0 to 1000, or pixels of the picture that it was shown. `Units`
reads a prompt block's `coordinates`, and `gold` writes the target in these units with the picture's extent:
"[10, 30, 40, 90] in 1000 x 1000". The overlap of boxes and a point's place in a box do not change when an axis is stretched, so
the numbers are compared as they are, and nothing has to be guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.tasks.rules.places import first_box

from mm_eval.scoring.metrics.metric import metric
from mm_eval.values.errors import ConfigError

_EXTENT = re.compile(r"\bin ([\d.]+) x ([\d.]+)$")
_HINT = (
    'Write "0 to 1", "0 to 1000", "pixels", or {pixels: resized, multiple: 28, min_pixels: 3136, max_pixels: 12845056}.'
)
LONGEST = 1000
"""A text with more characters is no place."""
OUTSIDE = 1.05
"""Models draw boxes slightly beyond the edge; numbers beyond this share of the picture must have other units."""


@dataclass(frozen=True)
class Units:
    """The units in which a model writes places.

    top: the number at the right and the lower edge; 0 for pixels. multiple: both sides of the shown picture are multiples of it.
    min_pixels, max_pixels: the limits of its size. All three are 0 where the picture is shown as it is.
    """

    top: float = 1.0
    multiple: int = 0
    min_pixels: int = 0
    max_pixels: int = 0

    @classmethod
    def read(cls, stated: Any) -> Units:
        """The units that a prompt block states under `coordinates`. ConfigError if it does not say them exactly."""
        if isinstance(stated, str) and (found := re.fullmatch(r"0 to (\d{1,6})", stated)) and int(found[1]):
            return cls(float(found[1]))
        if stated == "pixels":
            return cls(0.0)
        if isinstance(stated, Mapping) and stated.get("pixels") == "resized":
            limits: list[Any] = [stated.get(name) for name in ("multiple", "min_pixels", "max_pixels")]
            if len(stated) == 4 and all(type(each) is int and each > 0 for each in limits):
                return cls(0.0, *limits)
        raise ConfigError(f"`coordinates` of the prompt block is {stated!r}.", hint=_HINT)

    def shown(self, width: int, height: int) -> tuple[int, int]:
        """The width and height of the picture that the model is shown, by the rule of Qwen2-VL's processor (smart_resize)."""
        if not self.multiple:
            return width, height
        sides = [max(self.multiple, round(side / self.multiple) * self.multiple) for side in (width, height)]
        if sides[0] * sides[1] > self.max_pixels:
            scale = math.sqrt(width * height / self.max_pixels)
            sides = [
                max(self.multiple, math.floor(side / scale / self.multiple) * self.multiple) for side in (width, height)
            ]
        elif sides[0] * sides[1] < self.min_pixels:
            scale = math.sqrt(self.min_pixels / (width * height))
            sides = [math.ceil(side * scale / self.multiple) * self.multiple for side in (width, height)]
        return sides[0], sides[1]

    def gold(self, box: Sequence[float], width: int, height: int) -> str:
        """The target: a box whose corners are shares of the picture's sides, in these units, and the picture's extent in them."""
        across, down = (self.top, self.top) if self.top else self.shown(width, height)
        corners = [f"{share * side:.9g}" for share, side in zip(box, (across, down, across, down), strict=True)]
        return f"[{', '.join(corners)}] in {across:g} x {down:g}"


def overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two boxes [left, top, right, bottom]; 0 if both are empty."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0.0, width) * max(0.0, height)
    union = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)) - both
    return both / union if union > 0 else 0.0


def _places(predictions: Sequence[Any]) -> list[list[float] | None]:
    """The places that the filters `box` and `point` wrote; None for any other answer, as a pipeline without them passes on."""
    return [_place(answer) if isinstance(answer, str) else None for answer in predictions]


def _place(text: str) -> list[float] | None:
    """The two or four finite numbers of a text that is a JSON list of them and nothing else."""
    if not text.startswith("[") or len(text) > LONGEST:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if len(found) not in (2, 4) or not all(isinstance(each, (int, float)) and type(each) is not bool for each in found):
        return None
    try:
        place = [float(each) for each in found]
    except OverflowError:
        return None
    return place if all(map(math.isfinite, place)) else None


def _target(references: Any) -> str:
    return str(references[0] if isinstance(references, (list, tuple)) else references)


@metric("box_iou", output_type="generate_until", aggregation="mean")
def box_iou(references: Any, predictions: Sequence[Any]) -> list[float]:
    """The overlap of a box with the target, from 0 to 1; 0 for an answer without a box. No box is cut at the picture's edge."""
    target = first_box(_target(references)) or [0.0] * 4
    return [overlap(target, box) if box and len(box) == 4 else 0.0 for box in _places(predictions)]


@metric("box_accuracy", output_type="generate_until", aggregation="mean")
def box_accuracy(references: Any, predictions: Sequence[Any], threshold: float = 0.5) -> list[int]:
    """1 for a box whose overlap with the target reaches the threshold, RefCOCO's score.

    Source: Kazemzadeh et al. 2014; an overlap of exactly 0.5 counts, as in the scripts of Qwen-VL, InternVL and lmms-eval.
    """
    return [int(found >= threshold) for found in box_iou(references, predictions)]


@metric("point_in_box", output_type="generate_until", aggregation="mean")
def point_in_box(references: Any, predictions: Sequence[Any]) -> list[int]:
    """1 for a point in the target's box or on its edge, ScreenSpot's score (Cheng et al. 2024, arXiv 2401.10935)."""
    left, top, right, bottom = first_box(_target(references)) or (math.inf, math.inf, -math.inf, -math.inf)
    places = [place if place and len(place) == 2 else (math.nan, math.nan) for place in _places(predictions)]
    return [int(left <= x <= right and top <= y <= bottom) for x, y in places]


@metric("other_units", output_type="generate_until", aggregation="mean", higher_is_better=False)
def other_units(references: Any, predictions: Sequence[Any]) -> list[int]:
    """1 for an answer that can't be in the units of the target: beyond the picture, or at most 1 where a side is longer.

    It changes no score. A large share says that the prompt block states the wrong units for this model.
    """
    extent = _EXTENT.search(_target(references))
    sides = [float(extent[1]), float(extent[2])] if extent else [math.inf, math.inf]

    def beyond(place: Sequence[float]) -> bool:
        far = any(number > OUTSIDE * side for number, side in zip(place, sides * 2, strict=False))
        return far or (min(sides) > 1 and extent is not None and max(place) <= 1)

    return [int(place is not None and beyond(place)) for place in _places(predictions)]
