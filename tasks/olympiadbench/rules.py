r"""OlympiadBench's rule: whether the answers in a text are the reference's, as numbers, expressions, equations or intervals.

Source: He et al. 2024, arXiv:2402.14008; github.com/OpenBMB/OlympiadBench, inference/judge.py and code/math_judger.py. LaTeX is
read by sympy's parser, as there. Its `simplify` and `evalf`, which can run for ever, are replaced by values at fixed points, with
the bounds of `tasks.rules.math_values`: expressions in variables are equal if they are at all points.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from threading import Lock
from typing import Any

from mm_eval.tasks.rules.math_values import Value, samples, tree_value

LONGEST, DEEPEST, MOST_LEFT = 600, 12, 6
"""The most characters, levels of brackets and \\left's of an expression that is read; others are compared as texts."""
POINTS = 6
"""At so many points of their variables expressions are compared."""
LARGEST_POWER = 1_000_000
"""Exponents whose product is larger are not read under a root, which sympy takes at once."""
DEFAULT_ERROR = 1e-8
MARKS = (("\\left", ""), ("\\right", ""), ("∶", ":"), ("，", ","), ("$", ""), ("\\approx", "="), ("\\simeq", "="), ("\\sim", "="),
         ("^\\prime", "'"), ("^{\\prime}", "'"), ("^\\circ", ""), ("%", ""))  # fmt: skip
AROUND = "\n$,.:;^_=+`!@#$%^&*~，。"
FONT = re.compile(r"\\(?:mathrm|mathbf)\{~?([^}]*)\}")
CHINESE = re.compile("[\u4e00-\u9fff]+")
_LOCK = Lock()


def final_answer(text: str, chinese: bool) -> str:
    """What follows the sentence that the prompt asks for, in the last line that has it; the whole text without it."""
    found = re.findall("所以最终答案是(.*)" if chinese else "So the final answer is (.*)", text)
    return found[-1].strip() if found else text


def errors_of(stated: str | None) -> list[float]:
    """The errors that a document allows, one for each answer or one for all."""
    return [float(each) if each.strip() else DEFAULT_ERROR for each in (stated or "").split(",")]


def is_right(answer: str, gold: str, errors: Sequence[float] = (DEFAULT_ERROR,)) -> bool:
    """Whether each answer has an equal one in the reference, in any order, and none is left."""
    one, other = _stated(answer), _stated(gold)
    if one is None or other is None:
        return False
    if one == other:
        return True
    left, right = (_parts(CHINESE.sub("", text)) for text in (one, other))
    allowed = list(errors) * (len(left) if len(errors) <= 1 else 1)
    if len(left) != len(right) or len(allowed) < len(left):
        return False
    place = -1
    while left:
        place = (place + 1) % len(left)
        item, error = left[place], allowed[place]
        found = next((each for each in right if equal(item, each, error)), None)
        if found is None:
            return False
        left.remove(item)
        right.remove(found)
        allowed.remove(error)
    return True


def _stated(text: str) -> str | None:
    r"""What stands in the boxes, joined by commas, else in the formulas of the last line, else the whole text, in one notation.

    None where a box is not closed.
    """
    boxes = list(_boxes(text))
    if None in boxes:
        return None
    found = [each for each in boxes if each is not None] or re.findall(r"\$(.*?)\$", text.strip().split("\n")[-1])
    text = "".join(f"{each}," for each in found) or text
    text = text.split("\\in ")[1] if "\\in " in text else text
    for mark, instead in MARKS:
        text = text.replace(mark, instead)
    return FONT.sub(r"\1", text.strip(AROUND))


def _boxes(text: str) -> Iterator[str | None]:
    """The content of each box; None for one that is not closed, at which it ends."""
    starts = [match.end() for match in re.finditer(r"\\boxed\{", text)]
    if not starts:
        return
    depths = list(accumulate((character == "{") - (character == "}") for character in text))
    closing: dict[int, int] = {}
    ends = dict[int, int]()
    for at in range(len(text) - 1, -1, -1):  # the first place at or behind each one with a given depth
        closing[depths[at]] = at
        ends[at] = closing.get(depths[at] - 1, -1)
    for start in starts:
        end = ends[start - 1]
        yield text[start:end] if end >= 0 else None
        if end < 0:
            return


def _parts(text: str) -> list[str]:
    r"""The parts between commas outside of brackets, those with \pm twice."""
    depth, start, parts = 0, 0, list[str]()
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    parts += [text[start:].strip()] if start < len(text) else []
    both = ([part.replace("\\pm", sign) for sign in "+-"] if "\\pm" in part else [part] for part in parts)
    return [part for each in both for part in each]


def equal(one: str, other: str, error: float) -> bool:
    """Whether two answers are equal, as texts, intervals, numbers, expressions or equations."""
    if one == other and one:
        return True
    if _is_interval(one) and _is_interval(other):
        equal_intervals = _equal_intervals(one, other, error)
        if equal_intervals is not False:
            return equal_intervals is True
    if _equal_numbers(one, other, error):
        return True
    if not ("=" in one and "=" in other) and _equal_expressions(one, other, error):
        return True
    return _equal_equations(one, other)


def _equal_numbers(one: str, other: str, error: float) -> bool:
    """Whether two plain numbers differ by the error at most, one of them as it is or as a percentage."""
    try:
        number, gold = float(one), float(other)
    except ValueError:
        return False
    return any(abs(each - gold) <= error * 1.01 for each in (number / 100, number, number * 100))


def _is_interval(text: str) -> bool:
    return text.startswith(("(", "[")) and text.endswith((")", "]"))


