r"""Mathematical equality of two answers: "\frac{1}{2}" and "0.5", "(1, 2)" and "(1,2)", "m+n = 293" and "293", "2x+1" and "1+2x".

The rules follow the graders of Hendrycks et al. 2021 (arXiv 2103.03874) and Lightman et al. 2023 (arXiv 2305.20050): the notation
is simplified (`math_notation`), names of quantities and units are set apart (`math_answers`), tuples, sets and matrices are
compared by element, and expressions by value. See `math_values` for the bounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from mm_eval.tasks.rules.math_answer import last_boxes
from mm_eval.tasks.rules.math_answers import Stated, name_of, stated
from mm_eval.tasks.rules.math_notation import BLANK
from mm_eval.tasks.rules.math_values import DIGITS, Value, rational_of, samples, value_of, variables

from mm_eval.scoring.metrics.generation import best_over_targets
from mm_eval.scoring.metrics.metric import metric

LONGEST = 2000
"""The most characters of an answer whose notation is simplified; a longer one is only compared as text."""
PRECISE = 300
"""Expressions are compared with so many digits, so that 2^{200}\\sqrt{2}+1 is not 2^{200}\\sqrt{2}."""
_MOST_PARTS = 50

_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_NUMBER = re.compile(r"([-+]?)(\d{0,100})(?:\.(\d{0,100}))?")
_LONG_NUMBER = re.compile(r"([-+]?)(\d{0,2000})(?:\.(\d{0,2000}))?")
_FRACTION = re.compile(r"([-+]?)(?:\\frac\{(-?\d{1,100})\}\{(-?\d{1,100})\}|(-?\d{1,100})/(-?\d{1,100}))")
_POWER_OF_TEN = re.compile(
    r"\(?([-+]?)(\d{0,40}(?:\.\d{0,40})?)(?:(?:(?<=[\d.])(?:\\cdot|\\times|\*) ?)?10\^(?:\{([-+]?\d{1,4})\}|(\d)))\)?"
)
_MATRIX = re.compile(
    r"\\begin\{([bpvBV]?)(?:small)?(?:matrix|array)\}(.*)\\end\{[bpvBV]?(?:small)?(?:matrix|array)\}", re.DOTALL
)
_BASE = re.compile(r"\(?(?=[A-Fa-f]*\d)([0-9A-Fa-f]+)\)?(?:_\{?([2-9]|[1-3]\d)\}?)?")
_DECIMAL = re.compile(r"(?<![\d.])(\d{0,100})\.(\d{1,100})(?![\d.])|(?<![\d.])(\d{1,100})\.(?![\d.])")
_CLOSING = {"(": ")]", "[": ")]", "{": "}"}
_UNORDERED = ("{}", "")


def math_equal(one: str, other: str, decimals: int | None = None) -> bool:
    """Whether two answers are mathematically equal, in either order; names of quantities and the way of writing don't count.

    A unit, a percent sign or a name may be left out; two different ones are not equal ("5 cm" and "5 m"; "x=5" and "y=5").
    decimals: real numbers are equal if they are after rounding to so many decimal places; None: if they are exactly.
    An empty answer equals nothing. Nothing is evaluated as Python code, and time is bounded whatever the answers are.
    """
    if not one.strip() or not other.strip():
        return False
    if one.strip() == other.strip():
        return True
    if max(len(one), len(other)) > LONGEST:
        return False
    return _equal_answers(stated(one), stated(other), decimals)


def _equal_answers(one: list[Stated], other: list[Stated], decimals: int | None) -> bool:
    """Values with different names are compared by name, or in order where only one answer has names; others in any order."""
    if len(one) == len(other) == 1:
        return _equal_stated(one[0], other[0], decimals)
    one, other = _listed(one, other), _listed(other, one)
    if len(one) != len(other) or len(one) > _MOST_PARTS:
        return False
    names, others = _distinct(one), _distinct(other)
    if names and others:
        if set(names) != set(others):
            return False
        by_name = dict(zip(others, other, strict=True))
        return all(_equal_stated(each, by_name[name], decimals) for name, each in zip(names, one, strict=True))
    if any(_is_ordered(each) for each in (names, others)):
        one, other = _in_order(one, names), _in_order(other, others)
        return all(_equal_stated(a, b, decimals) for a, b in zip(one, other, strict=True))
    left = list(other)
    for each in one:
        place = next((place for place, that in enumerate(left) if _equal_stated(each, that, decimals)), None)
        if place is None:
            return False
        del left[place]
    return True


def _listed(answer: list[Stated], other: list[Stated]) -> list[Stated]:
    """The elements of an answer that is one set or list, or one tuple beside values with names, where the other has as many."""
    if len(answer) != 1 or len(other) == 1 or len(answer[0].values) != 1:
        return answer
    kind, parts = _parts(answer[0].values[0])
    if (
        len(parts) != len(other)
        or kind not in _UNORDERED
        and not (kind == "()" and not answer[0].name and _distinct(other))
    ):
        return answer
    return [Stated(answer[0].name, (part,), answer[0].unit) for part in parts]


def _distinct(answer: list[Stated]) -> list[str]:
    """The names of values that all have one of their own; none otherwise."""
    names = [name_of(each.name) for each in answer]
    return names if all(names) and len(set(names)) == len(names) else []


def _is_ordered(names: list[str]) -> bool:
    """Whether names give an order: x and y do, the roots x_1 and x_2 don't."""
    return bool(names) and len({re.sub(r"_.*", "", name) for name in names}) == len(names)


