"""MMMU's reading of answers: the option letter of a multiple-choice answer, and whether an open answer is right.

Source: Yue et al. 2023, arXiv:2311.16502, and the evaluation scripts of MMMU-Benchmark/MMMU: mmmu/utils/eval_utils.py (also
MuirBench's), mmmu-pro/evaluate.py, and lmms-eval's variant of the first. An answer without a letter gets a random one there;
such a letter is scored as drawn, and its answer counts as unparsed.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from mm_eval.scoring.filters.base import UNPARSED, Filter, found_by, is_unanswered, register_filter
from mm_eval.scoring.filters.options import as_list, is_missing
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Doc

Found = tuple[list[str], Callable[[str], int]]

_STRIPPED = (",", ".", "!", "?", ";", ":", "'")
_LONGER_THAN = 5
"""Options' texts are searched only in answers of more words."""
_OTHERS = ("({})", "{} ", "{}.")
_FORMS = {"mmmu": ("({})", " {} "), "lmms": _OTHERS, "mmmu_pro": _OTHERS, "omnibench": _OTHERS}
"""How a letter may stand in an answer, by rule, the first form that occurs counts."""
_NAMES = {"({})": "bracketed", " {} ": "between_blanks", "{} ": "before_blank", "{}.": "before_stop"}


def listed_options(value: Any) -> list[str]:
    """The texts of the options from a list, or from a string that holds a Python list; missing ones at the end are left out.

    Raises DataError for a string that holds none.
    """
    if isinstance(value, str):
        value = [] if is_missing(value) else as_list(value, "options")
    texts = ["" if text is None else str(text) for text in value or ()]
    while texts and is_missing(texts[-1]):
        texts.pop()
    return texts


def mmmu_letter(answer: str, options: Sequence[str], rule: str = "mmmu") -> tuple[str | None, str]:
    """The letter that an answer means and the step that found it; (None, "unparsed") where the script draws one.

    options: the texts in the order of the letters. rule: "mmmu", "mmmu_pro", "lmms" or "omnibench".
    """
    letters = string.ascii_uppercase[: len(options)]
    if rule == "mmmu_pro" and "Answer:" in answer:
        said = answer.rpartition("Answer:")[2]
        named = [letter for letter in letters if letter in said]
        if len(named) == 1:
            return named[0], f"{rule}:answer"
    for character in _STRIPPED if rule != "omnibench" else ():
        answer = answer.strip(character)
    answer = f" {answer} "
    for form in _FORMS[rule]:
        found = [letter for letter in letters if form.format(letter) in answer]
        if found:
            counted = "({})" if form == "({})" else " {} "  # also where the form is another one: all are then at -1
            return max(found, key=lambda letter: answer.rfind(counted.format(letter))), f"{rule}:{_NAMES[form]}"
    if len(answer.split()) > _LONGER_THAN:
        lower, texts = answer.lower(), {letter: text.lower() for letter, text in zip(letters, options, strict=True)}
        found = [letter for letter, text in texts.items() if text in lower]
        if found:
            return max(found, key=lambda letter: lower.rfind(texts[letter])), f"{rule}:text"
    return None, UNPARSED


