"""A calculator: arithmetic on exact fractions, some functions of real numbers, and a bound on everything. No code is run.

    2 + 3 * 4, 2^10, (1/3) * 3, 15% * 200, 1,250 / 5, sqrt(2), round(2/3, 2), max(1, 2), 5!, pi

A fraction stays exact: 0.1 + 0.2 is 0.3. What can be read in two ways (`max(1,000, 2)`, `5%-3`) is refused with both ways to
write it, or read by a rule that stands in the tool's description (`log`).
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,4})?|\.\d+(?:[eE][+-]?\d{1,4})?)|((?:math\.)?[A-Za-z_]+\d*)|(\*\*|//|%%|[-+*/^%!(),]))"
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
        return written(value_of(expression))
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


def value_of(text: str) -> Value:
    """The value of an expression. Raises what `calculate` makes a ToolError.

    Python parses its signs only: `x` stands for each number and name, and each token has a line of its own, so the line of a
    node tells its token. `!` and the percent sign become an attribute, which binds as they do.
    """
    tokens = list(_tokens(_marked(text.translate(_SIGNS).strip().rstrip("= "))))
    if not tokens:
        raise ToolError("the expression is empty.")
    try:
        tree = ast.parse("\n".join(["(", *_python(tokens), ")"]), mode="eval")
    except SyntaxError as error:
        raise _not_expected(tokens, error.lineno or 0, error.end_lineno or 0) from None
    values = dict[ast.AST, Value]()
    for node in reversed(list(ast.walk(tree.body))):  # operands come before what is made of them
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
        match node:
            case ast.Name():
                if (token := tokens[first - 2]) not in _FUNCTIONS:
                    values[node] = CONSTANTS[token] if token in CONSTANTS else bounded(number(token))
            case ast.UnaryOp(op=op, operand=operand):
                values[node] = -values[operand] if isinstance(op, ast.USub) else values[operand]
            case ast.BinOp(left=left, op=op, right=right):
                values[node] = bounded(_OPERATORS[type(op)](values[left], values[right]))
            case ast.Attribute(value=operand):
                values[node] = bounded(_POSTFIXES[tokens[last - 2]](values[operand]))
            case ast.Call(func=ast.Name(lineno=line), args=args, keywords=[]) if tokens[line - 2] in _FUNCTIONS:
                values[node] = _of_function(tokens[line - 2], [values[each] for each in args])
            case ast.expr() | ast.keyword():
                raise _not_expected(tokens, first, last)
    return values[tree.body]


def _not_expected(tokens: Sequence[str], first: int, last: int) -> ToolError:
    """The error for the tokens on lines of the parsed text, from the first to the last one: several stand side by side."""
    wrong = tokens[first - 2 : max(first, last) - 1]
    hint = " Is an operator missing?" if len(wrong) > 1 else ""
    return ToolError(
        f"{brief(' '.join(wrong).replace('%%', '%'))} is not expected here.{hint}"
        if wrong
        else "the expression ends too early."
    )


def _python(tokens: Sequence[str]) -> Iterator[str]:
    """What stands for each token in the text that Python parses. ToolError for an unknown name."""
    for token, after in zip(tokens, [*tokens[1:], ""], strict=True):
        if token in _FUNCTIONS and after != "(":
            raise ToolError(f"the expression is incomplete: '(' is missing after {token!r}.")
        if not (token in _PYTHON or token in _FUNCTIONS or token in CONSTANTS or token[0].isdigit() or token[0] == "."):
            raise ToolError(f"{token!r} is not expected here. Functions are {', '.join(sorted(FUNCTIONS))}.")
        yield _PYTHON.get(token, "x")


def _marked(text: str) -> str:
    """The text with %% for each percent sign: a `%` that is not the remainder of what follows it.

    Before a sign the blanks decide: `5% - 3` is a percentage, `5 % -3` a remainder.
    """

    def mark(found: re.Match[str]) -> str:
        before, after, behind = found.groups()
        is_sign = after in ("-", "+")
        if is_sign and bool(before) == bool(behind):
            what = f"'% {after}' can be a percentage or a remainder. Write (5/100) {after} 3, or mod(5, {after}3)."
            raise ToolError(what)
        remains = after in ("(", ".") or after.isalnum() or (is_sign and not behind)
        return found[0] if remains else f"{before}%%"

    return re.sub(r"(\s?)%(?=\s*(\S?)(\s?))", mark, text)


def _of_function(name: str, values: Sequence[Value]) -> Value:
    least, most, function = _FUNCTIONS[name]
    if not least <= len(values) <= most:
        raise ToolError(f"{name} takes {least if least == most else f'{least} to {most}'} values (got {len(values)}).")
    return bounded(function(*values))


def _tokens(text: str) -> Iterator[str]:
    """The tokens. Directly inside a function's brackets a comma stands between values, elsewhere between thousands."""
    place, before = 0, ""
    of_functions = list[bool]()
    while place < len(text):
        separates = bool(of_functions) and of_functions[-1]
        token = (None if separates else _GROUPED.match(text, place)) or _TOKEN.match(text, place)
        if token is None:
            raise ToolError(f"{text[place:].strip()[:1]!r} is not part of an expression.")
        found = next(filter(None, token.groups())).lower()
        if found == "(":
            of_functions.append(before[:1].isalpha())
            if len(of_functions) > MOST_DEPTH:
                raise ToolError(f"there are more than {MOST_DEPTH} brackets in each other.")
            if of_functions[-1]:
                _check_values(text, token.end())
        elif found == "," and not separates:
            raise ToolError("',' is not expected here. Write numbers without thousands separators.")
        elif found == ")" and (not of_functions or before == "," or (before == "(" and not separates)):
            raise ToolError("')' is not expected here.")
        elif found == ")":
            of_functions.pop()
        elif found[0].isdigit():
            found = found.replace(",", "")
        elif found not in _FUNCTIONS:
            found = found.removeprefix("math.")
        yield found
        place, before = token.end(), found
    if of_functions:
        raise ToolError("the expression is incomplete: ')' is missing.")


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


