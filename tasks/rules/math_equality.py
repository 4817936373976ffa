r"""Mathematical equality of two answers: "\frac{1}{2}" and "0.5", "(1, 2)" and "(1,2)", "2x+1" and "1+2x".

The rules follow the graders of Hendrycks et al. 2021 (arXiv 2103.03874) and Lightman et al. 2023 (arXiv 2305.20050): the notation
is simplified, tuples, sets and matrices are compared by element, and expressions by value. See `math_values` for the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from mm_eval.tasks.rules.math_answer import last_boxed
from mm_eval.tasks.rules.math_values import DIGITS, Value, samples, value_of, variables

from mm_eval.scoring.metrics.generation import best_over_targets
from mm_eval.scoring.metrics.metric import metric

LONGEST = 2000
"""The most characters of an answer whose notation is simplified; a longer one is only compared as text."""
_MOST_PARTS = 50

_TEXT = re.compile(r"\\(?:text|textbf|textit|mathrm|mathbf|mathit|mbox|operatorname|rm|bf)\s*\{([^{}]*)\}")
_UNIT = re.compile(
    r"(?<=[\d}\s)])\s*(?:square|cubic|sq\.?|cu\.?)?\s*(?:degrees?|cm|mm|km|centimet(?:er|re)s?|met(?:er|re)s?|miles?|seconds?|"
    r"minutes?|hours?|days?|weeks?|months?|years?|foot|feet|inch(?:es)?|yards?|units?|dollars?|cents?|mph)\s*(?:\^\{?\d\}?)?\.?$",
    re.IGNORECASE,
)
_GONE = ("\\left", "\\right", "\\!", "\\,", "\\;", "\\:", "\\ ", "~", "\\$", "$", "\\%", "%", "^{\\circ}", "^\\circ",
         "\\degree", "°", "\\displaystyle", "\\quad", "\\(", "\\)", "\\[", "\\]")  # fmt: skip
_SAME = {
    "\\tfrac": "\\frac", "\\dfrac": "\\frac", "\\cfrac": "\\frac", "−": "-", "–": "-", "×": "\\times ", "·": "\\cdot ",
    "÷": "/", "π": "\\pi ", "∞": "\\infty ", "²": "^2", "³": "^3", "\\infinity": "\\infty", "{,}": ",", "\\{": "{", "\\}": "}",
    "\\lbrace": "{", "\\rbrace": "}", "∪": "\\cup ", "\\le ": "\\leq ", "\\ge ": "\\geq ", "≤": "\\leq ", "≥": "\\geq ",
}  # fmt: skip
_MIXED = re.compile(r"(?<![\d./])(-?)(\d+) +(?:\\frac\{(\d+)\}\{(\d+)\}|(\d+)/(\d+))")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"([-+]?)(\d{0,100})(?:\.(\d{0,100}))?")
_FRACTION = re.compile(r"([-+]?)(?:\\frac\{(-?\d{1,100})\}\{(-?\d{1,100})\}|(-?\d{1,100})/(-?\d{1,100}))")
_MATRIX = re.compile(r"\\begin\{[bpvBV]?(?:matrix|array)\}(.*)\\end\{[bpvBV]?(?:matrix|array)\}", re.DOTALL)
_BASE = re.compile(r"(?=[A-Fa-f]*\d)([0-9A-Fa-f]+)(?:_\{?([2-9]|[1-3]\d)\}?)?")
_CLOSING = {"(": ")]", "[": ")]", "{": "}"}


def math_equal(one: str, other: str, decimals: int | None = None) -> bool:
    """Whether two answers are mathematically equal; units, percent signs and the way of writing don't count.

    decimals: real numbers are equal if they are after rounding to so many decimal places; None: if they are exactly.
    An empty answer equals nothing. Nothing is evaluated as Python code, and time is bounded whatever the answers are.
    """
    if not one.strip() or not other.strip():
        return False
    if one.strip() == other.strip():
        return True
    if max(len(one), len(other)) > LONGEST:
        return False
    return _equal(plain_math(one), plain_math(other), decimals, depth=0)


def plain_math(text: str) -> str:
    """An answer in one notation: without blanks, units, signs of currency, percent and degree, and without LaTeX's layout."""
    text = text.strip().rstrip(".").strip().replace("\\\\", "\1" if _MATRIX.search(text) else "\\")
    for _ in range(3):
        text = _TEXT.sub(r" \1 ", text)
    for written in _GONE:
        text = re.sub(re.escape(written) + ("(?![A-Za-z])" if written[-1].isalpha() else ""), "", text)
    for written, same in _SAME.items():
        text = text.replace(written, same)
    text = re.sub(r"\s+(?:or|and)\s+", ",", text.strip().rstrip("."))
    text = _UNIT.sub("", text.strip())
    text = _MIXED.sub(lambda m: f"{m[1]}({m[2]}+\\frac{{{m[3] or m[5]}}}{{{m[4] or m[6]}}})", text)
    text = re.sub(r"(\\[A-Za-z]+)\s+(?=[A-Za-z])", "\\1\0", text)  # a command's end
    text = re.sub(r"_(\w)", r"_{\1}", text)
    text = re.sub(r"\s+", "", text).replace("\0", " ").replace("\1", "\\\\")
    text = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", text)
    name, equals, rest = text.partition("=")
    if equals and re.fullmatch(r"[A-Za-z](?:_\{?\w\}?)?", name) and rest and "=" not in rest and "," not in rest:
        text = rest
    text = re.sub(r"^[A-Za-z]\\in(?![a-z]) ?", "", text)  # an interval of x
    return text[1:] if text.startswith("+") else text


