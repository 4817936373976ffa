"""A calculator: arithmetic on exact fractions, some functions of real numbers, and a bound on everything. No code is run.

    2 + 3 * 4, 2^10, (1/3) * 3, 15% * 200, 1,250 / 5, sqrt(2), round(2/3, 2), max(1, 2), 5!, pi

A fraction stays exact: 0.1 + 0.2 is 0.3. What can be read in two ways (`max(1,000, 2)`, `5%-3`) is refused with both ways to
write it, or read by a rule that stands in the tool's description (`log`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mm_eval.tools.tool import Given, Result, Tool, ToolError, brief

MOST_CHARACTERS = 500
MOST_BITS = 4096
"""Of the numerator and the denominator of a value."""
MOST_DEPTH = 50
"""Brackets in brackets."""
DIGITS = 12
"""Significant digits of a result that is not whole."""

Value = Fraction | float
_TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,4})?|\.\d+(?:[eE][+-]?\d{1,4})?)|((?:math\.)?[A-Za-z_]+\d*)|(\*\*|//|[-+*/^%!(),]))"
)
_GROUPED = re.compile(r"\s*(\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d*)?)")
"""A number with thousands separators."""
_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")
_SIGNS = str.maketrans(
    {"×": "*", "·": "*", "⋅": "*", "÷": "/", "−": "-", "–": "-", "π": " pi ", "[": "(", "]": ")", "²": "^2", "³": "^3"}
)


def calculate(expression: str) -> str:
    """The value of an expression as a decimal number.

    >>> calculate("0.1 + 0.2"), calculate("2^10 - 1"), calculate("1/3"), calculate("15% * 200")
    ('0.3', '1023', '0.333333333333', '30')

    Errors: ToolError for a text that is not an expression, and for a value that is undefined or too large.
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


@dataclass(frozen=True)
class _Token:
    """A number, name or sign. spaced: white space stands before it."""

    text: str
    spaced: bool = False


_END = _Token("", True)


class _Reader:
    """Reads an expression from left to right; every method reads one kind of it and returns its value."""

    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text.translate(_SIGNS).strip().rstrip("= ")))
        self.place = self.depth = 0

    def at(self, place: int) -> _Token:
        return self.tokens[place] if place < len(self.tokens) else _END

    @property
    def next(self) -> str:
        return self.at(self.place).text

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
            elif self.next == "%" and self.is_percent():
                self.place += 1
                found = bounded(_both(found, Fraction(100), lambda a, b: a / b))
            else:
                return found

    def is_percent(self) -> bool:
        """Whether the `%` that is next is a percent sign, not the remainder of what follows it.

        Before a sign the blanks decide: `5% - 3` is a percentage, `5 % -3` a remainder.
        """
        mark, after, last = (self.at(self.place + number) for number in range(3))
        if after.text not in ("-", "+"):
            return not (after.text == "(" or after.text[:1].isalnum() or after.text[:1] == ".")
        if mark.spaced == last.spaced:
            what = f"'% {after.text}' can be a percentage or a remainder. Write (5/100) {after.text} 3, or mod(5, {after.text}3)."
            raise ToolError(what)
        return last.spaced

    def atom(self) -> Value:
        found = self.next
        if self.take("("):
            value = self.sum()
            self.expect(")")
            return value
        self.place += 1
        if found[:1].isdigit() or found[:1] == ".":
            return bounded(number(found))
        name = found.lower()
        if name == "math.log":  # the one that is another function under Python's name
            return self.of_function("log", _log_of_python)
        name = name.removeprefix("math.")
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            return self.of_function(name)
        if not found:
            raise ToolError("the expression ends too early.")
        known = f" Functions are {', '.join(sorted(FUNCTIONS))}." if found[0].isalpha() else ""
        raise ToolError(f"{found!r} is not expected here.{known}")

    def of_function(self, name: str, other: Callable[..., Value] | None = None) -> Value:
        """The value of a function. other: what is computed in place of the function of this name."""
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
        return bounded((other or function)(*values))


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens. Directly inside a function's brackets a comma stands between values, elsewhere between thousands."""
    place, before = 0, ""
    of_functions = list[bool]()
    while place < len(text):
        separates = bool(of_functions) and of_functions[-1]
        token = (None if separates else _GROUPED.match(text, place)) or _TOKEN.match(text, place)
        if token is None:
            raise ToolError(f"{text[place:].strip()[:1]!r} is not part of an expression.")
        found = next(filter(None, token.groups()))
        if found == "(":
            of_functions.append(before[:1].isalpha())
            if of_functions[-1]:
                _check_values(text, token.end())
        elif found == ")" and of_functions:
            of_functions.pop()
        yield _Token(found.replace(",", "") if found[0].isdigit() else found, token[0][:1].isspace())
        place, before = token.end(), found


def _check_values(text: str, start: int) -> None:
    """ToolError for values of a function, from its bracket on, that may be numbers with thousands separators.

    `max(100,200)` has two values. `max(1,000, 2)` separates in two ways, and no value is written 000.
    """
    values, depth = list[str](), 0
    for sign in text[start:]:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
        values.append(sign if not depth else " ")  # what stands in brackets of its own is looked at there
    given = "".join(values)
    if (found := _GROUPS.search(given)) and (", " in given or re.search(r",0\d\d", found[0])):
        one = found[0].replace(",", "")
        what = f"{found[0]!r} can be one number or several values. Write {one}, or a blank after each comma between values."
        raise ToolError(what)


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
    if base in (2, 10):  # exact for their powers
        return math.log10(value) if base == 10 else math.log2(value)
    return math.log(value) / math.log(base)


def _log_of_python(value: Value, base: Value = math.e) -> float:
    return math.log(value) if base == math.e else _log(value, base)


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
    about = (
        "An arithmetic expression, such as (12 + 3.5) * 2^3. "
        f"Functions: {', '.join(FUNCTIONS)}. Constants: {', '.join(CONSTANTS)}. "
        "log(x) is to base 10, log(x, b) to base b, ln(x) is natural. Angles are in radians. "
        "15% is 15/100, and 7 % 3 is the remainder. 5! is a factorial. In the brackets of a function a comma separates values."
    )
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
