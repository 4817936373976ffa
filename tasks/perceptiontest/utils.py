"""Perception Test: three-way questions on memory, abstraction, physics and semantics in videos.

Source: Patraucean et al. 2023, arXiv:2305.13786, and google-deepmind/perception_test (top-1 accuracy of the option's number).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.options import question_with_options
from mm_eval.values.types import Video

LETTERS = "ABC"


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(f"{doc['video_name']}.mp4")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the lettered options, between the block's pre_prompt and post_prompt."""
    return question_with_options(doc["question"], doc["options"], model_specific_prompt_kwargs or {})


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option, whose number is stored as text."""
    return LETTERS[int(doc["answer_id"])]


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