def _equal(one: str, other: str, decimals: int | None, depth: int) -> bool:
    """Equality of two texts in plain notation."""
    if not one or not other:
        return False
    if one.lower() == other.lower():
        return True
    if (base := _BASE.fullmatch(one)) and (other_base := _BASE.fullmatch(other)):
        # "2516_8" and "2516" are equal: an answer may leave out the base, which the question states
        same_base = None in (base[2], other_base[2]) or base[2] == other_base[2]
        if base[2] or other_base[2]:
            return same_base and base[1].lower() == other_base[1].lower()
    first, second = exact(one), exact(other)
    if first is not None and second is not None:
        return first == second or (decimals is not None and _round(first, decimals) == _round(second, decimals))
    if depth < 5:
        (kind, parts), (other_kind, other_parts) = _parts(one), _parts(other)
        if len(parts) > 1 or len(other_parts) > 1:
            return kind == other_kind and _equal_parts(kind, parts, other_parts, decimals, depth + 1)
        if (parts[0], other_parts[0]) != (one, other):
            return _equal(parts[0], other_parts[0], decimals, depth + 1)
    for sign in ("\\leq", "\\geq", "\\neq", "<", ">", "="):
        if sign in one or sign in other:
            return _equal_relations(one.split(sign), other.split(sign), sign, decimals, depth)
    return _equal_values(one, other, decimals)


def _equal_relations(one: list[str], other: list[str], sign: str, decimals: int | None, depth: int) -> bool:
    """Relations are equal if both sides are; those of an equation may be exchanged."""
    if len(one) != len(other) or depth >= 5 or len(one) > 4:
        return False
    orders = [other, other[::-1]] if sign == "=" else [other]
    return any(all(_equal(a, b, decimals, depth + 1) for a, b in zip(one, order, strict=True)) for order in orders)


def _equal_parts(kind: str, one: list[str], other: list[str], decimals: int | None, depth: int) -> bool:
    """Elements are compared in order; those of sets, and of lists without brackets, in any order."""
    if len(one) != len(other) or len(one) > _MOST_PARTS:
        return False
    if kind not in ("{}", "", "cup"):
        return all(_equal(a, b, decimals, depth) for a, b in zip(one, other, strict=True))
    left = list(other)
    for part in one:
        place = next((place for place, each in enumerate(left) if _equal(part, each, decimals, depth)), None)
        if place is None:
            return False
        del left[place]
    return True


