r"""One notation for mathematical answers: "\dfrac12", "½" and "1/2 cm" differ only in how they are written.

`plain` removes layout and translates signs. `measured` separates a number from its unit, percent sign or currency.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_SIGNS = {
    "−": "-", "–": "-", "×": "\\times ", "·": "\\cdot ", "⋅": "\\cdot ", "∙": "\\cdot ", "÷": "/", "π": "\\pi ", "∞": "\\infty ",
    "∪": "\\cup ", "∩": "\\cap ", "≤": "\\leq ", "≥": "\\geq ", "⩽": "\\leq ", "⩾": "\\geq ", "≠": "\\neq ", "≈": "\\approx ",
    "∈": "\\in ",
    "±": "\\pm ", "∅": "\\emptyset ", "ℝ": "\\mathbb{R}", "°": "^\\circ ", "º": "^\\circ ", "′": "'", "∠": "\\angle ",
    "△": "\\triangle ",
    "θ": "\\theta ", "α": "\\alpha ", "β": "\\beta ", "γ": "\\gamma ", "λ": "\\lambda ", "φ": "\\phi ", "ω": "\\omega ",
    "½": " \\frac{1}{2}", "⅓": " \\frac{1}{3}", "⅔": " \\frac{2}{3}", "¼": " \\frac{1}{4}", "¾": " \\frac{3}{4}",
    "⅕": " \\frac{1}{5}", "⅛": " \\frac{1}{8}", "，": ",", "；": ";", "（": "(", "）": ")", "＝": "=", "。": ".", "、": ",",
    "€": "\\euro ", "£": "\\pounds ", "\xa0": " ", "\u202f": " ", "\u2009": " ", "‘": "'", "’": "'", "…": "\\ldots ",
}  # fmt: skip
_SPACES = re.compile(r"\\(?:[,;:> ]|quad(?![A-Za-z])|qquad(?![A-Za-z])|hspace\*?\{[^{}]*\})|~|&nbsp;")
_GONE = re.compile(
    r"\\(?:!|left(?![a-z])\.?|right(?![a-z])\.?|[bB]ig{1,2}[lrm]?(?![a-z])|displaystyle(?![a-z])|textstyle(?![a-z])|limits(?![a-z])|\(|\)|\[|\]"
    r"|mathop(?![a-z]))|(?<!\\)\$"
)
_SAME = {
    "tfrac": "frac", "dfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom", "le": "leq", "leqslant": "leq",
    "ge": "geq", "geqslant": "geq", "ne": "neq", "lt": "<", "gt": ">", "infinity": "infty", "lbrace": "{", "rbrace": "}",
    "lbrack": "[", "rbrack": "]", "lvert": "|", "rvert": "|", "vert": "|", "mid": "|", "varnothing": "emptyset",
    "degree": "^\\circ",
    "degrees": "^\\circ", "simeq": "approx", "doteq": "approx", "dots": "ldots", "cdots": "ldots", "colon": ":",
    "to": "rightarrow",
    "lg": "log", "land": ",", "lor": ",", "wedge": ",", "vee": ",", "varphi": "phi", "varepsilon": "epsilon", "langle": "(",
    "rangle": ")", "ast": "cdot", "quad": " ", "bmod": "mod", "pounds": "pounds", "rm": " ", "bf": " ", "it": " ",
}  # fmt: skip
_TEXT = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathit|mathsf|mathcal|mathfrak|boldsymbol|bm|mbox|hbox|operatorname\*?|rm|bf)"
    r"\s*\{([^{}]*)\}"
)
_COMMAND = re.compile(r"\\([A-Za-z]+)")
_MIXED = re.compile(
    r"(?<![\d./^_\\A-Za-z])(\d{1,30})(?: *\\frac\{(\d{1,30})\}\{(\d{1,30})\}| +(\d{1,30})/(\d{1,30})(?![\d.]))"
)
_REPEATING = re.compile(r"(?<![\d.])(\d{0,40})\.(\d{0,40})\\(?:overline|bar|dot)\s*\{(\d{1,40})\}")
_GOES_ON = re.compile(r"(?<![\d.])(\d{0,40})\.(\d{1,60})(?:\.\.\.|\\ldots ?)(?!\d)")
_SCIENTIFIC = re.compile(r"(?<![\w.\\])(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})[eE]([+-]?\d{1,4})(?![\w.])")
_CHOOSE = re.compile(r"\\binom(?:\{([^{}]{1,40})\}|([0-9A-Za-z]))(?:\{([^{}]{1,40})\}|([0-9A-Za-z]))")
_OVER = re.compile(r"\{([^{}]{1,80})\\(over|choose)(?![A-Za-z])([^{}]{1,80})\}")
_C_OF = re.compile(r"(?<![A-Za-z\\}])(?:\{\})?(?:\^\{?(\d{1,4})\}?|_\{?(\d{1,4})\}?)C_\{?(\d{1,4})\}?")
_DEGREES_INSIDE = re.compile(
    r"(\\(?:sin|cos|tan|cot|sec|csc)(?:\^\{?\d\}?)? ?)"
    r"(?:\((\d+(?:\.\d+)?)\^\{?\\circ ?\}?\)|\{?(\d+(?:\.\d+)?)\^\{?\\circ ?\}?\}?)"
)
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALED = re.compile(rf"(?<![\w.])(\d{{1,20}}(?:\.\d{{1,20}})?) ({'|'.join(_SCALES)})s?(?![A-Za-z])", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,]*\d)")
_MATRIX = re.compile(r"\\begin\s*\{[bpvBV]?(?:small)?(?:matrix|array)\}")
_BASE_WORD = re.compile(
    r"_\{?\s*(?:base\s*)(two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen|\d{1,2})\s*\}?|_\{?\s*(two|three|four|five|six|seven|eight|nine|ten|twelve|sixteen)\s*\}?"
)
_BASES = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "twelve": 12,
    "sixteen": 16,
}

BLANK = "\2"
"""Stands for a blank between two digits that belong to different numbers."""


def plain(text: str) -> str:
    """An answer in one notation, with single blanks; text commands are opened and units still there."""
    for sign, same in _SIGNS.items():
        text = text.replace(sign, same)
    text = _scripts(_scripts(text, _SUPERSCRIPTS, "^"), _SUBSCRIPTS, "_")
    text = re.sub(r"√\s*(\d+(?:\.\d+)?|[A-Za-z])", r"\\sqrt{\1}", text).replace("√", "\\sqrt ")
    has_rows = _MATRIX.search(text) is not None
    text = text.replace("\\\\", "\1" if has_rows else "\\")
    text = _SPACES.sub(" ", text.replace("\\%", "%").replace("\\$", "\\dollar ").replace("{,}", ","))
    text = _GONE.sub("", text)
    for _ in range(3):
        text = _TEXT.sub(r" \1 ", text)
    text = _COMMAND.sub(lambda m: _same(m[1]), text).replace("\\{", "{").replace("\\}", "}").replace("\\|", "|")
    text = re.sub(r"\\mathbb ?\{? ?R ?\}?", "(-\\\\infty,\\\\infty)", text) if "\\mathbb" in text else text
    text = re.sub(r"\s+", " ", text).strip()
    text = text if text.endswith("..") else text.rstrip(". ")
    text = re.sub(r"\*\*", "^", text.strip("* "))
    text = _SCALED.sub(lambda m: rf"({m[1]}\cdot {_SCALES[m[2].lower()]})", text)
    text = _OVER.sub(lambda m: rf"\{'frac' if m[2] == 'over' else 'binom'}{{{m[1].strip()}}}{{{m[3].strip()}}}", text)
    text = re.sub(r"\\frac ?(\d) ?(\d)", r"\\frac{\1}{\2}", text)
    text = re.sub(r"\\frac ?(\d) ?\{", r"\\frac{\1}{", text)
    text = re.sub(
        r"\\frac ?(\{[^{}]*\}) ?(\{[^{}]*\}|[\dA-Za-z])",
        lambda m: rf"\frac{m[1]}{m[2] if m[2][0] == '{' else f'{{{m[2]}}}'}",
        text,
    )
    text = re.sub(r"\{ ?([^{} ]{1,40}) ?\}", r"{\1}", text)
    text = _MIXED.sub(_mixed, text)
    text = _REPEATING.sub(lambda m: _repeating(m[1], m[2], m[3]), text)
    text = _GOES_ON.sub(_goes_on, text)
    text = _SCIENTIFIC.sub(r"(\1\\cdot 10^{\2})", text)
    text = _C_OF.sub(lambda m: _choose(m[1] or m[2], m[3]), text)
    text = _CHOOSE.sub(lambda m: _choose((m[1] or m[2]).strip(), (m[3] or m[4]).strip()), text)
    text = _DEGREES_INSIDE.sub(lambda m: rf"{m[1]}(\frac{{{m[2] or m[3]}\pi }}{{180}})", text)
    text = re.sub(r"([\dA-F]) ?(?:\(?base (\d{1,2})\)?)$", r"\1_{\2}", text)
    text = _BASE_WORD.sub(lambda m: f"_{{{_BASES.get(m[1] or m[2], m[1])}}}", text)
    return text


def packed(text: str) -> str:
    """A plain text without blanks; those that end a command or keep two numbers apart stay."""
    text = re.sub(r"_(\d+) (?=\d)", r"_{\1}", text)
    text = re.sub(r"(?<=\d) (?=\d)", lambda m: "" if _is_grouped(text, m.start()) else BLANK, text)
    text = re.sub(r"(\\[A-Za-z]+) +(?=[A-Za-z])", "\\1\0", text)
    text = re.sub(r"\s+", "", text).replace("\0", " ")
    text = re.sub(r"_(\w)", r"_{\1}", text)
    text = text.replace("\1", "\\\\")
    text = (
        re.sub(r"^\](?=[^\[\]()]*,[^\[\]()]*\[?)", "(", text)
        if re.fullmatch(r"[\]\[][^\[\]()]*,[^\[\]()]*[\[\]]", text)
        else text
    )
    text = re.sub(r"\[$", ")", text) if text.count("[") + text.count("(") == 2 and text[-1:] == "[" else text
    return text.removeprefix("+")


def without_thousands(text: str) -> str:
    """The text without the commas between thousands. "(100,200)" and "{1,200}" are two numbers; so is "100, 200"."""

    def joined(match: re.Match[str]) -> str:
        before, after = text[: match.start()].rstrip()[-1:], text[match.end() :].lstrip(" \\")[:1]
        is_whole_bracket = before in tuple("([{") and after in tuple(")]}")
        return match[0] if is_whole_bracket else match[0].replace(",", "")

    return _THOUSANDS.sub(joined, text)


def _same(name: str) -> str:
    same = _SAME.get(name, name)
    return f"\\{same}" if same.isalpha() else same


def _scripts(text: str, digits: dict[str, str], mark: str) -> str:
    """The text with Unicode's raised or lowered digits as LaTeX's."""
    run = "[" + "".join(digits) + "]+"
    return re.sub(run, lambda m: f"{mark}{{{''.join(map(digits.__getitem__, m[0]))}}}", text)


def _is_grouped(text: str, place: int) -> bool:
    """Whether the blank at a place stands between thousands, as in "1 000" and "10 000.5"."""
    start = end = place
    while start and (text[start - 1].isdigit() or text[start - 1] == " "):
        start -= 1
    while end < len(text) and (text[end].isdigit() or text[end] == " "):
        end += 1
    return re.fullmatch(r"\d{1,3}(?: \d{3})+", text[start:end].strip()) is not None


def _mixed(match: re.Match[str]) -> str:
    r"""A mixed number as a sum: "1\frac{1}{2}" is (1+\frac{1}{2}). An improper fraction makes none."""
    top, bottom = match[2] or match[4], match[3] or match[5]
    if not 0 < int(top) < int(bottom):
        return match[0]
    return rf"({match[1]}+\frac{{{top}}}{{{bottom}}})"


def _repeating(whole: str, start: str, block: str) -> str:
    """A decimal with a block that is repeated for ever, as a fraction."""
    bottom = 10 ** len(start) * (10 ** len(block) - 1)
    top = int((whole or "0") + start + block) - int((whole or "0") + start)
    return rf"\frac{{{top}}}{{{bottom}}}"


def _goes_on(match: re.Match[str]) -> str:
    """A decimal that goes on ("0.333...", "0.1818..."): the fraction, if its end shows a block often enough."""
    digits = match[2]
    for length in range(1, len(digits) // 2 + 1):
        times = 3 if length == 1 else 2
        block = digits[-length:]
        if digits.endswith(block * times) and block != "0" * length:
            start = digits[: -length * times]
            while start.endswith(block):
                start = start[:-length]
            return _repeating(match[1], start, block)
    return match[0]


def _choose(top: str, bottom: str) -> str:
    """A binomial coefficient: of small numbers its value, else by factorials, which `math_values` bounds."""
    if top.isdecimal() and bottom.isdecimal():
        return f"({math.comb(int(top), int(bottom))})" if int(top) <= 300 else rf"\binom{{{top}}}{{{bottom}}}"
    return rf"\frac{{({top})!}}{{({bottom})!\cdot (({top})-({bottom}))!}}"


class Measured(NamedTuple):
    """An expression and what it counts.

    unit: in one spelling; "" without one. "%" is percent, "°" are degrees.
    """

    value: str
    unit: str


_UNITS = {
    "cm": "centimeter centimetre", "mm": "millimeter millimetre", "km": "kilometer kilometre", "m": "meter metre",
    "kg": "kilogram", "g": "gram", "mg": "milligram", "s": "second sec", "min": "minute", "h": "hour hr", "day": "", "week": "",
    "month": "", "year": "yr", "ft": "foot feet", "in": "inch inche", "yd": "yard", "mi": "mile", "lb": "pound", "oz": "ounce",
    "unit": "", "$": "dollar usd bucks", "cent": "", "euro": "eur", "mph": "", "ml": "milliliter millilitre", "l": "liter litre",
    "gal": "gallon", "ton": "", "rad": "radian", "°": "degree deg", "n": "newton", "j": "joule", "w": "watt", "v": "volt",
    "pa": "pascal",
    "k": "kelvin", "hz": "hertz", "ohm": "", "°c": "celsius", "°f": "fahrenheit", "percent": "", "mol": "mole", "acre": "",
    "way": "", "student": "", "people": "person", "apple": "", "marble": "", "book": "", "ball": "", "box": "boxe", "card": "",
    "coin": "",
    "car": "", "child": "children", "girl": "", "boy": "", "page": "", "point": "", "game": "", "team": "", "member": "",
    "side": "", "vertex": "vertice", "edge": "", "face": "", "solution": "", "digit": "", "integer": "", "number": "",
    "value": "", "term": "",
    "triangle": "", "square": "", "rectangle": "", "circle": "", "cube": "", "block": "", "tile": "", "cookie": "",
    "candy": "candie",
    "pencil": "", "pen": "", "dog": "", "cat": "", "bird": "", "fish": "", "tree": "", "flower": "", "egg": "", "cup": "",
    "orange": "",
    "step": "", "path": "", "route": "", "pair": "", "subset": "", "permutation": "", "combination": "", "arrangement": "",
    "outcome": "", "possibility": "possibilitie", "factor": "", "divisor": "", "zero": "zeroe", "sheet": "", "ticket": "",
    "piece": "", "slice": "",
    "question": "", "problem": "", "item": "", "seat": "", "row": "", "column": "", "vote": "", "bag": "", "jar": "",
    "bottle": "", "pizza": "",
}  # fmt: skip
_NAMES = {word: unit for unit, words in _UNITS.items() for word in (unit, *words.split())} | {"%": "percent"}
_SHORT = {"m", "g", "s", "h", "l", "n", "j", "w", "v", "k"}
"""Units that could be variables: they count as units only in a text command."""
_POWERS = {"square": 2, "sq": 2, "sq.": 2, "cubic": 3, "cu": 3, "cu.": 3, "squared": 2, "cubed": 3}
_TAIL = re.compile(r"(?<=[\d})\]!.])\s*([A-Za-z%][A-Za-z.%/ ]{0,50}?(?:\s*\^ ?\{?(-?[1-3])\}?)?)$")
_TEXT_TAIL = re.compile(
    r"(?<=[\d})\]!.$A-Za-z])[\s~\\,;!]*"
    r"\\(?:text|textbf|mathrm|textrm|mbox|rm)\s*\{[\s~\\]*([A-Za-z][A-Za-z .,/~-]{0,50})\}"
    r"\s*(?:\^\s*\{?\s*(-?[1-3])\s*\}?)?[\s$.]*$"
)
_NO_UNITS = re.compile(
    r"\b(?:or|and|to|if|more|less|than|times|plus|minus|over|mod|base|choose|root|half|halves|third|thirds|fourths?|fifths?|sixths?|eighths?"
    r"|quarters?|tenths?|hundredths?|dozens?|hundreds?|thousands?|millions?|billions?|trillions?|tens|ones|remainder|from|not|divided|by|"
    r"squared|cubed|factorial|infinity|pi|sqrt|where|for|when|with|is|are|undefined|am|pm|no|none|only|pi|th|st|nd|rd|sin|cos|tan|log|ln|max|min)\b",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"^(-?)\\(dollar|euro|pounds) ?(?=[\d.(\\])")


def measured(raw: str) -> Measured:
    r"""An answer without its unit: "12\text{ cm}^2" is 12 and "cm^2", "25\%" is 25 and "percent", "30^\circ" is 30 and "°"."""
    in_text = _TEXT_TAIL.search(raw)
    if in_text and (unit := _unit(in_text[1].replace("~", " "), in_text[2], in_a_command=True)):
        inner = measured(raw[: in_text.start()])
        return Measured(inner.value, inner.unit or unit)
    text = plain(raw)
    text = re.sub(r"\^ ?\{? ?\\circ ?\}?(?: ?\\?(C|F)$)?", lambda m: f" degrees{m[1] or ''}", text)
    if sign := _CURRENCY.match(text):
        rest = measured(sign[1] + text[sign.end() :])
        return Measured(rest.value, {"dollar": "$", "euro": "euro", "pounds": "lb"}[sign[2]])
    text = text.replace("\\dollar ", "").replace("\\dollar", "")
    if re.search(r"\d *degrees[CF]$", text):
        return Measured(text[: text.rindex("degrees")].rstrip(), "°" + text[-1].lower())
    tail = _TAIL.search(text)
    if tail and (unit := _unit(re.sub(r"\s*\^.*", "", tail[1]), tail[2], in_a_command=False)):
        return Measured(text[: tail.start()].rstrip(), unit)
    return Measured(re.sub(r" ?degrees(?![A-Za-z])", "", text).replace("%", ""), "")


def _unit(words: str, power: str | None, in_a_command: bool) -> str:
    """The unit that some words are, in one spelling; "" if they are none. In a text command all words are."""
    words = words.strip(" .,").lower()
    if not words or _NO_UNITS.search(re.sub(r"\bmin\b", "", words)):
        words_of_power = words.split()
        if not (len(words_of_power) == 2 and words_of_power[1] in ("squared", "cubed")):
            return ""
    found, raised = list[str](), int(power or 0)
    for word in re.sub(r"\bper\b|/", " / ", words).split():
        if word in _POWERS:
            if word in ("square", "cubic") and len(words.split()) == 1:
                found.append("square")
            raised = _POWERS[word]
        elif word == "/":
            found.append("/")
        elif (name := _NAMES.get(word) or _NAMES.get(word.removesuffix("s"))) and (
            in_a_command or word not in _SHORT or "/" in words
        ):
            found.append(name)
        elif in_a_command and len(word) > 1:
            found.append(word)
        else:
            return ""
    name = "".join(found) if "/" in found else " ".join(found)
    name = {"mi/h": "mph"}.get(name, name)
    return f"{name}^{raised}" if raised > 1 else name
