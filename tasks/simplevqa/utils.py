"""SimpleVQA: short questions of fact on a picture, graded correct, incorrect or not attempted.

Source: Cheng et al. 2025, arXiv:2502.13059; llm_as_a_vqa_judger.py and simpleVQA_eval.py of github.com/SimpleVQA/SimpleVQA.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.judge_replies import json_object

from mm_eval.scoring.metrics import smooth
from mm_eval.types import shown_picture

from .prompts import JUDGE

CORRECT, NOT_ATTEMPTED, INCORRECT = 1, 0, -1
GRADES = {"正确": CORRECT, "未尝试": NOT_ATTEMPTED, "错误": INCORRECT}
FIRST = "预测答案0"
"""The key of the only answer in the reply."""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture, which the hub has as base64."""
    return [shown_picture(doc["image"])]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question between the block's texts; `_chinese` of a text, where it is stated, is for Chinese questions."""
    block = model_specific_prompt_kwargs or {}
    before, after = block.get("pre_prompt", ""), block.get("post_prompt", "")
    chinese = block.get("pre_prompt_chinese", before), block.get("post_prompt_chinese", after)
    if doc["language"] == "CN":
        before, after = chinese
    return f"{before}{doc['question']}{after}"


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """The official prompt, in Chinese for both languages, with one answer."""
    return JUDGE.format(question=doc["question"], answer=doc["answer"], candidates=f"\n[{FIRST}]：{answer}")


def verdict(reply: str) -> int | None:
    """The grade in the JSON reply, or a reply that is nothing but a grade.

    The official script takes a longer text for "not attempted" and adds a missing bracket; here both are unreadable.
    """
    found = json_object(reply)
    said = reply if found is None else found.get(FIRST) if set(found) == {FIRST} else None
    if isinstance(said, Mapping):
        said = said.get("conclusion")
    return GRADES.get(said.strip().strip("*【】。'\"")) if isinstance(said, str) else None


def _share(grades: Sequence[float], grade: int) -> float:
    return sum(each == grade for each in grades) / len(grades) if grades else 0.0


@smooth
def correct(grades: Sequence[float]) -> float:
    """The share of answers that are correct."""
    return _share(grades, CORRECT)


@smooth
def incorrect(grades: Sequence[float]) -> float:
    """The share of answers that are incorrect."""
    return _share(grades, INCORRECT)


@smooth
def not_attempted(grades: Sequence[float]) -> float:
    """The share of questions that are not answered."""
    return _share(grades, NOT_ATTEMPTED)


@smooth
def correct_of_attempted(grades: Sequence[float]) -> float:
    """The share of correct answers among those that are correct or incorrect; 0 where no question is answered."""
    attempted = 1 - not_attempted(grades)
    return correct(grades) / attempted if attempted else 0.0


@smooth
def f1(grades: Sequence[float]) -> float:
    """The harmonic mean of the share that is correct and the share that is correct among the attempted: "F-score"."""
    parts = correct(grades), correct_of_attempted(grades)
    return 2 * parts[0] * parts[1] / sum(parts) if sum(parts) else 0.0
