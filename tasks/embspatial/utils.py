"""EmbSpatial-Bench: prompts, and the letter of the right option.

Source: Du et al. 2024, arXiv:2406.05756; mengfeidu/EmbSpatial-Bench at 75792fc, whose README has the columns and two rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

LETTERS = "ABCDEF"


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its lettered options, between the block's texts. mark: what stands behind a letter."""
    block = model_specific_prompt_kwargs
    lines = [f"{letter}{block['mark']} {text}" for letter, text in zip(LETTERS, doc["answer_options"], strict=False)]
    listed = "\n".join(lines)
    return f"{block['pre_prompt']}{doc['question']}\n{block['options_prompt']}{listed}{block['post_prompt']}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option; the column has its index."""
    return LETTERS[int(doc["answer"])]


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