def _equal_values(one: str, other: str, decimals: int | None) -> bool:
    """Equality of expressions: as numbers, or at fixed values of their variables."""
    names = (variables(one) | variables(other)) - {"i"}
    if not names:
        first, second = value_of(one), value_of(other)
        return first is not None and second is not None and same_value(first, second, decimals)
    if len(names) > 4:
        return False
    pairs = [(value_of(one, at), value_of(other, at)) for at in samples(names)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return len(known) >= 2 and all(same_value(a, b, None) for a, b in known)


def same_value(one: Value, other: Value, decimals: int | None) -> bool:
    """Equality of two numbers of `value_of`."""
    real = not getattr(one, "imag", 0) and not getattr(other, "imag", 0)
    if decimals is not None and real and max(abs(one), abs(other)) < 1e300:
        return _round(one.real, decimals) == _round(other.real, decimals)
    return bool(
        abs(one - other) <= max(abs(one), abs(other)) * 10 ** -(DIGITS * 3 / 5) or max(abs(one), abs(other)) < 1e-40
    )


def exact(text: str) -> Fraction | None:
    """The number that a whole text in plain notation is, as "-0.5", "1,000", "3/4" or "\\frac{3}{4}"; None if it is none."""
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    number = _NUMBER.fullmatch(text)
    if number and (number[2] or number[3]):
        sign, whole, decimals = number[1], number[2] or "", number[3] or ""
        return Fraction(int(sign + "0" + whole + decimals), 10 ** len(decimals))
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        top, bottom = int(fraction[2] or fraction[4]), int(fraction[3] or fraction[5])
        if bottom:
            return Fraction(-top if fraction[1] == "-" else top, bottom)
    return None


def _round(number: Any, decimals: int) -> float:
    try:
        return round(float(number), decimals)
    except OverflowError:
        return float("inf")


def _parts(text: str) -> tuple[str, list[str]]:
    r"""The kind of a tuple, set, list, union or matrix and its elements; a text that is none of them is its own only element.

    kind: the brackets, "" for a list without brackets, "cup" for a union, "matrix" with the number of rows.
    """
    matrix = _MATRIX.fullmatch(text)
    if matrix:
        rows = [row for row in re.sub(r"^\{[lcr|]*\}", "", matrix[1]).split("\\\\") if row]
        if rows:
            return f"matrix {len(rows)}", [cell for row in rows for cell in row.split("&")]
    for kind, separator in (("cup", "\\cup"), ("", ",")):
        parts = _split(text, separator)
        if len(parts) > 1:
            return kind, _both_signs(parts)
    if text.count("\\pm") == 1 and "," not in text:
        return "", _both_signs([text])
    if len(text) > 2 and text[-1] in _CLOSING.get(text[0], "") and _closes_at_end(text):
        inner = _split(text[1:-1], ",")
        if text[0] == "{":
            inner = _both_signs(inner)
        return text[0] + text[-1] if len(inner) > 1 else "", inner
    return "", [text]


def _both_signs(parts: list[str]) -> list[str]:
    r"""The elements with both values of one that has a single \pm."""
    found = []
    for part in parts:
        if part.count("\\pm") == 1:
            found += [part.replace("\\pm", "+").removeprefix("+"), part.replace("\\pm", "-")]
        else:
            found.append(part)
    return found


def _closes_at_end(text: str) -> bool:
    """Whether the bracket that opens a text is closed by its last character."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return place == len(text) - 1
    return False


def _split(text: str, separator: str) -> list[str]:
    """The parts of a text between separators outside of all brackets; a thousands separator separates nothing."""
    if _THOUSANDS.fullmatch(text) or separator not in text:
        return [text]
    depth, cuts = 0, [-len(separator)]
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and text.startswith(separator, place):
            cuts.append(place)
    parts = [text[a + len(separator) : b] for a, b in pairwise([*cuts, len(text)])]
    return parts if all(parts) else [text]


@metric("math_equal", output_type="generate_until", aggregation="mean")
def math_equal_fn(references: Any, predictions: Sequence[Any], decimals: int | None = None) -> list[int]:
    r"""1 where an answer is mathematically equal to an accepted one (see `math_equal`).

    The last \boxed{...} of a text, if it has one, is compared instead of the whole text.
    """

    def equal(target: str, answer: str) -> int:
        return int(math_equal(last_boxed(target) or target, last_boxed(answer) or answer, decimals))

    return best_over_targets(references, predictions, equal, multiple_targets=True)
