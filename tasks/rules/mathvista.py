r"""MathVista's rule: what a response says, by rules alone, and what that stands for among the choices or numbers.

Source: Lu et al. 2023, arXiv 2310.02255; evaluation/extract_answer.py and calculate_score.py of github.com/lupantech/MathVista.
There a language model shortens each response ("extraction"). Here a response is taken as it is unless a box or a phrase says
where its answer is. The normalisation after that is the official one, so recorded extractions give the recorded verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mm_eval.tasks.rules.math_answer import last_boxed
from mm_eval.tasks.rules.written_numbers import is_float

from mm_eval.scoring.filters.base import UNPARSED, WHOLE_ANSWER
from mm_eval.scoring.metrics.generation import edit_distance

LONGEST = 20_000
"""The most characters of a response that are read; of a longer one the end, where the answer is."""
SHORT = 60
"""A text of at most so many characters without a phrase is taken for the answer itself."""

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
_MATRIX = re.compile(r"\\begin\{[bpvBV]?(?:matrix|array)\}(.*)\\end\{[bpvBV]?(?:matrix|array)\}", re.DOTALL)
_QUOTED = re.compile(r'The answer is "(.*)"\.')
_PHRASE = re.compile(
    r"(?:answer|option|choice|value|result)(?:\s+(?:is|would\s+be|should\s+be|equals)\b\s*:?|\s*[:：]|\*\*\s*:?)|答案(?:是|为|：|:)|\btherefore,?|\bhence,?",
    re.IGNORECASE,
)
_LETTER = re.compile(r"\(([a-zA-Z])\)")
_LONE_LETTER = re.compile(r"\W*(?:(?:option|choice)\s+)?\W*((?:[AI](?!\s+[a-z])|[B-HJ-Z]))(?![A-Za-z0-9'’])")
_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|-?\.\d+")
_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|shows?|equals?|needs?|left|gives?)\b", re.IGNORECASE)
_LIST = re.compile(r"\[[^\[\]]*\]")


def mathvista_extraction(response: str, choices: Sequence[str], answer_type: str) -> tuple[str, str]:
    """The answer in a response, and the rule that found it; (the whole response, "unparsed") where none does.

    choices: of a multiple choice question, else empty. answer_type: "text", "integer", "float" or "list".
    """
    text = response.strip()[-LONGEST:]
    if text in choices or (answer_type in ("integer", "float") and is_float(text)):
        return text, WHOLE_ANSWER
    if quoted := _QUOTED.search(text):
        return quoted[1], "quoted"
    boxed = last_boxed(text)
    if boxed is not None:
        found = _plain(boxed) if choices or answer_type != "list" else boxed
        return _within(found, choices, answer_type) or found, "boxed"
    for phrase in reversed(list(_PHRASE.finditer(text))[-2:]):
        clause: str = re.split(r"\n|(?<!\d)\.\s|\.(?=\s|$)", text[phrase.end() :].strip(), maxsplit=1)[0]
        if within := _within(clause, choices, answer_type):
            return within, "phrase"
    if answer_type in ("integer", "float") and (number := _only_number(text)):
        return number, "only number"
    return text, WHOLE_ANSWER if text and len(text) <= SHORT else UNPARSED


def mathvista_normal(
    extraction: str, choices: Sequence[str], answer_type: str, precision: float | None, script: bool
) -> tuple[str | None, bool]:
    """What an extraction stands for, as the text that is compared with the answer, and whether that is more than a guess.

    A choice is found by its letter, else by the smallest edit distance. An empty extraction chooses nothing (the script's option
    --ignore_empty_extractions). script: "5.0" and "5.7" are the integer 5, as in the published script; else only digits are an
    integer, as in 22 of the 23 recorded runs.
    """
    if choices:
        return _choice(extraction.strip(), choices)
    try:
        if answer_type == "integer":
            return str(int(float(extraction)) if script else int(extraction)), True
        if answer_type == "float":
            return str(round(float(extraction), int(precision or 0))), True
    except (ValueError, OverflowError):
        return None, False
    return extraction, bool(extraction)


def _plain(text: str) -> str:
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


def _choice(extraction: str, choices: Sequence[str]) -> tuple[str | None, bool]:
    if not extraction:
        return None, False
    letter = _LETTER.search(extraction)
    label = letter[1].upper() if letter else extraction
    if len(label) == 1 and 0 <= ord(label) - ord("A") < len(choices):
        return choices[ord(label) - ord("A")], True
    distances = [edit_distance(label, choice) for choice in choices]
    nearest = distances.index(min(distances))
    return choices[nearest], 2 * distances[nearest] <= len(choices[nearest])


def _within(clause: str, choices: Sequence[str], answer_type: str) -> str | None:
    """The answer that a clause after a phrase begins with: a letter, a choice, a number or a list."""
    clause = clause.strip().strip("*$ ")
    if choices:
        letter = _LETTER.search(clause) or _LONE_LETTER.match(clause)
        if letter and ord(letter[1].upper()) - ord("A") < len(choices):
            return letter[1].upper()
        held = [choice for choice in choices if re.search(rf"(?<!\w){re.escape(choice)}(?!\w)", clause)]
        longest = max(held, key=len, default=None)
        return longest if longest and all(choice in longest for choice in held) else None
    if answer_type == "list":
        lists: list[str] = _LIST.findall(clause)
        return lists[-1] if lists else None
    numbers: list[str] = _NUMBER.findall(clause.rpartition("=")[2])
    return numbers[0].replace(",", "") if len(numbers) == 1 else None


def _only_number(text: str) -> str | None:
    """The number of a sentence with a verb that has one: of the whole response, else of its last sentence with a number.

    A ratio is none: "the ratio of men to women is 1" may mean 1:1.
    """
    for sentence in (text, *reversed(re.split(r"\n+|(?<=[.!?])\s", text)[-4:])):
        numbers: list[str] = _NUMBER.findall(sentence)
        if len(numbers) == 1 and _VERB.search(sentence) and "ratio" not in sentence:
            return numbers[0].replace(",", "")
        if sentence is not text and numbers:
            return None
    return None