def _in_order(answer: list[Stated], names: list[str]) -> list[Stated]:
    """Values by the order of their names, and then without names."""
    if names and all(re.fullmatch(r"[A-Za-z]", name) for name in names):
        answer = [each for _, each in sorted(zip(names, answer, strict=True), key=lambda pair: pair[0])]
    return [Stated("", each.values, each.unit) for each in answer]


def _equal_stated(one: Stated, other: Stated, decimals: int | None) -> bool:
    """Equality of two values with their names and units, or of two equations."""
    if _same_names(one.name, other.name) and any(
        _equal_measured(a, one.unit, b, other.unit, decimals) for a in one.values for b in other.values
    ):
        return True
    if one.relation and other.relation and _same_units(one.unit, other.unit):
        return _equal_equations(one.relation, other.relation, decimals)
    return False


def _same_names(one: str, other: str) -> bool:
    """Whether two values are of one quantity, as far as the answers say: "AB" and "BA", "m+n" and "n+m"."""
    one, other = name_of(one), name_of(other)
    if not one or not other or one == other:
        return True
    if re.fullmatch(r"[A-Za-z']{3,}", one) and re.fullmatch(r"[A-Za-z']{3,}", other):
        return one.lower() == other.lower()
    if re.fullmatch(r"(?:\\angle ?)?[A-Z]{2,3}", one):
        commands = one.rpartition(" ")[0], other.rpartition(" ")[0]
        return commands[0] == commands[1] and one.rpartition(" ")[2] == other.rpartition(" ")[2][::-1]
    return bool(variables(one)) and variables(one) == variables(other) and _equal_values(one, other, None)


def _same_units(one: str, other: str) -> bool:
    """Whether two units are one, as far as the answers say; "units" are any, and "apples" are "red apples"."""
    if not one or not other or one == other or "unit" in (one.partition("^")[0], other.partition("^")[0]):
        return True
    words, others = set(one.split()), set(other.split())
    return len(words | others) > 2 - ("^" in one + other) and (words <= others or others <= words)