def _equal_intervals(one: str, other: str, error: float) -> bool | None:
    r"""Whether the intervals between each \cup have equal brackets and ends. None where one can't be read."""
    pieces, others = one.split("\\cup"), other.split("\\cup")
    if len(pieces) != len(others):
        return False
    for a, b in zip(pieces, others, strict=True):
        if not a or not b:
            return None
        if (a[0], a[-1]) != (b[0], b[-1]):
            return False
        for end, gold in zip(a.strip("[]()").split(","), b.strip("[]()").split(","), strict=False):
            if _tree(_right_side(end)) is None or _tree(_right_side(gold)) is None:
                return None
            if not _equal_expressions(end, gold, error):
                return False
    return True


def _right_side(text: str) -> str:
    return (text.split("=")[1] if "=" in text else text).strip()


def _equal_expressions(one: str, other: str, error: float) -> bool:
    """Whether two expressions are equal: as trees, as numbers within the error, or at all points of their variables."""
    tree, gold = _tree(_right_side(one)), _tree(_right_side(other))
    if tree is None or gold is None:
        return False
    if tree == gold:
        return True
    names, gold_names = _names(tree), _names(gold)
    if bool(names) != bool(gold_names):
        return False
    differences = _at_points(
        [tree, gold], names | gold_names, lambda values: (values[0] - values[1], max(map(abs, values)))
    )
    if not names:
        large = any(_is_large_power(each) for each in (tree, gold))
        return bool(differences) and not large and abs(differences[0][0]) <= error * 1.01
    first = differences[0][0] if differences else 0
    small = all(abs(value) < 1e-3 and abs(value - first) <= 1e-12 * size for value, size in differences)
    return len(differences) > 1 and small


def _equal_equations(one: str, other: str) -> bool:
    """Whether two equations are equal but for a whole factor."""
    sides = [text.split("=") for text in (one, other)]
    trees = [_tree(side) for each in sides for side in each] if all(len(each) == 2 for each in sides) else [None]
    if any(tree is None for tree in trees):
        return False
    names = frozenset[str]().union(*map(_names, trees))
    ratios = _at_points(trees, names, lambda values: (values[0] - values[1], values[2] - values[3]))
    if len(ratios) < min(2, POINTS if names else 1) or not all(a and b for a, b in ratios):
        return False
    whole = [value for value in (ratios[0][0] / ratios[0][1], ratios[0][1] / ratios[0][0]) if _is_whole(value)]
    same = all(abs(a * ratios[0][1] - b * ratios[0][0]) <= 1e-20 * abs(b * ratios[0][0]) for a, b in ratios)
    return bool(whole) and same


def _is_whole(value: Value) -> bool:
    return bool(abs(value - round(value.real)) < 1e-20 and round(value.real))


def _at_points(trees: Sequence[Any], names: frozenset[str], made: Any) -> list[Any]:
    """What is made of the trees' values at each point of the variables where all of them have one. Pi is a number."""
    found = []
    for point in samples(names, POINTS if names else 1, mixed_signs=True):
        values = [tree_value(tree, {**point, "pi": math.pi}) for tree in trees]
        if None not in values:
            found.append(made(values))
    return found


def _names(tree: Any) -> frozenset[str]:
    """The names of the variables and of functions that have no meaning, such as f(x); pi apart."""
    import sympy

    return frozenset(map(str, tree.atoms(sympy.Symbol, sympy.core.function.AppliedUndef))) - {"pi"}


def _is_large_power(tree: Any) -> bool:
    """Whether a whole tree is a power with an exponent that is no number or beyond 1000, which the script does not compute."""
    import sympy

    if not isinstance(tree, sympy.Pow):
        return False
    exponent = tree_value(tree.exp, {"pi": math.pi})
    return exponent is None or abs(exponent) > 1000


@cache
def _parser() -> Any:
    """sympy's parser of LaTeX. Its own front refuses each version of antlr4 but one, although it reads the same with others."""
    import antlr4  # type: ignore[import-not-found,unused-ignore]
    from sympy.parsing.latex import _parse_latex_antlr as parts  # type: ignore[attr-defined,unused-ignore]

    class Lexer(parts.LaTeXLexer):  # type: ignore[misc,name-defined,unused-ignore]
        def checkVersion(self, toolVersion: str) -> None:
            """Prints nothing."""

    class Parser(parts.LaTeXParser):  # type: ignore[misc,name-defined,unused-ignore]
        def checkVersion(self, toolVersion: str) -> None:
            """Prints nothing."""

    def read(text: str) -> Any:
        listener = parts.MathErrorListener(text)
        lexer = Lexer(antlr4.InputStream(text))
        parser = Parser(antlr4.CommonTokenStream(lexer))
        for each in (lexer, parser):
            each.removeErrorListeners()
            each.addErrorListener(listener)
        return parts.convert_relation(parser.math().relation())

    return read


@lru_cache(maxsize=4096)
def _tree(text: str) -> Any:
    """The tree of sympy of an expression; None where it is not read."""
    import sympy

    text = text.strip()
    depths = list(accumulate((character in "({[") - (character in ")}]") for character in text))
    if not text or len(text) > LONGEST or max(depths) > DEEPEST or text.count("|") > MOST_LEFT:
        return None
    powers = math.prod(int(number) or 1 for number in re.findall(r"\^\s*\{?\s*(\d{1,9})", text))
    if re.search(r"\d{400}|\^\s*\{?\s*\d{10}", text) or powers > LARGEST_POWER and "\\sqrt" in text:
        return None
    try:
        with _LOCK:
            tree = _parser()(text)
    except (Exception, RecursionError):  # the parser raises many kinds
        return None
    return tree if isinstance(tree, sympy.Basic) else None
