r"""What an answer states: "x_1 = 2, x_2 = 3" are two values with names, "m+n = 256+37 = 293" is one, "x > 3" is an interval of x.

A name says which quantity a value is, and is no part of it. Names are letters, functions at a place, sides, angles, words, sums
of letters and calculations; "x^2 = 4" and "2x+y = 7" have none and stay equations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mm_eval.tasks.rules.math_notation import measured, packed, without_thousands
from mm_eval.tasks.rules.math_values import Value, value_of, variables
from mm_eval.tasks.rules.written_numbers import is_number_in_words, number_in_words

MOST_PARTS = 50

_AND = re.compile(
    r"[\s,]*(?:\\(?:text|mathrm|mbox|textrm)\s*\{[\s,~]*(and|or)[\s,~]*\}|(?<![A-Za-z\\])(and|or)(?![A-Za-z])|(\\l(?:and|or)|\\wedge|\\vee)(?![A-Za-z]))[\s,]*",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"^\W{0,3}(?:(?:so|thus|hence|therefore|let|then|and|we (?:get|have)|it is)\b[,:]?\s+)?(?:the\s+)?(?:(?:final|correct)\s+)?"
    r"(?:answers?\s*(?:is|are|:|=)|ans\s*[:=])\s*:?\s*|^(?:so|thus|hence|therefore|let|then)\b[,:]?\s+",
    re.IGNORECASE,
)
_CASES = re.compile(r"\\begin\{(?:cases|aligned|gathered)\}([^&]*?)\\end\{(?:cases|aligned|gathered)\}")
_IS = re.compile(
    r"\A(\W*)((?:[A-Za-z]{2,20} ){0,6}?[A-Za-z]{1,20}) ?"
    r"(?:(?<=[A-Za-z] )(?:is|are|equals)(?: equal to)?\b|(?<=[a-z]{3})\s*:) *:?(?=.*\d)"
)
"""A name in words: "The area is 5", "Area: 5"."""
_ACCENT = re.compile(
    r"\\(?:vec|hat|bar|tilde|overline|overrightarrow|overleftrightarrow|widehat|overparen|mathbb)(?:\{([^{}]*)\}| ?([A-Za-z]))"
)
_INDEX = r"(?:_(?:\{[^{}]{1,20}\}|\w|\\[a-z]{2,8}))?'*"
_GREEK = (
    r"\\(?:alpha|beta|gamma|delta|epsilon|theta|lambda|mu|phi|psi|omega|sigma|rho|tau|eta|zeta|xi|Delta|Theta|Phi|Omega|Gamma"
    r"|Lambda|Sigma|ell)"
)
_SYMBOL = rf"(?:[A-Za-z]|{_GREEK}){_INDEX}"
_SIDE = r"[A-Z]{2}(?:\^\{?\d\}?)?"
_SIMPLE = re.compile(
    "|".join(
        (
            _SYMBOL,
            r"[A-Z]{2,5}'*",  # sides and figures
            rf"{_SIDE}(?:(?:[-+:/]|\\cdot ?){_SIDE})+|\\frac\{{{_SIDE}\}}\{{{_SIDE}\}}|[a-z](?::[a-z])+",
            rf"m?\\angle ?(?:{_SYMBOL}|[A-Z]{{3}}|\d)|m?\\(?:triangle|widehat|arc) ?\{{?[A-Z]{{1,4}}\}}?|\[[A-Z]{{3,6}}\]",
            rf"\|(?:[A-Z]{{1,3}}|[zwuv]|\\?[a-z]{{1,2}}_{{?\d}}?|{_GREEK}|\\(?:vec|overrightarrow) ?\{{?[A-Za-z]{{1,2}}\}}?)\|",
            r"\([A-Za-z](?:_\{?\w\}?)?(?:,[A-Za-z](?:_\{?\w\}?)?){1,4}\)",
            rf"\\(?:sin|cos|tan|cot|sec|csc)(?:\^\{{?2\}}?)? ?(?:\(?(?:\\angle ?)?{_SYMBOL}\)?|\\angle ?[A-Z]{{3}})",
            r"\\(?:int|sum|prod|lim|frac\{d[a-z]?\}\{d[a-z]\}|gcd|max|min|det|deg|dim|Pr|arg)(?![A-Za-z]).*",
            r"(?:lcm|gcd|Var|Cov|arg|area|max|min|det|rank|deg|Re|Im)\(.*\)",
            r"[A-Za-z'][A-Za-z']{2,40}(?:\((?:[A-Za-z]{1,20})\))?",  # words
        )
    )
)
"""The names that need no look at the other side of the equation. Not |x|, \\sqrt{x} and \\log x: their x is another number."""
_FUNCTION = re.compile(
    r"(?:[f-hqrpuvFGHPQETSNLMVCRWDAB]|\\(?:phi|psi|Phi|Psi|sigma|tau))(?:_\{?\w\}?)?'*(?:\^\{?(?:-1|\(\w+\)|\w)\}?)?\(.*\)"
    r"|\(\w\\circ ?\w\)\(.*\)|\(f[+\-*/]?g\)\(.*\)"
)
"""Functions at a place, by the letters that functions have: n(n+1) and x(x+1) are products."""
_COORDINATES = frozenset("xyz")
_ORDER = re.compile(r"(\\leq|\\geq|<|>)")
_SET_OF = re.compile(r"\{\(?([A-Za-z])\)?(?:\\in ?(?:\(-\\infty,\\infty\)|[A-Z]))?[|:](.*)\}")
_WITHOUT = re.compile(r"\(-\\infty,\\infty\)(?:\\setminus|\\backslash|-|\\)\{([^{},]*)\}")
_NOTHING = {
    "\\emptyset",
    "{}",
    "nosolution",
    "nosolutions",
    "emptyset",
    "theemptyset",
    "therearenosolutions",
    "therearenosolution",
    "therearenonesolutions",
}
_SAME_WORDS = {"infinity": "\\infty", "-infinity": "-\\infty", "doesnotexist": "dne", "thelimitdoesnotexist": "dne"}


@dataclass(frozen=True)
class Stated:
    """One value that an answer states.

    name: of the quantity; "" without one. values: of an answer such as "1/3 = 0.33", both. unit: see `measured`.
    relation: the whole equation; "" where the answer is none.
    """

    name: str
    values: tuple[str, ...]
    unit: str = ""
    relation: str = ""


def stated(answer: str) -> list[Stated]:
    r"""The values that an answer states, in its order. Both values of one with a single \pm."""
    text = re.sub(r"\A(\W*)\\text\s*\{([^{}]*)\}(?=.*\w)", r"\1\2 ", answer.strip().strip("*"), flags=re.DOTALL)
    text = _OPENING.sub("", text)
    if (number := _in_words(text)) is not None:
        return [Stated("", (number,))]
    joints = {next(filter(None, match.groups())).lower().strip("\\l") for match in _AND.finditer(text)}
    text = re.sub(r"(?<!\\)\\[()\[\]]", "", text)
    text = _CASES.sub(lambda m: m[1].replace("\\\\", ","), text)
    text = without_thousands(_AND.sub(" , ", _decimal_comma(text)))
    pieces = [each for piece in _split(text) for each in _both_signs(_one(piece))]
    pieces = _same_name_for_all(pieces)
    if len(pieces) > 1 and joints & {"or", "vee"} and (union := _union(pieces)):
        return [union]
    return _coordinates(pieces)


def _decimal_comma(text: str) -> str:
    r"""LaTeX's commas within a number: "1{,}000" and "1,\!000" are 1000, "1{,}5" is 1.5."""
    return re.sub(r"(?<=\d)\{,\}(?=\d)", ".", re.sub(r"(?<=\d)(?:\{,\}|,\\!)(?=\d{3}(?!\d))", "", text))


