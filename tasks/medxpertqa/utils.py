"""MedXpertQA: examination questions in two turns, reasoning and then the letter, and the authors' reading of the second answer.

Source: Zuo et al. 2025, arXiv:2501.18362; eval/{main,utils,config/prompt_templates}.py of TsinghuaC3I/MedXpertQA at f21247d.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.values.types import IMAGE_MARK

Doc = Mapping[str, Any]
LETTERS = "ABCDEFGHIJ"
SYSTEM = "You are a helpful medical assistant."
DELETED = ("I understand", "A through J", "A through E", "A through D")
"""Phrases with letters that are no answer."""


def letters(doc: Doc) -> str:
    """The letters of the options."""
    return LETTERS[: len(doc["options"])]


def first_question(doc: Doc) -> str:
    """The question, whose text has the options, and the begun answer."""
    return f"Q: {doc['question'].strip()}\nA: Let's think step by step."


def doc_to_text(doc: Doc) -> str:
    """The first turn of a model without chats, pictures behind the text."""
    return first_question(doc) + IMAGE_MARK * len(doc["images"])


def doc_to_messages(doc: Doc) -> list[dict[str, Any]]:
    """The authors' chat up to the first answer: their system text, and the text before the pictures."""
    pictures = [{"type": "image", "url": name} for name in doc["images"]]
    return [
        {"role": "system", "content": [{"type": "text", "text": SYSTEM}]},
        {"role": "user", "content": [{"type": "text", "text": first_question(doc)}, *pictures]},
    ]


def trigger(doc: Doc) -> str:
    """What is said after the reasoning."""
    return f"Therefore, among A through {letters(doc)[-1]}, the answer is"


def next_turn(doc: Doc, answers: Sequence[Any]) -> str | None:
    """The second turn, which asks for the letter; then the end."""
    return trigger(doc) if len(answers) == 1 else None


def letter_of(answer: str, doc: Doc) -> tuple[str | None, str]:
    """The letter that the second answer gives, and the rule that found it.

    It is the first capital letter of an option that stands alone: behind the trigger, where the answer repeats it, else behind
    " answer is ", else in the whole answer. It ends where these words come again. The article "A" counts.
    """
    answer, rule = answer.strip(), "whole answer"
    for phrase, name in ((trigger(doc), "trigger"), (" answer is ", "phrase")):
        if phrase in answer:
            answer, rule = answer.split(phrase)[1].strip(), name
            break
    for phrase in DELETED:
        answer = answer.replace(phrase, "")
    found = re.search(rf"\b[{letters(doc)}]\b", answer)
    return (found[0], rule) if found else (None, UNPARSED)


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter."""
    said, rule = letter_of(results[0] or "", doc)
    return {"acc": float(said == doc["label"]), "__rule__": rule}
