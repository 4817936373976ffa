"""MATH-Vision: the prompt with lettered options, and the benchmark's rule for the answer.

Source: Wang et al. 2024, arXiv:2402.14804; github.com/mathllm/MATH-V.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.mathvision import mathvision_answer, mathvision_equal

from mm_eval.scoring.filters.options import texts_of

LETTERS = "ABCDE"


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The problem's picture; problems that name several have them joined in one."""
    return [doc["decoded_image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and its options, left out where they are only the letters in the picture, with the block's instruction."""
    block = model_specific_prompt_kwargs or {}
    texts = texts_of(doc["options"])
    options = "" if "".join(texts) == LETTERS else "".join(map("({}) {}\n".format, LETTERS, texts))
    return f"{block.get('pre_prompt', '')}{doc['question']}\n{options}{block.get('post_prompt', '')}"


def subject_and_level(doc: Mapping[str, Any]) -> str:
    """The category of the benchmark's table of subjects by levels."""
    return f"{doc['subject']}, level {doc['level']}"


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the answer is the right option's letter, or equal to its text; without options, if it equals the answer."""
    answer, rule = mathvision_answer(results[0] or "")
    accepted, options = [doc["answer"]], dict(zip(LETTERS, texts_of(doc["options"]), strict=False))
    if doc["answer"] in options:
        accepted.append(options[doc["answer"]])
    return {"acc": float(any(mathvision_equal(gold, answer) for gold in accepted)), "__rule__": rule}
