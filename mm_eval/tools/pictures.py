"""Tools that look at a picture again: zoom, crop and rotate. Equal arguments give equal pixels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mm_eval.tools.boxes import UNITS, Box, box_of
from mm_eval.tools.tool import Given, Result, Tool, ToolError, brief, within

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST_AREA = 256 * 32 * 32
"""Pixels that a part has after zooming in: 256 patches of 32 by 32, as the cookbook of Qwen3-VL asks for."""


def _of_picture(**others: Mapping[str, object]) -> dict[str, object]:
    about = (
        "Which picture, from 0: first those of the question, then those that tools have returned. 0 if it is left out."
    )
    return {**others, "img_idx": {"type": "integer", "description": about}}


def _of_box(unit: str) -> dict[str, object]:
    about = f"The part of the picture as [x1, y1, x2, y2]: its upper left and its lower right corner, {UNITS[unit]}."
    box = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4, "description": about}
    label = {"type": "string", "description": "What is in this part."}
    return {"type": "object", "properties": _of_picture(bbox_2d=box, label=label), "required": ["bbox_2d"]}


def _of_angle(unit: str) -> dict[str, object]:
    angle = {"type": "number", "description": "The angle in degrees, clockwise, from -360 to 360."}
    return {"type": "object", "properties": _of_picture(angle=angle), "required": ["angle"]}


def picture_of(arguments: Mapping[str, Any], given: Given) -> tuple[int, Image]:
    """(its number, the picture) that a call names. ToolError if there is none of this number."""
    number = int(arguments.get("img_idx", 0))
    if not given.pictures:
        raise ToolError("there is no picture.")
    if not 0 <= number < len(given.pictures):
        last = len(given.pictures) - 1
        numbers = "only picture 0" if last == 0 else f"pictures 0 to {last}"
        raise ToolError(
            f"there is no picture {brief(arguments['img_idx'])}; there {'is' if last == 0 else 'are'} {numbers}."
        )
    return number, given.pictures[number]


def _part(arguments: Mapping[str, Any], given: Given) -> tuple[int, Box, Image]:
    number, picture = picture_of(arguments, given)
    box = box_of(arguments["bbox_2d"], picture.size, given)
    return number, box, picture.crop(box)


def crop(arguments: Mapping[str, object], given: Given) -> Result:
    """The part of a picture in its own pixels."""
    number, _, part = _part(arguments, given)
    return _shown(part, given, f"this part of picture {number}")


def zoom(arguments: Mapping[str, object], given: Given) -> Result:
    """The part of a picture, enlarged to `LEAST_AREA` where it is smaller."""
    number, _, part = _part(arguments, given)
    if (area := part.width * part.height) < LEAST_AREA:
        from PIL.Image import Resampling

        by = math.sqrt(LEAST_AREA / area)
        width, height = (math.ceil(side * by) for side in part.size)
        part = part.resize((width, height), Resampling.BICUBIC)
    return _shown(part, given, f"this part of picture {number}")


def rotate(arguments: Mapping[str, Any], given: Given) -> Result:
    """The whole picture, turned clockwise. Corners that it does not fill are white."""
    number, picture = picture_of(arguments, given)
    angle = float(arguments["angle"])
    if not (math.isfinite(angle) and -360 <= angle <= 360):
        raise ToolError(f"the angle must be from -360 to 360 (got {brief(arguments['angle'])}).")
    from PIL.Image import Resampling, Transpose

    turned = {90: Transpose.ROTATE_270, 180: Transpose.ROTATE_180, 270: Transpose.ROTATE_90}
    if angle % 360 == 0:
        found = picture
    elif angle % 360 in turned:
        found = picture.transpose(turned[int(angle % 360)])
    else:
        small = within(picture, given.limits.edge)  # what turns is bounded, too
        found = small.rotate(-angle, Resampling.BICUBIC, expand=True, fillcolor=(255, 255, 255))
    return _shown(found, given, f"picture {number}, turned by {angle:g} degrees")


def _shown(picture: Image, given: Given, what: str) -> Result:
    return Result(f"Picture {len(given.pictures)} is {what}.", (picture,))


ZOOM = Tool(
    "zoom",
    "image_zoom_in_tool",
    "Zooms in on a part of a picture and returns it enlarged.",
    _of_box,
    zoom,
)
"""Under the name that Qwen3-VL and DeepEyes were trained with."""
CROP = Tool("crop", "crop", "Returns a part of a picture in its own pixels.", _of_box, crop)
ROTATE = Tool("rotate", "rotate", "Turns a picture.", _of_angle, rotate)