def _in_words(text: str) -> str | None:
    """The number of a text that is nothing but number words, as digits."""
    words = re.sub(r"[-\s]+", " ", re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text).strip("$. ").lower()).split()
    sign = "-" if words[:1] in (["negative"], ["minus"]) else ""
    words = words[1:] if sign else words
    words = [word for word in words if word != "and"]
    if not 0 < len(words) <= 12 or not is_number_in_words(words):
        return None
    number = number_in_words(" ".join(words))
    return None if number is None else f"{sign}{number}"


def _split(text: str) -> list[str]:
    """The parts between commas and semicolons outside of all brackets."""
    if "\\begin" in text:
        return [text]
    depth, start, parts = 0, 0, list[str]()
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character in ",;" and depth == 0 and text[place - 1 : place] != "\\":
            parts.append(text[start:place])
            start = place + 1
    parts = [part for part in (*parts, text[start:]) if part.strip(" $")]
    return parts if 0 < len(parts) <= MOST_PARTS and depth == 0 else [text]


def _one(piece: str) -> Stated:
    """One part of an answer, with its name and unit."""
    value, unit = measured(_IS.sub(r"\1\2=", piece))
    text = packed(value)
    text = _SAME_WORDS.get(text.lower(), text)
    if text.lower() in _NOTHING:
        text = "\\emptyset"
    if single := _WITHOUT.fullmatch(text):
        text = _without(single[1])
    if (described := _SET_OF.fullmatch(text)) and described[1] in described[2]:
        text = described[2]
    if within := re.fullmatch(rf"({_SYMBOL})\\in(?![a-z]) ?(.+)", text):
        return Stated(
            within[1], (_without(single[1]) if (single := _WITHOUT.fullmatch(within[2])) else within[2],), unit
        )
    if interval := _interval(text):
        return replace(interval, unit=unit)
    sides = _sides(text)
    if len(sides) == 1:
        return Stated("", (text,), unit)
    return _named(sides, text, unit)


