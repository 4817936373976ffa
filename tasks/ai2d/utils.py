"""AI2D: prompts, and the letter of the right option.

Source: Kembhavi et al. 2016, arXiv:1603.07396; EvolvingLMMs-Lab/lmms-eval, lmms_eval/tasks/ai2d (for `process_results_lmms`).
"""

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.options import question_with_options

LETTER_AND_STOP = re.compile(r"\s*([A-Z])\.")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The diagram."""
    return [doc["image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question, its lettered options and the block's instruction."""
    return question_with_options(doc["question"], doc["options"], model_specific_prompt_kwargs or {})


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option; the column `answer` has its index as text."""
    return string.ascii_uppercase[int(doc["answer"])]


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score."""
    return {"acc": float(results[0] == doc_to_target(doc))}


def process_results_lmms(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score by lmms-eval's rule: without case and punctuation the answer must be the letter alone."""
    answer = results[0] or ""
    start = LETTER_AND_STOP.match(answer)
    said = (start[1] if start else answer).translate(NO_PUNCTUATION).upper()
    is_letter = len(said) == 1 and said in string.ascii_uppercase
    rule = "unparsed" if not is_letter else "letter and stop" if start else "whole answer"
    return {"acc": float(said == doc_to_target(doc)), "__rule__": rule}
