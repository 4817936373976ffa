"""The value of a mathematical expression that a model wrote, within fixed bounds of time and size.

latex2sympy2_extended reads the LaTeX; nothing is passed to `eval`, and no rule of sympy that could run for long is used.
The tree is evaluated here with 50 digits, so the bounds do not depend on a clock, on threads or on the machine: a text that
is too long, too deep or of unknown words is not read, and a number beyond 10^3000 has no value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextvars import ContextVar
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import sha256
from threading import Lock
from typing import Any

LONGEST = 200
"""The most characters of an expression that is read; answers of MATH and MATH-Vision have fewer."""
DEEPEST = 10
"""The deepest nesting of brackets that is read: the parser's time doubles every few levels."""
MOST_BARS = 6
"""The most bars of absolute values: which of them open is tried in every way."""
DIGITS = 50
MOST_FACTORS = 1000
"""Factorials of more have no value. Others are those of the gamma function, so that n! is compared at any n."""
_DIGITS = ContextVar("digits", default=DIGITS)
_LARGEST = 3000
"""Numbers of more decimal places than this have no value."""

_COMMANDS = frozenset({
    "frac", "sqrt", "pi", "infty", "cdot", "times", "div", "pm", "ln", "log", "exp", "sin", "cos", "tan", "cot", "sec", "csc",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "lfloor", "rfloor", "lceil", "rceil", "alpha", "beta", "gamma", "delta",
    "theta", "lambda", "mu", "phi", "omega", "sigma", "rho", "epsilon", "tau",
})  # fmt: skip
"""The commands that are read; the parser evaluates some of the others, such as \\binom, at once and without bounds."""
_WORDS = re.compile(r"(?<![A-Za-z\\])(arcsin|arccos|arctan|sin|cos|tan|sqrt|log|ln|pi)(?![A-Za-z])")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)")
_POWER_OF_A_FACTOR = re.compile(r"(?<!sin)(?<!cos)(?<!tan)(?<!cot)(?<!sec)(?<!csc)(?<!log)\^(\w)\(")
_KNOWN_CHARACTERS = re.compile(r"[0-9A-Za-z\\{}()\[\]+\-*/^_!|. ]+")
_LOCK = Lock()
"""The parser of latex2sympy2_extended shares its tables between threads."""

Value = Any
"""A number of mpmath with 50 digits, real or complex."""


class _NoValueError(Exception):
    """The expression has no value within the bounds, or is none that is known here."""


@lru_cache(maxsize=4096)
def expression(text: str) -> Any:
    """The sympy tree of a LaTeX expression, unevaluated; None if it is not read."""
    text = text.replace("**", "^")
    if not text or len(text) > LONGEST or not _KNOWN_CHARACTERS.fullmatch(text):
        return None
    if _depth(text) > DEEPEST or text.count("|") > MOST_BARS:
        return None
    text = _bare_arguments(_WORDS.sub(r"\\\1 ", text))
    text = _POWER_OF_A_FACTOR.sub(r"^{\1}\\cdot (", text)
    text = re.sub(r"(?<![\^_])([\d)])\(", r"\1\\cdot (", text)  # the parser takes 3(4) for a mixed number, 3 + 4
    if any(name not in _COMMANDS for name in _COMMAND.findall(text)) or _is_prose(text):
        return None
    from latex2sympy2_extended import latex2sympy
    from latex2sympy2_extended.latex2sympy2 import ConversionConfig
    from sympy import Basic

    try:
        with _LOCK:
            tree = latex2sympy(
                text, normalization_config=None, conversion_config=ConversionConfig(lowercase_symbols=False)
            )
    except (Exception, RecursionError):  # the parser raises many kinds, Exception itself among them
        return None
    return tree if isinstance(tree, Basic) else None