def _sides(text: str) -> list[str]:
    r"""The sides of an equation, outside of brackets. ":=" and \approx count as "="."""
    if "=" not in text and "\\approx" not in text:
        return [text]
    depth, start, sides = 0, 0, list[str]()
    text = text.replace(":=", "=").replace("\\approx ", "=").replace("\\approx", "=")
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "=" and depth == 0:
            sides.append(text[start:place])
            start = place + 1
    return [*sides, text[start:]] if sides else [text]


def _named(sides: list[str], text: str, unit: str) -> Stated:
    """What an equation states: a value with a name, a calculation with its result, or nothing but itself."""
    if not all(sides) or len(sides) > 8:
        return Stated("", (), unit, text)
    equation = text if len(sides) == 2 and "\\approx" not in text else ""
    if not is_name(sides[0], sides[-1]) and is_name(sides[-1], sides[0]) and len(sides) == 2:
        sides = sides[::-1]
    name = name_of(sides[0]) if is_name(sides[0], sides[-1]) else ""
    rest = sides[1:] if name else sides
    if not name and variables(sides[0]) | variables(sides[-1]) or not name and value_of(sides[0]) is None:
        return Stated("", (), unit, equation or text)
    results = list(_results(rest))
    return Stated(name, tuple(results), unit, equation if name else "")


def _results(sides: list[str]) -> Iterator[str]:
    """The values of a chain of equations: the last, and a number that it rounds. None where its numbers contradict each other."""
    last = value_of(sides[-1])
    rounded = ""
    for side in sides[:-1]:
        number = value_of(side)
        if number is None or last is None:
            continue
        if abs(number - last) > 1e-25 * max(abs(number), 1):
            decimals = re.fullmatch(r"-?\d*\.?(\d{0,20})", sides[-1])
            if decimals is None or not _is_rounded(number, last, len(decimals[1])):
                return
            rounded = rounded or side
    yield from (rounded, sides[-1]) if rounded else (sides[-1],)


def _is_rounded(number: Value, last: Value, decimals: int) -> bool:
    """Whether a number is written with so many decimals, rounded or cut."""
    if number.imag or last.imag:
        return False
    difference = abs(number) - abs(last)
    return bool(
        number * last >= 0 and (abs(difference) <= 0.5000001 / 10**decimals or 0 <= difference < 1 / 10**decimals)
    )