@register_filter("mmmu_letter")
class MMMULetterFilter(Filter):
    """Finds the option letter by MMMU's rule; an answer without one gets a random letter and counts as unparsed.

    The answer to a doc without options is kept for `open_answer_is_right`. An answer that ends while thinking gets no letter.

    options: the doc's field with the options, or a function of the doc that returns their texts.
    rule: "mmmu", "mmmu_pro" or "lmms".
    seed: of the random letters. order: the field whose natural order ("x_2" before "x_10") is the order of the draws; by default
        the order of the docs.
    """

    needs_all_docs: ClassVar[bool] = True

    def __init__(
        self,
        options: str | Callable[[Doc], Sequence[str]] = "options",
        rule: str = "mmmu",
        seed: int = 42,
        order: str | None = None,
    ) -> None:
        if rule not in _FORMS:
            raise ConfigError(f"mmmu_letter: rule must be one of {', '.join(_FORMS)}, not {rule!r}.")
        self.options, self.rule, self.seed, self.order = options, rule, seed, order

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        read = [list(answers) for answers in resps]
        drawn: list[tuple[int, int, str]] = []  # doc, repeat, letters
        for place, (answers, doc) in enumerate(zip(read, docs, strict=True)):
            options = list(self.options(doc)) if callable(self.options) else listed_options(doc.get(self.options))
            for repeat, answer in enumerate(answers):
                answers[repeat] = self._one(answer, options)
                if answers[repeat] is None:
                    drawn.append((place, repeat, string.ascii_uppercase[: len(options)]))
        if order := self.order:
            drawn.sort(key=lambda draw: natural_order(docs[draw[0]].get(order)))
        streams: dict[int, random.Random] = {}
        for place, repeat, letters in drawn:
            stream = streams.setdefault(repeat, random.Random(self.seed))
            read[place][repeat] = found_by(stream.choice(letters), UNPARSED)
        return read

    def _one(self, answer: Any, options: Sequence[str]) -> Any:
        """The answer with its rule; None where a letter must be drawn."""
        if is_unanswered(answer):
            return answer
        text = answer if isinstance(answer, str) else ""
        if not options:
            return found_by(text, f"{self.rule}:open" if text.strip() else UNPARSED)
        letter, rule = mmmu_letter(text.strip(), options, self.rule)  # the benchmark's runs strip what they record
        return None if letter is None else found_by(letter, rule)


def natural_order(value: Any) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts "x_2" before "x_10" and "Art_3" before "Art_Theory_1": numbers by value, and before words."""
    parts = re.findall(r"\d+|[^\d_]+", str(value))
    return tuple((0, int(part[:18]), "") if part.isdigit() else (1, 0, part) for part in parts)


INDICATORS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_TRIVIAL = (":", ",", ".", "!", "?", ";", "'")
_NUMBERS = (
    re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b"),
    re.compile(r"-?(?<!\d)\d+(?:\.\d+)?[eE][+-]?\d+"),
    re.compile(r"-?(?:(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+\b)(?![eE][+-]?\d+)(?![,\d])"),
)
"""Numbers with commas, in scientific notation, and plain; the look-behinds change no match and keep the time linear."""


def open_answer_is_right(answer: str, golds: Sequence[str], indicators: Sequence[str] = INDICATORS) -> bool:
    """Whether an open answer is right by MMMU's rule: a text in it holds a gold text, or a number in it equals a gold number.

    indicators: the words after which the answer may stand.
    """
    wanted = [each for gold in golds for each in _normal(gold)]
    texts = [each for each in wanted if isinstance(each, str)]
    for said in open_answers(answer, indicators):
        if isinstance(said, str) and any(text in said for text in texts):
            return True
        if not isinstance(said, str) and said in wanted:
            return True
    return False


def open_answers(answer: str, indicators: Sequence[str] = INDICATORS) -> list[str | float]:
    """The texts and numbers that an open answer may mean: what follows "is", "so", "answer" ..., and the numbers in it."""
    whole = answer.strip().strip(".").lower()
    sentences = whole.split("\n")  # the script also splits at ". " before a capital: there is none in lower case
    ends = []
    for place, sentence in enumerate(sentences):
        marks = (*indicators, "=") if place == len(sentences) - 1 else indicators
        tails = [sentence.rpartition(each)[2].strip() for each in marks if each in sentence]
        shortest = _shortest(tails)
        if shortest and shortest not in _TRIVIAL:
            ends.append(shortest)
    said = ends or [whole]
    numbers = [number for text in said for pattern in _NUMBERS for number in pattern.findall(text)]
    return [each for text in (*said, *numbers) for each in _normal(text)]


def _shortest(tails: Sequence[str]) -> str:
    """The first of the shortest tails, as the script finds it: an empty one is replaced by the next."""
    shortest = ""
    for tail in tails:
        if not shortest or len(tail) < len(shortest):
            shortest = tail
    return shortest


def _normal(text: str) -> list[str | float]:
    """A number rounded to 2 places, else the text in lower case; one character gets a blank, so that it must stand alone."""
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        text = text.lower()
        return [f" {text}", f"{text} "] if len(text) == 1 else [text]