def value_of(text: str, symbols: Mapping[str, Value] | None = None, digits: int = DIGITS) -> Value | None:
    """The number that an expression stands for; None where it has none within the bounds.

    symbols: the values of variables; an expression with another variable has no value.
    """
    tree = expression(text)
    if tree is None:
        return None
    before = _DIGITS.set(digits)
    try:
        return tree_value(tree, symbols or {})
    finally:
        _DIGITS.reset(before)


def tree_value(tree: Any, symbols: Mapping[str, Value]) -> Value | None:
    """The number that a tree of sympy stands for, of whatever parser; None where it has none within the bounds."""
    try:
        return _evaluate(tree, symbols)
    except (_NoValueError, ZeroDivisionError, ValueError, OverflowError, TypeError, RecursionError):
        return None


def rational_of(text: str) -> Fraction | None:
    """The exact number that an expression of whole numbers stands for; None where it is none, or is beyond the bounds."""
    tree = expression(text)
    try:
        return None if tree is None else _rational(tree)
    except (_NoValueError, ZeroDivisionError, RecursionError):
        return None


def _rational(node: Any) -> Fraction:
    """A tree's exact value. No step makes a number of more than 10^`_LARGEST`, above or below the line."""
    import sympy

    if isinstance(node, sympy.Rational):
        return _check_digits(Fraction(int(node.p), int(node.q)))
    if isinstance(node, sympy.UnevaluatedExpr):
        return _rational(node.args[0])
    if isinstance(node, sympy.Add | sympy.Mul):
        total = Fraction(int(isinstance(node, sympy.Mul)))
        for each in node.args:
            value = _rational(each)
            total = _check_digits(total + value if isinstance(node, sympy.Add) else total * value)
        return total
    if isinstance(node, sympy.Pow):
        base, exponent = map(_rational, node.args)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if exponent.denominator != 1 or abs(exponent) * bits > 4 * _LARGEST:
            raise _NoValueError
        return _check_digits(base ** int(exponent))
    if isinstance(node, sympy.factorial):
        number = _rational(node.args[0])
        if number.denominator != 1 or not 0 <= number <= MOST_FACTORS:
            raise _NoValueError
        return Fraction(math.factorial(int(number)))
    raise _NoValueError


