"""OCRBench v2's rules for short answers, counts, formulas and long texts.

Source: Fu et al. 2024, arXiv:2501.00321; OCRBench_v2/eval_scripts of its repository (vqa_metric.py, page_ocr_metric.py).
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence

from mm_eval.tasks.rules.matching import normalised_distance

CHINESE = re.compile("[\u4e00-\u9fa5]")
SEPARATORS = ("", ".", ". ", ",", ", ", "、", ";", "; ", " ", "和")
"""Between the letters of an answer sheet's answer."""
FEW_WORDS, FEW_PARTS = 5, 4
"""Shorter references, counted at blanks or in Chinese at commas, must stand in the answer; longer ones may be near."""
MOST_DIGITS = 1000


def holds_or_resembles(answer: str, references: Sequence[str], *, case: bool = False, chinese: bool = False) -> float:
    """1 if the answer holds a short reference; of longer ones the best similarity of at least one half."""

    def plain(text: str) -> str:
        text = (text if case else text.lower()).strip().replace("\n", " ")
        return text.replace(" ", "") if chinese else text

    answer, best = plain(answer), 0.0
    for reference in map(plain, references):
        short = len(reference.split(",")) < FEW_PARTS if chinese else len(reference.split()) < FEW_WORDS
        if short:
            best = max(best, float(reference in answer))
        else:
            similarity = 1 - normalised_distance(answer, reference) if answer or reference else 1.0
            best = max(best, similarity if similarity >= 0.5 else 0.0)
    return best


def letters_only(answer: str) -> str:
    """The letters of an answer: "(B)." is "B"."""
    return "".join(character for character in answer if character.isalpha())


def count_score(answer: str, references: Sequence[str], by_distance: bool) -> float:
    """1 if the answer holds the count; by_distance: how near its first number is, and 0 from half of the count on."""
    best = 0.0
    for reference in references:
        gold = reference.lower().strip().replace("\n", " ")
        if not by_distance:
            best = max(best, float(gold in answer))
            continue
        found = re.search(r"\d+", answer)
        number = int(found[0]) if found and len(found[0]) < MOST_DIGITS else 0
        nearness = 1 - abs(number - int(gold)) / int(gold) if 0 < number < 2 * int(gold) else 0.0
        best = max(best, nearness if nearness > 0.5 else 0.0)
    return best


def holds_formula(answer: str, references: Sequence[str], without_text: bool) -> float:
    r"""1 if the answer holds the formula, blanks aside; without_text: \text{...} is its content."""

    def plain(text: str) -> str:
        if without_text:
            text = re.sub(r"\\text\{([^{}]*)\}", r"\1", text)
        return text.strip().replace("\n", " ").replace(" ", "")

    return float(any(plain(reference) in plain(answer) for reference in references))


def holds_sheet_answer(answer: str, gold: str) -> float:
    """1 if the answer holds the letters of an answer sheet with one of the usual separators between them."""
    return float(any(separator.join(gold) in answer for separator in SEPARATORS))


def bleu(words: Sequence[str], gold: Sequence[str]) -> float:
    """BLEU of one text with four n-gram orders and no smoothing, as NLTK has it: a missing order counts as the least float."""
    logs = 0.0
    for order in range(1, 5):
        said, known = (Counter(zip(*(text[n:] for n in range(order)), strict=False)) for text in (words, gold))
        right = sum((said & known).values())
        if not right and order == 1:
            return 0.0
        logs += math.log(right / said.total() if right else sys.float_info.min) / 4
    brevity = 1.0 if len(words) > len(gold) else math.exp(1 - len(gold) / len(words))
    return brevity * math.exp(logs)


def f_measure(words: Sequence[str], gold: Sequence[str]) -> float:
    """The F1 of the sets of words."""
    both = len(set(words) & set(gold))
    return 2 * both / (len(set(words)) + len(set(gold))) if both else 0.0


def by_characters(text: str) -> list[str]:
    """Words between blanks; of a text with Chinese in it each Chinese character is a word."""
    return re.findall(r"[\u4e00-\u9fa5]|[^\s\u4e00-\u9fa5]+", text)


Words = Callable[[str], Sequence[str]]
Measure = Callable[[Sequence[str], Sequence[str]], float]


def text_score(answer: str, gold: str, words: Words = by_characters, meteor: Measure | None = None) -> float:
    """The mean of BLEU, F1 of words and 1 minus the normalised edit distance, and of METEOR where it is given.

    words: splits texts with Chinese in them; others are split at blanks.
    """
    if not answer:
        return 0.0
    split: Words = words if CHINESE.search(gold) or CHINESE.search(answer) else str.split
    said, known = split(answer), split(gold)
    parts = [bleu(said, known), f_measure(said, known), 1 - normalised_distance(answer, gold)]
    return sum([*parts, meteor(said, known)] if meteor else parts) / (4 if meteor else 3)
