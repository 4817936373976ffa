"""ScreenSpot (three versions) and OSWorld-G: an instruction, a screenshot, and the box of the element that must be clicked.

Sources: Cheng et al. 2024, arXiv:2401.10935 (the rule); Wu et al. 2024, arXiv:2410.23218 (v2); Li et al. 2025, arXiv:2504.07981
(Pro; eval_screenspot_pro.py of likaixin2000/ScreenSpot-Pro-GUI-Grounding); Xie et al. 2025, arXiv:2505.13227 (OSWorld-G).
The columns are those that lmms-eval reads.
"""

import json
from collections.abc import Mapping
from typing import Any

from mm_eval.values.errors import DocError

from .utils import with_places

Doc = Mapping[str, Any]
PLATFORMS = {
    **dict.fromkeys(("ios", "android"), "Mobile"),
    **dict.fromkeys(("windows", "macos"), "Desktop"),
}


def v2_places(dataset: Any) -> Any:
    """The docs with their boxes. `bbox` has the corners as shares of the sides, or in pixels if a number is above 1."""
    return _asked(dataset, lambda doc, width, height: _shares(_numbers(doc["bbox"]), width, height))


def pro_places(dataset: Any) -> Any:
    """The docs with their boxes. `bbox` has the corners in pixels of the picture, or of `img_size` where that is given."""

    def place(doc: Doc, width: int, height: int) -> list[float]:
        size = _numbers(doc["img_size"]) if doc.get("img_size") else [width, height]
        return _shares(_numbers(doc["bbox"]), *size[:2])

    return _asked(dataset, place)


def osworld_places(dataset: Any) -> Any:
    """The docs of OSWorld-G with their boxes. The authors' polygons and instructions without an element are an error."""

    def place(doc: Doc, width: int, height: int) -> list[float]:
        kind, box = str(doc["box_type"]).lower(), _numbers(doc["box_coordinates"])
        if kind not in ("bbox", "polygon") or len(box) != 4:
            raise DocError(f"box_type is {kind!r} with {len(box)} numbers; boxes of four numbers are read here.")
        if kind == "bbox":
            box = [box[0], box[1], box[0] + box[2], box[1] + box[3]]
        left, top, right, bottom = min(box[::2]), min(box[1::2]), max(box[::2]), max(box[1::2])
        return [left / width, top / height, right / width, bottom / height]

    return _asked(dataset, place)


def _asked(dataset: Any, place: Any) -> Any:
    return with_places(dataset, place).add_column("wanted", dataset["instruction"])


def _numbers(value: Any) -> list[float]:
    """A list of numbers, which the hub may store as JSON."""
    return [float(number) for number in (json.loads(value) if isinstance(value, str) else value)]


def _shares(box: list[float], width: float, height: float) -> list[float]:
    if len(box) != 4 or box[0] > box[2] or box[1] > box[3]:
        raise DocError(f"bbox is {box}, which is not [left, top, right, bottom].")
    if max(box) <= 1:
        return box
    return [box[0] / width, box[1] / height, box[2] / width, box[3] / height]


def platform(doc: Doc) -> str:
    """Mobile, Desktop or Web, as in the papers' tables: `data_source` names a system, or the kind of a web page."""
    return PLATFORMS.get(str(doc["data_source"]).lower(), "Web")


def platform_and_type(doc: Doc) -> str:
    """The columns of the papers' tables, such as "Mobile, text"."""
    return f"{platform(doc)}, {doc['data_type']}"
