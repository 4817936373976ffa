"""The places that an answer names in a picture: the `box` and `point` filters.

They read numbers and never change their units: which units a model writes belongs to its prompt block (docs/guides/grounding.md),
and the target of a document is written in the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from mm_eval.scoring.filters.base import EachAnswer, found_by, is_unread, register_filter
from mm_eval.scoring.filters.extraction import rule_for, unread

_WIDE = str.maketrans("（）［］，；：", "()[],;:")
_NUMBER = r"([-+]?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20}))"
_AXIS = r"(?:[xy]_?(?:min|max|[12])?|left|top|right|bottom)"
_STATED = rf"[\"']?\s{{0,3}}{_AXIS}[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?"
_LABEL = rf"(?:{_STATED})?"
_COMMA = r"[\"']?\s{0,3}[,;]\s{0,9}"
_PAIR = r"\s{0,3}[\])]\s{0,3},?\s{0,3}[\[(]\s{0,3}"
"""Between the two corners of "(1,2),(3,4)"."""
_WORDS = r"\s{0,3}[\])][^\d()\[\]<>\n.]{1,40}[\[(]\s{0,3}"
"""Between the two corners of "top-left (1, 2), bottom-right (3, 4)" and "(1, 2) to (3, 4)"."""
_BEFORE = r"(?<![\w.%-])(?<!\d,)(?<!\d, )(?<!\d; )"
_AFTER = r"(?![\d%]|\.\d|\s{0,3}[,;]\s{0,9}[-+.]?\d)"
"""A number before or after makes it a longer list, and not a place."""


def _listed(*gaps: str) -> re.Pattern[str]:
    """Numbers with these gaps, each with or without a label such as "x1=" in front."""
    numbers = _LABEL + _NUMBER + "".join(gap + _LABEL + _NUMBER for gap in gaps)
    return re.compile(_BEFORE + numbers + _AFTER, re.IGNORECASE)


def _spaced(count: int) -> re.Pattern[str]:
    """So many numbers with blanks between them: within brackets or a tag, or as the whole answer."""
    return re.compile(r"(?:^|[\[(>])\s{0,3}" + r"\s{1,9}".join([_NUMBER] * count) + r"\s{0,3}(?:$|[\])<])")


_TAGGED = re.compile(
    r"<\|?box(?:_start)?\|?>\s{0,3}[\[(]\s{0,3}" + _NUMBER + _COMMA + _NUMBER + _PAIR + _NUMBER + _COMMA + _NUMBER
)
_FLAT_BOXES = (_listed(_COMMA, _COMMA, _COMMA), _spaced(4))
_IN_MARKS = re.compile(r"<\|?box(?:_start)?\|?>" + rf"\s{{0,3}}<{_NUMBER}>" * 4)
_LOCATIONS = re.compile(r"\s{0,3}".join([r"<loc(\d{4})>"] * 4))
"""PaliGemma's boxes, which are [top, left, bottom, right]."""
_BOXES = (_IN_MARKS, _LOCATIONS, *_FLAT_BOXES, _listed(_COMMA, _PAIR, _COMMA), _TAGGED, _listed(_COMMA, _WORDS, _COMMA))
_POINT_TAG = re.compile(
    rf"<points?\s{{1,9}}x1?\s{{0,3}}=\s{{0,3}}[\"']?{_NUMBER}[\"']?\s{{1,9}}y1?\s{{0,3}}=\s{{0,3}}[\"']?{_NUMBER}",
    re.IGNORECASE,
)
"""Molmo's tags of one point, and of several, whose first counts."""
_APART = re.compile(
    _BEFORE + _STATED + _NUMBER + r"[\"']?(?:\s{1,9}|\s{0,3}[,;]?\s{0,3}\band\s{1,3})" + _STATED + _NUMBER + _AFTER,
    re.IGNORECASE,
)
"""A point in words: "x = 10 and y = 20", or each on its line."""
_TURNED_TAG = re.compile(
    rf"<points?\s{{1,9}}y1?\s{{0,3}}=\s{{0,3}}[\"']?{_NUMBER}[\"']?\s{{1,9}}x1?\s{{0,3}}=\s{{0,3}}[\"']?{_NUMBER}",
    re.IGNORECASE,
)
_POINTS = (_listed(_COMMA), _spaced(2), _POINT_TAG, _TURNED_TAG, _APART)
_NAMED = re.compile(rf"(?<![A-Za-z])({_AXIS})[\"']?\s{{0,3}}[:=]", re.IGNORECASE)
_ROWS_FIRST = re.compile(
    r"(?:(?<![A-Za-z_])box_2d[\"']?\s{0,3}[:=]|y_?(?:min|1),\s{0,3}x_?(?:min|1),\s{0,3}y_?(?:max|2),\s{0,3}x_?(?:max|2)[\])]?\s{0,3}[:=]?)"
    r"\s{0,9}[\[(]?\s{0,9}\Z"
)
"""Before the numbers of boxes that are [top, left, bottom, right], as Gemini's are."""
_ROW_FIRST = re.compile(
    r"(?<![A-Za-z_])(?:y,\s{0,3}x|row,\s{0,3}col(?:umn)?)[\])]\s{0,3}(?:[:=]|is)?\s{0,9}[\[(]?\s{0,9}\Z"
)
"""Before the numbers of a point that says so: "[y, x] = [10, 20]"."""


