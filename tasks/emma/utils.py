"""EMMA: questions on mathematics, physics, chemistry and code whose pictures must be reasoned about.

Source: Hao et al. 2025, arXiv:2501.05444, and EMMA-Bench/EMMA (configs/gpt.yaml, data_utils.py, evaluation).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.math_equality import same_value
from mm_eval.tasks.rules.mmmu import listed_options
from mm_eval.tasks.rules.written_numbers import is_float, number_in_latex, number_in_words

from mm_eval.scoring.filters import TRUNCATED, rule_of
from mm_eval.values.types import at_image_marks

TOKEN = r"<image_(\d)>"
FLAGS = ("final answer is", "correct answer is", "answer should be", "answer is", "answer:")
BOX = "\\boxed{"


def options(doc: Mapping[str, Any]) -> list[str]:
    """The options' texts; none for an open question."""
    return listed_options(doc["options"]) if doc["type"].lower() == "multiple choice" else []


def golds(doc: Mapping[str, Any]) -> list[str]:
    """The right answer, and for a letter the text of its option."""
    letter, texts = doc["answer"].strip().upper(), options(doc)
    place = ord(letter) - ord("A") if len(letter) == 1 else -1
    return [doc["answer"], *texts[place : place + 1]] if place >= 0 else [doc["answer"]]


def _prompt(doc: Mapping[str, Any], block: Mapping[str, str]) -> str:
    """The question with its context and options, with the pictures' tokens."""
    text = f"{doc['context'] or ''}\n{doc['question']}\n"
    texts = options(doc)
    text += "".join(f"{chr(ord('A') + n)}: {option}\n" for n, option in enumerate(texts))
    closed_end, open_end = block["post_prompt"], block["open_post_prompt"]
    return text + (closed_end if texts else open_end) + block["strategy"]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The prompt, each picture at its token."""
    return at_image_marks(_prompt(doc, model_specific_prompt_kwargs), TOKEN)[0]


def doc_to_visual(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> list[Any]:
    """The pictures that the prompt names, in its order."""
    numbers = at_image_marks(_prompt(doc, model_specific_prompt_kwargs), TOKEN)[1]
    pictures = [doc.get(f"image_{number}") for number in numbers]
    return [picture.convert("RGB") for picture in pictures if picture is not None]


def last_box(text: str) -> str | None:
    """The content of the last outermost box; None without one. A box that is not closed ends the search."""
    found, place = None, text.find(BOX)
    while place >= 0:
        depth, end = 0, place + len(BOX)
        while depth >= 0 and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        if depth >= 0:
            break
        found, place = text[place + len(BOX) : end - 1], text.find(BOX, end)
    return found


def extracted(response: str) -> tuple[str, str]:
    """(the answer in a response, the rule that found it): a letter or number, the last box, or what follows "answer is"."""
    response = response.strip()
    if re.match(r"[A-H](?:[:.]|\Z)|[a-h]\Z", response):
        return response[0].upper(), "letter"
    if is_float(response):
        return response, "number"
    if (box := last_box(response)) is not None:
        texts = re.findall(r"\\text{(.*?)}", box)
        box = (texts[-1] if texts else box).strip()
        return box, "boxed" if box else "unparsed"
    lower = response.lower()
    for flag in FLAGS:
        if flag in lower:
            said = lower.rpartition(flag)[2].strip().partition("\n")[0].partition(".")[0]
            return said, "answer is" if said.strip() else "unparsed"
    return "", "unparsed"


def equal(said: str, gold: str) -> bool:
    """Whether an answer equals a right one: as text, as a number in words, or as a number of two decimal places."""
    one, other = said.lower().strip(), gold.lower().strip()
    if one == other or str(number_in_words(one)) == other:
        return True
    first, second = number_in_latex(one), number_in_latex(other)
    return first is not None and second is not None and same_value(first, second, decimals=2)


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one answer; one without an answer that the rules find is wrong."""
    if rule_of(results[0]) == TRUNCATED:
        return {"acc": 0.0}
    answer, rule = extracted(results[0])
    right = rule != "unparsed" and any(equal(answer, gold) for gold in golds(doc))
    return {"acc": float(right), "__rule__": rule}


def category(doc: Mapping[str, Any]) -> list[str]:
    """The categories within the subject; one of Coding may have several."""
    found = (doc["category"] or "").split(";") if doc["subject"] == "Coding" else [doc["category"] or ""]
    return [f"{doc['subject']}: {each.strip()}" for each in found if each.strip()]


def task(doc: Mapping[str, Any]) -> str | None:
    """The kind of task within the subject; only Coding has some."""
    return f"{doc['subject']}: {doc['task']}" if doc["task"] else None


def question_type(doc: Mapping[str, Any]) -> str:
    """Multiple choice or open-ended; the data writes the first in two ways."""
    return str(doc["type"]).lower()