def _check_digits(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > 4 * _LARGEST:
        raise _NoValueError
    return number


def variables(text: str) -> frozenset[str]:
    """The names of the variables of an expression; empty if it is not read."""
    tree = expression(text)
    return frozenset() if tree is None else frozenset(symbol.name for symbol in tree.free_symbols)


def samples(
    names: frozenset[str], count: int = 4, mixed_signs: bool = False, digits: int = DIGITS
) -> list[dict[str, Value]]:
    """Fixed values for each variable, of both signs: expressions equal at all of them are taken as equal.

    mixed_signs: the variables of a point differ in sign; sqrt(a) sqrt(b) is then not sqrt(a b), which holds for positive ones.
    """
    numbers = _context(digits)
    points = []
    for number in range(count):
        at = {}
        for name in names:
            digest = int.from_bytes(sha256(f"{name}/{number}".encode()).digest()[:8], "big")
            sign = digest % 2 if mixed_signs else number
            at[name] = (numbers.mpf(digest) / 2**64 * 3 + numbers.mpf(1) / 7) * (-1) ** sign
        points.append(at)
    return points


def _depth(text: str) -> int:
    """The deepest nesting of brackets; a bar or a root counts by its brackets."""
    depth = deepest = 0
    for character in text:
        depth += (character in "({[") - (character in ")}]")
        deepest = max(deepest, depth)
    return deepest


def _bare_arguments(text: str) -> str:
    r"""The text with braces around one-character arguments: \frac12 and \sqrt3."""
    text = re.sub(r"\\frac\s*([0-9A-Za-z])\s*([0-9A-Za-z])", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\frac\s*([0-9A-Za-z])\s*\{", r"\\frac{\1}{", text)
    text = re.sub(r"(\\frac\s*\{[^{}]*\})\s*([0-9A-Za-z])", r"\1{\2}", text)
    return re.sub(r"\\sqrt\s*(?:([0-9]+|[A-Za-z])|\(([^()]*)\))", r"\\sqrt{\1\2}", text)


def _is_prose(text: str) -> bool:
    """Whether a text is words, which would be read as products of letters, so that "dog" would equal "god"."""
    letters = _COMMAND.sub(" ", text)
    runs = re.findall(r"[A-Za-z]+", letters)
    only_letters = bool(runs) and not re.search(r"[^A-Za-z\s]", letters) and "\\" not in text and len(runs[0]) > 1
    return only_letters or any(len(run) > 3 for run in runs) or len(set("".join(runs)) - {"e", "i"}) > 3


def _numbers() -> Any:
    """mpmath with the digits of this evaluation, apart from the precision of the rest of the process."""
    return _context(_DIGITS.get())


@cache
def _context(digits: int) -> Any:
    from mpmath.ctx_mp import MPContext  # type: ignore[import-untyped]

    numbers = MPContext()
    numbers.dps = digits
    return numbers


@cache
def _functions() -> dict[Any, str]:
    """sympy's class of a function -> the name of mpmath's."""
    import sympy

    names = [
        "sin",
        "cos",
        "tan",
        "cot",
        "sec",
        "csc",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "floor",
        "exp",
        "log",
    ]
    return {getattr(sympy, name): name for name in names} | {sympy.Abs: "fabs", sympy.ceiling: "ceil"}


def _evaluate(node: Any, symbols: Mapping[str, Value]) -> Value:
    import sympy

    numbers = _numbers()
    if isinstance(node, sympy.Rational):
        return _check_size(numbers.mpf(int(node.p)) / int(node.q))
    if isinstance(node, sympy.Float):
        return _check_size(numbers.mpf(str(node)))
    if isinstance(node, sympy.Symbol):
        if node.name in symbols:
            return symbols[node.name]
        if node.name == "i":
            return numbers.j
        raise _NoValueError
    if isinstance(node, sympy.core.function.AppliedUndef):  # f(x)
        if str(node) in symbols:
            return symbols[str(node)]
        raise _NoValueError
    constant = {sympy.pi: numbers.pi, sympy.E: numbers.e, sympy.I: numbers.j}.get(node)
    if constant is not None:
        return +constant
    arguments = [_evaluate(each, symbols) for each in node.args]
    if isinstance(node, sympy.Add):
        return _check_size(numbers.fsum(arguments))
    if isinstance(node, sympy.Mul):
        return _check_size(numbers.fprod(arguments))
    if isinstance(node, sympy.UnevaluatedExpr):
        return arguments[0]
    if isinstance(node, sympy.Pow):
        return _power(*arguments)
    if isinstance(node, sympy.factorial | sympy.binomial):
        if any(abs(each) > MOST_FACTORS for each in arguments):
            raise _NoValueError
        return _check_size(getattr(numbers, type(node).__name__)(*arguments))
    name = _functions().get(type(node))
    if name is None or (name in ("exp", "sinh", "cosh") and abs(arguments[0]) > 2 * _LARGEST):
        raise _NoValueError
    return _check_size(getattr(numbers, name)(*arguments))


def _power(base: Value, exponent: Value) -> Value:
    """base ** exponent, the principal value; raises before a number of more digits than the bound is made."""
    numbers = _numbers()
    if base == 0:
        if numbers.re(exponent) <= 0 and exponent != 0:
            raise _NoValueError
        return numbers.mpf(exponent == 0)
    if abs(exponent) * abs(numbers.log(abs(base), 10)) > _LARGEST or abs(exponent) > 10**9:
        raise _NoValueError
    return _check_size(numbers.power(base, exponent))


def _check_size(number: Value) -> Value:
    numbers = _numbers()
    if not numbers.isfinite(number) or abs(number) > numbers.mpf(10) ** _LARGEST:
        raise _NoValueError
    return number