def _exact(compute: Callable[[Any, Any], Any]) -> Callable[[Value, Value], Value]:
    """An operation on two values that is exact if both are fractions."""

    def computed(a: Value, b: Value) -> Value:
        if isinstance(a, Fraction) and isinstance(b, Fraction):
            return Fraction(compute(a, b))
        return float(compute(float(a), float(b)))

    return computed


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
    "min": (1, 50, lambda *values: min(values)),
    "max": (1, 50, lambda *values: max(values)),
    "sum": (1, 50, lambda *values: sum(values, Fraction(0))),
    "mean": (1, 50, lambda *values: sum(values, Fraction(0)) / len(values)),
    "factorial": (1, 1, factorial),
    "pow": (2, 2, raised),
    "mod": (2, 2, _exact(operator.mod)),
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
_FUNCTIONS = {**FUNCTIONS, "math.log": (1, 2, _log_of_python)}
"""With the one that is another function under Python's name."""
_OPERATORS: Mapping[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: _exact(operator.add),
    ast.Sub: _exact(operator.sub),
    ast.Mult: _exact(operator.mul),
    ast.Div: _exact(operator.truediv),
    ast.FloorDiv: _exact(operator.floordiv),
    ast.Mod: _exact(operator.mod),
    ast.Pow: raised,
}
_PYTHON = {sign: sign for sign in ("+", "-", "*", "/", "//", "%", "**", "(", ")", ",")} | {
    "^": "**",
    "!": ".x",
    "%%": ".x",
}
"""What stands for a sign in the text that Python parses."""
_POSTFIXES: Mapping[str, Callable[[Value], Value]] = {
    "!": factorial,
    "%%": lambda value: _exact(operator.truediv)(value, Fraction(100)),
}


def _parameters(unit: str) -> dict[str, object]:
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
