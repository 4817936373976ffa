"""A calculator: arithmetic on exact fractions, some functions of real numbers, and a bound on everything. No code is run.

    2 + 3 * 4, 2^10, (1/3) * 3, 15% * 200, sqrt(2), round(2/3, 2), max(1, 2), 5!, pi

A fraction stays exact: 0.1 + 0.2 is 0.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mm_eval.features.tools.tool import Given, Result, Tool, ToolError, brief

MOST_CHARACTERS = 500
MOST_BITS = 4096
"""Of the numerator and the denominator of a value."""
MOST_DEPTH = 50
"""Brackets in brackets."""
DIGITS = 12
"""Significant digits of a result that is not whole."""

Value = Fraction | float
_TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,4})?|\.\d+(?:[eE][+-]?\d{1,4})?)|([A-Za-z_]+\d*)|(\*\*|//|[-+*/^%!(),]))"
)
_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "π": " pi ", "[": "(", "]": ")", "²": "^2", "³": "^3"}
)


def calculate(expression: str) -> str:
    """The value of an expression as a decimal number.

    >>> calculate("0.1 + 0.2"), calculate("2^10 - 1"), calculate("1/3"), calculate("15% * 200")
    ('0.3', '1023', '0.333333333333', '30')

    Errors: ToolError for a text that is no expression, and for a value that is undefined or too large.
    """
    if len(expression) > MOST_CHARACTERS:
        raise ToolError(f"the expression has {len(expression):,} characters; at most {MOST_CHARACTERS} are allowed.")
    try:
        return written(_Reader(expression).whole())
    except ZeroDivisionError:
        raise ToolError("the expression divides by zero.") from None
    except OverflowError:
        raise ToolError("the value is too large.") from None
    except ToolError:
        raise
    except ValueError:
        raise ToolError("the value is undefined.") from None


def written(value: Value) -> str:
    """A value as text: a whole number in full, another one with `DIGITS` significant digits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ToolError("the value is undefined." if math.isnan(value) else "the value is too large.")
    if value == int(value) and (isinstance(value, Fraction) or abs(value) < 10**DIGITS):
        return str(int(value))
    return f"{float(value):.{DIGITS}g}"


class _Reader:
    """Reads an expression from left to right; every method reads one kind of it and returns its value."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text.translate(_SIGNS).strip().rstrip("= ")))
        self.place = self.depth = 0

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *signs: str) -> str:
        found = self.next
        if found and found in signs:
            self.place += 1
            return found
        return ""

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise ToolError(
                f"the expression is incomplete: {sign!r} is missing{f' before {self.next!r}' if self.next else ''}."
            )

    def whole(self) -> Value:
        if not self.tokens:
            raise ToolError("the expression is empty.")
        found = self.sum()
        if self.next:
            hint = " Write numbers without thousands separators." if self.next == "," else ""
            raise ToolError(f"{self.next!r} is not expected here.{hint}")
        return found

    def sum(self) -> Value:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise ToolError(f"there are more than {MOST_DEPTH} brackets in each other.")
        found = self.product()
        while sign := self.take("+", "-"):
            other = self.product()
            found = bounded(_both(found, other, _SUMS[sign]))
        self.depth -= 1
        return found

    def product(self) -> Value:
        found = self.signed()
        while sign := self.take("*", "/", "//", "%"):
            found = bounded(_both(found, self.signed(), _PRODUCTS[sign]))
        return found

    def signed(self) -> Value:
        minus = False
        while sign := self.take("-", "+"):
            minus ^= sign == "-"
        found = self.power()
        return -found if minus else found

    def power(self) -> Value:
        base = self.postfix()
        if not self.take("^", "**"):
            return base
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise ToolError("there are too many powers in each other.")
        exponent = self.signed()
        self.depth -= 1
        return bounded(raised(base, exponent))

    def postfix(self) -> Value:
        found = self.atom()
        while True:
            if self.take("!"):
                found = factorial(found)
            elif self.next == "%" and not self.begins_value(self.place + 1):
                self.place += 1
                found = bounded(_both(found, Fraction(100), lambda a, b: a / b))
            else:
                return found

    def begins_value(self, place: int) -> bool:
        """Whether a value begins here, so that `%` before it is the remainder and not a percent sign."""
        found = self.tokens[place] if place < len(self.tokens) else ""
        return found == "(" or found[:1].isalnum() or found[:1] == "."

    def atom(self) -> Value:
        found = self.next
        if self.take("("):
            value = self.sum()
            self.expect(")")
            return value
        self.place += 1
        if found[:1].isdigit() or found[:1] == ".":
            return bounded(number(found))
        if found.lower() in CONSTANTS:
            return CONSTANTS[found.lower()]
        if found.lower() in FUNCTIONS:
            return self.of_function(found.lower())
        if not found:
            raise ToolError("the expression ends too early.")
        known = f" Functions are {', '.join(sorted(FUNCTIONS))}." if found[0].isalpha() else ""
        raise ToolError(f"{found!r} is not expected here.{known}")

    def of_function(self, name: str) -> Value:
        least, most, function = FUNCTIONS[name]
        self.expect("(")
        values = [] if self.next == ")" else [self.sum()]
        while values and self.take(","):
            values.append(self.sum())
        self.expect(")")
        if not least <= len(values) <= most:
            raise ToolError(
                f"{name} takes {least if least == most else f'{least} to {most}'} values (got {len(values)})."
            )
        return bounded(function(*values))


def _tokens(text: str) -> list[str]:
    found, place = list[str](), 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ToolError(f"{text[place:].strip()[:1]!r} is no part of an expression.")
        found.append(token[1] or token[2] or token[3])
        place = token.end()
    return found


def number(text: str) -> Fraction:
    """A decimal number, exactly. ToolError for an exponent beyond 1000."""
    mantissa, _, exponent = text.lower().partition("e")
    if abs(int(exponent or 0)) > 1000:
        raise ToolError("a number is too large or too small.")
    return Fraction(mantissa.rstrip(".") or "0") * Fraction(10) ** int(exponent or 0)


def bounded(value: Value) -> Value:
    """The value; ToolError if it is undefined, or too large to go on with."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ToolError("the value is undefined." if math.isnan(value) else "the value is too large.")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise ToolError("the value is too large.")
    return value


