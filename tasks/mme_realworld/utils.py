"""MME-RealWorld: questions on large pictures from real use, with five options of which the last says that none is right.

Source: Zhang et al. 2024, arXiv:2408.13257, and yfzhang114/MME-RealWorld (evaluation/eval_your_results.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.types import shown_picture

PHRASES = (
    "The best answer is", "The correct answer is", "The answer is", "The answer",
    "The best option isThe correct option is", "Best answer:Best option:",
)  # fmt: skip
"""What the script deletes from an answer; two of its texts lack a comma between them."""
MOST_WORDS = 10
"""A longer answer is not compared with the options."""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture, which the hub has as base64."""
    return [shown_picture(doc["bytes"])]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the options, which carry their letters, between the block's texts."""
    block = model_specific_prompt_kwargs or {}
    options = "\n".join(doc["multi-choice options"])
    return f"{doc['question']}{block.get('before_options', ' ')}{options}{block.get('post_prompt', '')}"


def of_task(doc: Mapping[str, Any]) -> str:
    """Perception or Reasoning."""
    return "Perception" if "perception" in doc["category"].lower() else "Reasoning"


def subtask(doc: Mapping[str, Any]) -> str:
    """The domain, such as "Remote Sensing"."""
    return str(doc["category"].split("/")[-1])


def ability(doc: Mapping[str, Any]) -> str:
    """What is asked for; the attributes of one kind of thing are one ability."""
    name = str(doc["l2-category"]).lower()
    return f"{name.split('/')[0]}/attribute" if "attribute" in name else name


def read_letter(answer: str, options: Sequence[str]) -> tuple[str, str]:
    """The letter that the authors' script finds, and its step; "" and "unparsed" if none.

    options: texts such as "(A) 12".
    """
    said = answer.strip()
    for phrase in PHRASES:
        said = said.replace(phrase, "")
    if found := re.search("[A-E]", said):
        return found[0], "first_capital"
    if said and len(said.split()) <= MOST_WORDS:
        holding = next((option for option in options if said.lower() in option.lower()), None)
        if holding:
            return holding[1], "text"
    return "", "unparsed"


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Whether the letter is right, for the mean over questions and for the mean over the domains of each task."""
    letter, rule = read_letter(results[0], doc["multi-choice options"])
    right = float(letter == doc["answer"])
    return {
        "mme_realworld_score": right,
        "average_of_subtasks": (f"{of_task(doc)}/{subtask(doc)}", right),
        "__rule__": rule,
    }
