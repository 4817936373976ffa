"""RefSpatial-Bench: points in a picture, and the mask that they should lie in.

Source: Zhoues/RoboRefer at d97a995, Evaluation/summarize_acc.py (the rule) and test_benchmark.py (the prompts). An answer's
score is the share of its points that lie in the mask. A box stands for all its pixels; a point beyond the picture is a miss.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Doc = Mapping[str, Any]
_NUMBER = r"[-+]?\d{1,15}(?:\.\d{0,20})?"
_TUPLE = re.compile(rf"\(({_NUMBER}(?:,\s*{_NUMBER})*)\)")
_POINT_2D = re.compile(rf"[\[(]\s*({_NUMBER})\s*,\s*({_NUMBER})\s*[\])]")
GRID = 1000
"""The right and the lower edge in the units of Qwen3-VL's points."""


def doc_to_text(doc: Doc) -> str:
    """The question, and the dataset's own sentence on the form of the answer: tuples of fractions of the sides."""
    return f"{doc['prompt']} {doc['suffix']}"


def doc_to_text_json(doc: Doc) -> str:
    """The authors' question for Qwen's models, which names the thing."""
    return f"Locate {doc['object']} in this image and output the point coordinates in JSON format."


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """The share of the answer's points in the mask. Two whole numbers are pixels, as in the authors' script."""
    mask = _mask(doc)
    return _scored(mask, list(_areas(results[0] or "", *mask.shape[::-1])))


def process_results_json(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """The share of the answer's points in the mask. Whole numbers are thousandths of the sides, as lmms-eval reads them."""
    mask = _mask(doc)
    height, width = mask.shape
    points = []
    for stated in _POINT_2D.findall(results[0] or ""):
        over = 1 if any("." in number for number in stated) else GRID
        x, y = (int(float(number) / over * side) for number, side in zip(stated, (width, height), strict=True))
        points.append((x, y, x + 1, y + 1))
    return _scored(mask, points)


def gold_answer(doc: Doc) -> str:
    """A point in the mask."""
    return f"[({_inside(doc, 0):.6f}, {_inside(doc, 1):.6f})]"


def gold_answer_json(doc: Doc) -> str:
    """The same as JSON, in thousandths; a fraction where a thousandth is wider than a pixel of the mask."""
    return json.dumps([{"point_2d": [round(_inside(doc, 0), 6), round(_inside(doc, 1), 6)], "label": doc["object"]}])


def _mask(doc: Doc) -> Any:
    """Where the answer may lie: rows of 0 and 1. Any value above 0 counts, of the first channel."""
    mask = np.asarray(doc["mask"])
    return ((mask[:, :, 0] if mask.ndim == 3 else mask) > 0).astype(np.uint8)


def _inside(doc: Doc, axis: int) -> float:
    """The middle of one pixel of the mask, as a fraction of a side: 0 across, 1 down."""
    mask = _mask(doc)
    found = np.argwhere(mask)
    place = found[len(found) // 2]
    return float((place[1 - axis] + 0.5) / mask.shape[1 - axis])


def _areas(text: str, width: int, height: int) -> Iterator[tuple[int, int, int, int]]:
    """The points and boxes of an answer: left, top, and behind the last column and row, in pixels."""
    for found in _TUPLE.findall(text):
        stated = [number.strip() for number in found.split(",")]
        numbers = [float(number) for number in stated]
        if len(numbers) == 2:
            x, y = numbers
            if any("." in number for number in stated):
                x, y = x * width, y * height
            yield int(x), int(y), int(x) + 1, int(y) + 1
        elif len(numbers) == 4:
            x, y, right, below = (int(n * side) for n, side in zip(numbers, (width, height) * 2, strict=True))
            yield x, y, right, below


def _scored(mask: Any, areas: Sequence[tuple[int, int, int, int]]) -> dict[str, Any]:
    """The share of all pixels of the areas that lie in the mask; 0 and "unparsed" where there are none."""
    height, width = mask.shape
    hits = pixels = 0
    for left, top, right, below in areas:
        if right < left or below < top:
            return {"acc": 0.0, "__rule__": "unparsed"}  # the authors' script fails here and leaves the question out
        pixels += (right - left) * (below - top)
        inside = mask[max(top, 0) : max(min(below, height), 0), max(left, 0) : max(min(right, width), 0)]
        hits += int(inside.sum())
    return {"acc": hits / pixels, "__rule__": "points"} if pixels else {"acc": 0.0, "__rule__": "unparsed"}
