"""MMT-Bench: many kinds of tasks, as questions with 2 to 9 options.

Source: Ying et al. 2024, arXiv:2404.16006, and OpenGVLab/MMT-Bench (vlmeval/evaluate/multiple_choice.py, `report_acc_MMT`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.options import question_with_options

LETTERS = "ABCDEFGHI"


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question, the options that exist, and the block's instruction."""
    options = {letter: doc[letter] for letter in LETTERS}
    return question_with_options(doc["question"], options, model_specific_prompt_kwargs or {})


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """Whether the letter is right, for the mean over questions and for the mean over kinds of tasks."""
    right = float(results[0] == doc["answer"].strip())
    return {"accuracy": right, "average_of_tasks": (doc["category"], right)}