def first_box(text: str) -> list[float] | None:
    """The first box, [left, top, right, bottom] with its corners in order, or None.

    >>> first_box('```json\\n[{"bbox_2d": [40, 30, 10, 90], "label": "dog"}]\\n```')
    [10.0, 30.0, 40.0, 90.0]
    >>> first_box("<ref>the dog</ref><box>(10,30),(40,90)</box>")
    [10.0, 30.0, 40.0, 90.0]
    >>> first_box('[{"box_2d": [20, 10, 40, 30]}]'), first_box("(10, 20) to (30, 40)")
    ([10.0, 20.0, 30.0, 40.0], [10.0, 20.0, 30.0, 40.0])
    """
    return _in_order(_first(_BOXES, text)[1])


def _columns_first(numbers: list[float], text: str, match: re.Match[str]) -> list[float]:
    """The numbers of a box or point with x before y, by their own names or by what stands before them."""
    names = [name.lower() for name in _NAMED.findall(match[0])]
    if len(names) == len(numbers):
        columns = [n for n, name in zip(numbers, names, strict=True) if name[0] in "x" or name in ("left", "right")]
        rows = [n for n, name in zip(numbers, names, strict=True) if name[0] in "y" or name in ("top", "bottom")]
        if len(columns) == len(rows):
            return [number for pair in zip(columns, rows, strict=True) for number in pair]
    start = match.start()
    if len(numbers) == 4 and (_ROWS_FIRST.search(text[max(0, start - 60) : start]) or match[0].startswith("<loc")):
        return [numbers[1], numbers[0], numbers[3], numbers[2]]
    if len(numbers) == 2 and _ROW_FIRST.search(text[max(0, start - 60) : start]):
        return numbers[::-1]
    return numbers


def first_point(text: str) -> list[float] | None:
    """The first point, [x, y], or the centre of a box that comes first, or None. Two pairs are a box only in a box tag.

    >>> first_point("pyautogui.click(x=0.25, y=0.5)"), first_point("[10, 20, 30, 40]"), first_point("(1, 2), (3, 4)")
    ([0.25, 0.5], [20.0, 30.0], [1.0, 2.0])
    """
    (at_box, box), (at_point, point) = (
        _first((*_FLAT_BOXES, _TAGGED, _IN_MARKS, _LOCATIONS), text),
        _first(_POINTS, text),
    )
    if box and at_box <= at_point:
        return [(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]
    return point


def _first(patterns: Sequence[re.Pattern[str]], text: str) -> tuple[int, list[float] | None]:
    """The start and the numbers of the earliest match."""
    text = text.translate(_WIDE)
    found = [match for pattern in patterns if (match := pattern.search(text))]
    if not found:
        return len(text), None
    first = min(found, key=lambda match: match.start())
    return first.start(), _columns_first([float(number) for number in first.groups()], text, first)


def _in_order(corners: list[float] | None) -> list[float] | None:
    if corners is None:
        return None
    (left, right), (top, bottom) = sorted(corners[0::2]), sorted(corners[1::2])
    return [left, top, right, bottom]


class _Place(EachAnswer):
    """Reads a place as text: "[10, 30, 40, 90]"."""

    read: Callable[[str], list[float] | None]
    rule: str

    def one(self, answer: Any) -> Any:
        place = type(self).read(answer) if isinstance(answer, str) and not is_unread(answer) else None
        if place is None:
            return unread(answer, None)
        return found_by(f"[{', '.join(f'{number:.10g}' for number in place)}]", rule_for(answer, self.rule))


@register_filter("box")
class BoxFilter(_Place):
    """The first box of an answer, in the answer's own units: "[x1, y1, x2, y2]", "(x1, y1) to (x2, y2)", JSON or box tags.

    Of Gemini's `box_2d`, whose order is y first, x is put first.

    A list of five numbers or more, and percentages, are not read as a box.
    """

    read, rule = staticmethod(first_box), "box"


@register_filter("point")
class PointFilter(_Place):
    """The first point of an answer, in the answer's own units: "(x, y)", "x=..., y=...", JSON, a tag, or the centre of a box."""

    read, rule = staticmethod(first_point), "point"