def _equal_measured(one: str, unit: str, other: str, other_unit: str, decimals: int | None) -> bool:
    """Equality of two values with units. A percentage is also a share ("50%" is 1/2), and degrees are also radians."""
    if _same_units(unit, other_unit) and _equal(one, other, decimals, depth=0):
        return True
    if (unit, other_unit) in (("", "percent"), ("", "°"), ("rad", "°")):
        one, unit, other, other_unit = other, other_unit, one, unit
    if unit == "percent" and not other_unit:
        return _equal(f"\\frac{{{one}}}{{100}}", other, decimals, depth=0)
    if unit == "°" and other_unit in ("", "rad") and ("\\pi" in other or other_unit):
        return _equal(f"\\frac{{({one})\\pi }}{{180}}", other, decimals, depth=0)
    if unit in _IN_BASE_UNITS and other_unit in _IN_BASE_UNITS:
        (base, factor), (other_base, other_factor) = _IN_BASE_UNITS[unit], _IN_BASE_UNITS[other_unit]
        return base == other_base and _equal(
            f"({one})\\cdot {factor}", f"({other})\\cdot {other_factor}", decimals, depth=0
        )
    return False


_IN_BASE_UNITS = {
    "mm": ("m", "1"), "cm": ("m", "10"), "m": ("m", "1000"), "km": ("m", "1000000"), "mg": ("g", "1"), "g": ("g", "1000"),
    "kg": ("g", "1000000"), "s": ("s", "1"), "min": ("s", "60"), "h": ("s", "3600"), "day": ("s", "86400"), "cent": ("$", "1"),
    "$": ("$", "100"), "in": ("in", "1"), "ft": ("in", "12"), "yd": ("in", "36"), "ml": ("l", "1"), "l": ("l", "1000"),
    "oz": ("lb", "1"), "lb": ("lb", "16"),
}  # fmt: skip
"""A unit -> its base and how many of the smallest unit it is."""


def _equal(one: str, other: str, decimals: int | None, depth: int) -> bool:
    """Equality of two texts in plain notation."""
    one, other = _without_brackets(one), _without_brackets(other)
    if not one or not other:
        return False
    if one == other or _same_words(one, other):
        return True
    if BLANK in one + other:
        return False
    if (base := _BASE.fullmatch(one)) and (other_base := _BASE.fullmatch(other)):
        # "2516_8" and "2516" are equal: an answer may leave out the base, which the question states
        same_base = None in (base[2], other_base[2]) or base[2] == other_base[2]
        if base[2] or other_base[2]:
            return same_base and base[1].lower() == other_base[1].lower()
    first, second = _exact(one), _exact(other)
    if first is not None and second is not None:
        return first == second or (decimals is not None and _round(first, decimals) == _round(second, decimals))
    if depth < 5:
        (kind, parts), (other_kind, other_parts) = _parts(one), _parts(other)
        if len(parts) > 1 or len(other_parts) > 1:
            same_kind = kind == other_kind or kind in _UNORDERED and other_kind in _UNORDERED
            return same_kind and _equal_parts(kind, parts, other_parts, decimals, depth + 1)
        if (parts[0], other_parts[0]) != (one, other):
            return _equal(parts[0], other_parts[0], decimals, depth + 1)
    for sign in ("\\leq", "\\geq", "\\neq", "<", ">", "="):
        if sign in one or sign in other:
            return _equal_relations(one.split(sign), other.split(sign), sign, decimals, depth)
    return _equal_values(one, other, decimals)


def _same_words(one: str, other: str) -> bool:
    """Equality but for case: of words and of letters that stand alone, not of "\\Delta" and "\\delta" or "A/a" and "a/A"."""
    if "\\" in one + other or one.lower() != other.lower():
        return False
    return all(len(set(text)) == len(set(text.lower())) for text in (one, other)) or one.isalpha()


