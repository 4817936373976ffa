"""OCRBench v2's rules for boxes and for text that is read where it stands.

Source: Fu et al. 2024, arXiv:2501.00321; OCRBench_v2/eval_scripts of the benchmark's repository (IoUscore_metric.py,
spotting_metric.py, and spotting_eval, the end-to-end protocol of ICDAR 2015, rrc.cvc.uab.es).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from typing import Any

from mm_eval.scoring.metrics.bounds import too_large

from .structures import UNREADABLE

BOX = re.compile(r"[(\[]\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*[)\]]")
BRACKETS = re.compile(r"[\[(]([^\[\]()]*)[\])]")
QUOTED = re.compile(r'\s*"(.*)"\s*')
LARGEST, HALF = 1000, 0.5
"""The largest coordinate, and the overlap that a match exceeds."""
AT_ENDS = "!?.:,*\"()·[]/'"
"""A reference's first and last sign, which an answer may leave out where it is one of these."""
MOST_PAIRS = 4_000_000

Box = Sequence[int]
Found = tuple[int, int, int, int, str]


def overlap(one: Iterable[Any], other: Iterable[Any]) -> float:
    """The intersection of two boxes over their union; 0 where a coordinate is no number. Coordinates are cut to integers."""
    try:
        a, b = [int(each) for each in one], [int(each) for each in other]
        shared = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
        union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0
    return shared / union if union else 0.0


def last_box(answer: str) -> tuple[int, ...] | None:
    """The last list of four integers up to 1000 in brackets."""
    found = [tuple(map(int, match.groups())) for match in BOX.finditer(answer) if max(map(len, match.groups())) < 1000]
    return next((box for box in reversed(found) if max(box) <= LARGEST), None)


def box_of(written: str) -> Any:
    """The box that a text is as a Python literal; nothing where it can't be read."""
    try:
        return ast.literal_eval(written)
    except UNREADABLE:
        return ()


def texts_in_boxes(answer: str) -> list[Found]:
    """The different (left, top, right, bottom, text) of an answer: a Python list of them, else what stands in brackets."""
    try:
        stated = ast.literal_eval(answer)
    except UNREADABLE:
        items: Iterable[Any] = (found[1].strip().split(",", 4) for found in BRACKETS.finditer(answer))
    else:
        items = stated if isinstance(stated, (list, tuple)) else ()
    found: dict[Found, None] = {}
    for item in items:
        if isinstance(item, (list, tuple)) and len(item) >= 5:
            try:
                left, top, right, bottom = (int(str(each).strip()) for each in item[:4])
            except ValueError:
                continue
            if min(left, top, right, bottom) >= 0 and max(left, top, right, bottom) <= LARGEST:
                text = str(item[4]).replace("\n", "").strip().strip('"').strip("'")
                found.setdefault((left, top, right, bottom, text))
    return list(found)


def spotting_score(found: Sequence[Found], boxes: Sequence[Box], texts: Sequence[str]) -> float:
    """The F1 of texts that are read right in a box that overlaps the reference's by more than one half.

    boxes: polygons, x and y in turn, which are taken as their upright boxes. A reference "###" is not read: it counts nowhere,
    nor does a found box of which more than one half lies in it. Boxes are matched greedily in the order of the references.
    """
    said = [(box, _unquoted(text)) for *box, text in found if box[0] < box[2] and box[1] < box[3]]
    gold = [
        ((min(box[::2]), min(box[1::2]), max(box[::2]), max(box[1::2])), _unquoted(text))
        for box, text in zip(boxes, texts, strict=False)
    ]
    if not said or not gold:
        return 0.0
    if len(said) * len(gold) > MOST_PAIRS:
        too_large(f"the matching of boxes (at most {MOST_PAIRS:,} pairs)")
        return 0.0
    ignored = [box for box, text in gold if text == "###"]
    counted = [(box, text) for box, text in said if not any(_inside(box, each) > HALF for each in ignored)]
    known = [(box, text) for box, text in gold if text != "###"]
    taken: set[int] = set()
    right = 0
    for box, text in known:
        for number, (other, read) in enumerate(counted):
            if number not in taken and overlap(box, other) > HALF:
                taken.add(number)
                right += _same_text(text.upper(), read.upper())
                break
    return 2 * right / (len(known) + len(counted)) if right else 0.0


def _inside(box: Box, other: Box) -> float:
    """The share of a box that lies in another one."""
    width, height = min(box[2], other[2]) - max(box[0], other[0]), min(box[3], other[3]) - max(box[1], other[1])
    return max(0, width) * max(0, height) / ((box[2] - box[0]) * (box[3] - box[1]))


def _unquoted(text: str) -> str:
    """A text without double quotes around it, in which a backslash escapes itself and a quote."""
    quoted = QUOTED.fullmatch(text.replace("\r", ""))
    return quoted[1].replace("\\\\", "\\").replace('\\"', '"') if quoted else text.replace("\r", "")


def _same_text(gold: str, read: str) -> bool:
    """Whether a text is the reference, which may have lost a mark at either end."""
    starts = {0, 1} if gold[:1] and gold[0] in AT_ENDS else {0}
    ends = {0, 1} if gold[-1:] and gold[-1] in AT_ENDS else {0}
    return any(gold[start : len(gold) - end] == read for start in starts for end in ends)