def _both(a: Value, b: Value, compute: Callable[[Any, Any], Any]) -> Value:
    """An operation on two values: exact if both are fractions."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return Fraction(compute(a, b))
    return float(compute(float(a), float(b)))


_SUMS: Mapping[str, Callable[[Any, Any], Any]] = {"+": lambda a, b: a + b, "-": lambda a, b: a - b}
_PRODUCTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}


def raised(base: Value, exponent: Value) -> Value:
    """A power: exact for a fraction with a whole exponent. ToolError where the result would be too large, or not real."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        power = int(exponent)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if base not in (0, 1, -1) and bits * abs(power) > 2 * MOST_BITS:
            raise ToolError("the value is too large.")
        return base**power
    if base < 0:
        raise ToolError("a root of a negative number is not real.")
    return math.pow(base, exponent)


def factorial(value: Value) -> Fraction:
    """n! of a whole number from 0. ToolError for another one, or where the result would be too large."""
    if value != int(value) or value < 0:
        raise ToolError("a factorial needs a whole number from 0.")
    if value > 400:
        raise ToolError("the value is too large.")
    return Fraction(math.factorial(int(value)))


def _real(function: Callable[[float], float]) -> Callable[..., Value]:
    return lambda value: function(float(value))


def _root(value: Value) -> Value:
    if isinstance(value, Fraction) and value >= 0:
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above**2 == value.numerator and below**2 == value.denominator:
            return Fraction(above, below)
    if value < 0:
        raise ToolError("the root of a negative number is not real.")
    return math.sqrt(value)


def _rounded(value: Value, digits: Value = Fraction(0)) -> Fraction:
    """Half away from zero, as people round."""
    if digits != int(digits) or not -100 <= digits <= 100:
        raise ToolError("round takes a whole number of digits.")
    by = Fraction(10) ** int(digits)
    shifted = Fraction(value) * by
    whole = math.floor(abs(shifted) + Fraction(1, 2))
    return Fraction(whole if shifted >= 0 else -whole) / by


def _log(value: Value, base: Value = Fraction(10)) -> float:
    return math.log10(value) if base == 10 else math.log(value) / math.log(base)


CONSTANTS: Mapping[str, Value] = {"pi": math.pi, "e": math.e}
FUNCTIONS: Mapping[str, tuple[int, int, Callable[..., Value]]] = {
    "sqrt": (1, 1, _root),
    "abs": (1, 1, abs),
    "round": (1, 2, _rounded),
    "floor": (1, 1, lambda value: Fraction(math.floor(value))),
    "ceil": (1, 1, lambda value: Fraction(math.ceil(value))),
    "min": (1, 50, min),
    "max": (1, 50, max),
    "sum": (1, 50, lambda *values: sum(values, Fraction(0))),
    "mean": (1, 50, lambda *values: sum(values, Fraction(0)) / len(values)),
    "factorial": (1, 1, factorial),
    "pow": (2, 2, raised),
    "mod": (2, 2, lambda a, b: _both(a, b, _PRODUCTS["%"])),
    "exp": (1, 1, _real(math.exp)),
    "ln": (1, 1, _real(math.log)),
    "log": (1, 2, _log),
    "log2": (1, 1, _real(math.log2)),
    "log10": (1, 1, _real(math.log10)),
    "sin": (1, 1, _real(math.sin)),
    "cos": (1, 1, _real(math.cos)),
    "tan": (1, 1, _real(math.tan)),
    "asin": (1, 1, _real(math.asin)),
    "acos": (1, 1, _real(math.acos)),
    "atan": (1, 1, _real(math.atan)),
    "radians": (1, 1, _real(math.radians)),
    "degrees": (1, 1, _real(math.degrees)),
}
"""{name: (fewest values, most values, function)}. Angles are in radians, `log` of one value is to the base of 10."""


def _parameters(unit: str) -> dict[str, Any]:
    about = "An arithmetic expression, such as (12 + 3.5) * 2^3 or sqrt(2)."
    return {
        "type": "object",
        "properties": {"expression": {"type": "string", "description": about}},
        "required": ["expression"],
    }


def use(arguments: Mapping[str, Any], given: Given) -> Result:
    """The value of the expression in a call."""
    expression = arguments["expression"]
    if not expression.strip():
        raise ToolError(f"the expression is empty (got {brief(expression)}).")
    return Result(calculate(expression))


CALCULATOR = Tool("calculator", "calculator", "Computes the value of an arithmetic expression.", _parameters, use)