def _equal_equations(one: str, other: str, decimals: int | None) -> bool:
    """Whether two equations, or inequalities, say the same: side by side, or because one is a multiple of the other."""
    if _equal(one, other, decimals, depth=0):
        return True
    sides = [text.replace("==", "=").split("=") for text in (one, other)]
    if any(len(each) != 2 or re.search(r"[<>]|\\(?:leq|geq|neq)", "".join(each)) for each in sides):
        return False
    names = frozenset[str]().union(*(variables(side) for each in sides for side in each)) - {"i"}
    if not 0 < len(names) <= 4:
        return False
    ratios = list[Value]()
    for at in _points(names):
        values = [value_of(_by_fractions(side), at, PRECISE) for each in sides for side in each]
        if None not in values:
            first, second = values[0] - values[1], values[2] - values[3]
            if not first or not second:
                return False
            ratios.append(first / second)
    return len(ratios) > 3 and all(_close(ratio, ratios[0]) for ratio in ratios)


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
    if kind not in (*_UNORDERED, "cup"):
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
    one, other = _by_fractions(one), _by_fractions(other)
    names = (variables(one) | variables(other)) - {"i"}
    if not names:
        first, second = rational_of(one), rational_of(other)
        if first is not None and second is not None and decimals is None:
            return first == second
        number, that = value_of(one, digits=PRECISE), value_of(other, digits=PRECISE)
        if number is None or that is None:
            return False
        return _close(number, that) if decimals is None else same_value(number, that, decimals)
    if len(names) > 4:
        return False
    pairs = [(value_of(one, at, PRECISE), value_of(other, at, PRECISE)) for at in _points(names)]
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return len(known) >= len(pairs) / 2 and all(_close(a, b) for a, b in known)


def _points(names: frozenset[str]) -> list[dict[str, Value]]:
    """Fixed values of variables: of equal and of mixed signs, small and large."""
    points = [*samples(names, 4, digits=PRECISE), *samples(names, 4, mixed_signs=True, digits=PRECISE)]
    return [
        {name: value * (1 if place % 4 < 2 else 31) for name, value in at.items()} for place, at in enumerate(points)
    ]


def _close(one: Value, other: Value) -> bool:
    """Equality of two numbers that were evaluated with `PRECISE` digits."""
    largest = max(abs(one), abs(other))
    return bool(abs(one - other) <= largest * 10 ** -(PRECISE // 3) or largest < 10 ** -(PRECISE // 3 * 2))


def _by_fractions(text: str) -> str:
    """An expression without decimals, which the parser would round to 15 digits."""

    def fraction(match: re.Match[str]) -> str:
        whole, decimals = match[1] or match[3] or "0", match[2] or ""
        number = rf"\frac{{{int(whole + decimals)}}}{{{10 ** len(decimals)}}}"
        return f"{{{number}}}" if text[match.start() - 1 : match.start()] in ("^", "_") else f"({number})"

    return _DECIMAL.sub(fraction, text)


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


def _exact(text: str) -> Fraction | None:
    """The number that a whole text is: as `exact`, with more digits or a power of ten ("3\\cdot 10^{-5}")."""
    number = exact(text)
    if number is None and (long := _LONG_NUMBER.fullmatch(text)) and (long[2] or long[3]):
        whole, decimals = long[2] or "", long[3] or ""
        number = Fraction(int(long[1] + "0" + whole + decimals), 10 ** len(decimals))
    if number is None and (power := _POWER_OF_TEN.fullmatch(text)) and power[2] != ".":
        times = exact(power[2]) if power[2] else Fraction(1)
        exponent = int(power[3] or power[4])
        if times is not None and abs(exponent) <= 3000:
            number = times * Fraction(10) ** exponent * (-1 if power[1] == "-" else 1)
    return number


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
        rows = [row for row in re.sub(r"^\{[lcr|]*\}", "", matrix[2]).split("\\\\") if row]
        if rows:
            kind = "determinant" if matrix[1] in ("v", "V") else "matrix"
            return f"{kind} {len(rows)}", [cell for row in rows for cell in row.split("&")]
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


def _without_brackets(text: str) -> str:
    """A text without the brackets around one value."""
    for _ in range(5):
        is_one = len(text) > 2 and text[-1] in _CLOSING.get(text[0], "") and _closes_at_end(text)
        if not is_one or len(_split(text[1:-1], ",")) > 1 or "\\pm" in text:
            return text
        text = text[1:-1]
    return text


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
    """The parts of a text between separators outside of all brackets."""
    if separator not in text:
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
        return int(math_equal(last_boxes(target) or target, last_boxes(answer) or answer, decimals))

    return best_over_targets(references, predictions, equal, multiple_targets=True)
