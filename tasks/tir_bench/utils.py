"""TIR-Bench: what a judge has extracted from a reply, compared by the kind of the answer.

Source: Li et al. 2025, arXiv:2511.01833; calculate_score.py and tools.py of agents-x-project/TIR-Bench at f79c756.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mm_eval.tasks.rules.math_answer import last_boxed
from mm_eval.tasks.rules.math_equality import math_equal

from mm_eval.scoring.filters import UNPARSED
from mm_eval.scoring.filters.base import WHOLE_ANSWER

from .judge_prompt import EXAMPLES

Doc = Mapping[str, Any]
LETTERS = "ABCDEFGHIJ"
LABEL = "Extracted answer:"
CORRECTED = {"60.jpg": "mobi", "62.jpg": "aires"}
"""Answers that the authors' script replaces where a picture's name contains these."""
WHOLE = re.compile(r"[A-J]+|-?\d+(?:\.\d+)?|\[?\d+(?:\s*,\s*\d+)*\]?")
"""A reply that is an answer as it stands, which needs no judge."""


PAIR = re.compile(r"\b(\d+)\s*,\s*(\d+)\b")


def doc_to_visual(doc: Doc) -> list[Any]:
    """One picture or two, which the hub has in data.zip."""
    return [name for name in (doc["image_1"], doc.get("image_2")) if name]


def answer_of(doc: Doc) -> str:
    """The right answer; two words to be read are those that the script has."""
    names = [word for part, word in CORRECTED.items() if part in doc["image_1"]] if doc["task"] == "ocr" else []
    return names[-1] if names else str(doc["answer"])


def judge_prompt(doc: Doc, reply: str) -> str:
    """Examples, the question, the reply, and the place for what it says."""
    return f"{EXAMPLES}\n\nQuestion: {doc['prompt']}\n\nModel response: {reply}\n\n{LABEL} "


def extraction(reply: str) -> str | None:
    """The judge's reply without its label; None if nothing is left."""
    return reply.strip().removeprefix(LABEL).strip() or None


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """The mark of a text. It counts as read if it is an answer as it stands; others go to the judge, but for words to be read."""
    reply = results[0] or ""
    if doc["task"] == "ocr":
        return {"acc": float(answer_of(doc) in reply), "__rule__": "word" if reply.strip() else UNPARSED}
    rule = WHOLE_ANSWER if WHOLE.fullmatch(reply.strip()) else UNPARSED
    said = reply.replace("*", "").strip()
    return {"acc": float(mark(doc, said)) if said else 0.0, "__rule__": rule}


def mark(doc: Doc, said: str) -> float:
    """1 or 0; in a jigsaw the share of pieces in their places, and of places that differ the overlap with the right ones."""
    task, answer = doc["task"], answer_of(doc)
    kind = kind_of(answer)
    if task == "jigsaw":
        return in_place(answer, said, int((doc.get("meta_data") or {})["difficulty"]) ** 2)
    if kind == "number":
        return is_number(said, answer)
    if task == "word_search":
        named, right = ([digits(each) for found in PAIR.findall(text)[:1] for each in found] for text in (said, answer))
        return bool(right) and named == right
    if task == "spot_difference":
        places, right_places = ({*map(digits, re.findall(r"\d+", text))} for text in (said, answer))
        return len(places & right_places) / len(places | right_places) if places | right_places else 1.0
    return kind == "letters" and is_choice(said, answer, doc["prompt"])


def digits(number: str) -> str:
    """A whole number without zeros in front, however long it is."""
    return number.lstrip("0") or "0"


def kind_of(answer: str) -> str:
    """What an answer is: "letters", a "number", or "" for anything else."""
    if answer.isalpha():
        return "letters"
    with suppress(ValueError):
        float(answer)
        return "number"
    return ""


def is_number(said: str, answer: str) -> bool:
    """Whether a text without its Latin letters, colons and blanks is the number, or else stands for an equal one."""
    bare = re.sub(r"[A-Za-z*:\s]+", "", said.replace(LABEL, ""))
    with suppress(ValueError):
        if float(bare) == float(answer):
            return True
    return bool(re.search(r"\d", said)) and math_equal(last_boxed(said) or said, answer)


def is_choice(said: str, answer: str, prompt: str) -> bool:
    """Whether a text is the letter, or that of an option which it is, else the first letter that it has, else A.

    Of several letters: whether they are the same in any order.
    """
    if len(answer) > 1:
        return sorted(answer) == sorted(said)
    letter = said.replace(LABEL, "").strip()
    if letter not in [*LETTERS]:
        for each in LETTERS:
            if any(f"{each}{mark}{letter}" in prompt for mark in (". ", ".", " ", "")):
                letter = each
    if letter not in [*LETTERS]:
        letter = next((each for each in LETTERS if each in letter), LETTERS[0])
    return answer in LETTERS and letter == answer


def in_place(answer: str, said: str, pieces: int) -> float:
    """The share of pieces that are where they belong, of the first row of that many numbers; 0 without one."""
    rows = list[list[str]]()
    for text in (answer, said):
        found = ([*map(digits, re.findall(r"\d+", run))] for run in re.findall(r"[\d\s,，]+", text))
        rows.append(next((row for row in found if len(row) == pieces), list[str]()))
    right, named = rows
    return sum(one == other for one, other in zip(right, named, strict=True)) / pieces if right and named else 0.0