def is_name(text: str, value: str) -> bool:
    """Whether the left side of an equation names a quantity, given the right side."""
    if len(text) > 80 or _SIMPLE.fullmatch(text):
        return len(text) <= 80
    text = name_of(text)
    if _SIMPLE.fullmatch(text) or _is_function(text):
        return True
    found = variables(text)
    letters = set(re.findall(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", text)))
    if re.fullmatch(r"[A-Za-z]{2,3}", text):  # xy, abc
        return not variables(value)
    if len(found) < 2 or variables(value) or value_of(value) is None:
        return False
    is_sum = re.fullmatch(r"[A-Za-z+\-*/(){}]+|\\frac\{[A-Za-z]\}\{[A-Za-z]\}", text) is not None
    return is_sum or not letters & _COORDINATES


def name_of(text: str) -> str:
    """A name in one spelling: without accents, a measure's m and bars around a side."""
    for _ in range(2):
        text = _ACCENT.sub(lambda m: m[1] or m[2], text)
    text = re.sub(r"^m\\angle", r"\\angle", text)
    return text.strip("|") if re.fullmatch(r"\|[A-Z]{2}\|", text) else text


def _is_function(text: str) -> bool:
    """Whether a text is a function at a place, and nothing behind it: "f(3)", not "f(3)+1" and not "(x)(x+1)"."""
    if not _FUNCTION.fullmatch(text):
        return False
    depth, place = 0, text.index("(")
    if text.startswith("("):
        place = text.index("(", 1)
    for at in range(place, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at == len(text) - 1
    return False


def _interval(text: str) -> Stated | None:
    r"""An inequality of one variable as an interval: "-1 < x \leq 2" is (-1,2], "x \neq 2" all but 2; None for others."""
    if (other := text.split("\\neq")) and len(other) == 2:
        names = [name for name in other if re.fullmatch(_SYMBOL, name.strip())]
        number = other[1].strip() if names and names[0] is other[0] else other[0]
        return Stated(names[0], (_without(number),)) if len(names) == 1 and value_of(number) is not None else None
    parts = [part.strip() for part in _ORDER.split(text)]
    if len(parts) not in (3, 5) or "=" in text:
        return None
    if len(parts) == 3:
        left, sign, right = parts
        if re.fullmatch(_SYMBOL, right) and not re.fullmatch(_SYMBOL, left):
            left, sign, right = right, _TURNED[sign], left
        if not re.fullmatch(_SYMBOL, left) or not _is_end(right):
            return None
        closing = "]" if sign == "\\leq" else ")"
        opening = "[" if sign == "\\geq" else "("
        is_below = sign in ("<", "\\leq")
        return Stated(left, (f"(-\\infty,{right}{closing}" if is_below else f"{opening}{right},\\infty)",))
    low, first, middle, second, high = parts
    if first in (">", "\\geq"):
        low, first, second, high = high, _TURNED[second], _TURNED[first], low
    if {first, second} - {"<", "\\leq"} or not re.fullmatch(_SYMBOL, middle) or not (_is_end(low) and _is_end(high)):
        return None
    return Stated(middle, (f"{'[' if first != '<' else '('}{low},{high}{']' if second != '<' else ')'}",))


_TURNED = {"<": ">", ">": "<", "\\leq": "\\geq", "\\geq": "\\leq"}


def _is_end(text: str) -> bool:
    return value_of(text) is not None or text in ("\\infty", "-\\infty", "+\\infty")


def _without(number: str) -> str:
    return rf"(-\infty,{number})\cup({number},\infty)"


def _union(pieces: list[Stated]) -> Stated | None:
    r"""Inequalities of one variable that "or" joins, as the union of their intervals."""
    names = {piece.name for piece in pieces}
    are_intervals = all(
        piece.values and piece.values[0][-1:] in tuple(")]") and "," in piece.values[0] for piece in pieces
    )
    if (
        len(names) != 1
        or not are_intervals
        or names == {""}
        and not any("\\infty" in piece.values[0] for piece in pieces)
    ):
        return None
    return Stated(pieces[0].name, ("\\cup".join(piece.values[0] for piece in pieces),))


def _both_signs(piece: Stated) -> list[Stated]:
    r"""A value with a single \pm, outside of brackets with commas, is two."""
    value = piece.values[0] if len(piece.values) == 1 else ""
    if value.count("\\pm") + value.count("\\mp") != 1 or "," in value:
        return [piece]
    signs = [re.sub(r"\\(?:pm|mp) ?", sign, value).removeprefix("+") for sign in "+-"]
    return [replace(piece, values=(each,), relation="") for each in signs]


def _same_name_for_all(pieces: list[Stated]) -> list[Stated]:
    """In "x = 2, 3" all values are x."""
    if len(pieces) > 1 and pieces[0].name and not any(piece.name or piece.relation for piece in pieces[1:]):
        return [replace(piece, name=pieces[0].name, relation="") for piece in pieces]
    return pieces


def _coordinates(pieces: list[Stated]) -> list[Stated]:
    """ "(x,y) = (2,3)" as "x = 2, y = 3"."""
    if len(pieces) == 1 and re.fullmatch(r"\(\w.*,.*\)", pieces[0].name) and len(pieces[0].values) == 1:
        names, value = pieces[0].name[1:-1].split(","), pieces[0].values[0]
        values = _split(value[1:-1]) if value[:1] == "(" and value[-1:] == ")" else []
        if len(names) == len(values) and len(set(names)) == len(names):
            return [Stated(name, (each,)) for name, each in zip(names, values, strict=True)]
    return pieces
