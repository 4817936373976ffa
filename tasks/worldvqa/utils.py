"""WorldVQA: prompts in two languages, and three grades of which the word "Correct" wins.

Source: Zhou et al. 2026, arXiv:2602.02537; eval/eval.py of MoonshotAI/WorldVQA at d8dded9.
"""

import re
from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.cells import filled

from mm_eval.types import shown_picture

from .prompts import JUDGE

Doc = Mapping[str, Any]
DETAIL, DETAIL_CHINESE = "Please provide as much detail as possible in your answer. \n", "请尽可能提供详细的回答。\n"
CORRECT, UNATTEMPTED, INCORRECT = "Correct", "Unattempted", "Incorrect"
LEFT_OUT = "People"
"""The category that is not in the board's number."""
_LABEL = re.compile(r"Label\W*(\w+)")
_NAMED = re.compile(rf"\b(?:{CORRECT}|{UNATTEMPTED}|{INCORRECT})\b")


def doc_to_visual(doc: Doc) -> list[Any]:
    """The picture, which the hub has as base64."""
    return [shown_picture(doc["image"])]


def doc_to_text(doc: Doc) -> str:
    """The demand for detail in the question's language, and the question."""
    return f"{DETAIL_CHINESE if doc['language'] == 'zh' else DETAIL}{filled(doc, 'question')}"


def doc_to_target(doc: Doc) -> str:
    """The right answer as text: a table of text may give a number.

    A data set without the column of categories is refused here: what the board leaves out would count.
    """
    doc["category"]
    return str(filled(doc, "answer"))


def judge_prompt(doc: Doc, answer: str) -> str:
    """The authors' question, in English for both languages."""
    return JUDGE.format(question=doc["question"], model_answer=answer, ground_truth_answer=filled(doc, "answer"))


def of_grade(doc: Doc, grade: str, unclear: bool = False) -> dict[str, int]:
    """The value of each metric. A document of the category that the board leaves out has no `acc`."""
    right = int(grade == CORRECT)
    values = {"acc": right, "acc_all": right, "incorrect": int(grade == INCORRECT)}
    values |= {"unattempted": int(grade == UNATTEMPTED), "unclear": int(unclear)}
    return {name: value for name, value in values.items() if name != "acc" or doc["category"] != LEFT_OUT}


def verdict(reply: str, doc: Doc) -> dict[str, int] | None:
    """The grade that the authors' script reads, and whether the reply also says another one; None where it says none."""
    grade = next((each for each in (CORRECT, UNATTEMPTED) if each in reply), None)
    grade = grade or (INCORRECT if "incorrect" in reply.lower() else None)
    if grade is None:
        return None
    labels = _LABEL.findall(reply)
    named = {labels[-1]} if labels else {*_NAMED.findall(reply)}
    return of_grade(doc, grade, unclear=bool(named - {grade}))


def nothing_said(doc: Doc) -> dict[str, int]:
    """An empty answer attempts nothing."""
    return of_grade(doc, UNATTEMPTED)


def bounds(doc: Doc) -> tuple[dict[str, int], dict[str, int]]:
    """The worst and the best verdict."""
    return of_grade(doc, INCORRECT), of_grade(doc, CORRECT)
