"""EgoSchema: five-way questions on long egocentric videos.

Source: Mangalam et al. 2023, arXiv:2308.09126; the data's columns as in lmms-eval.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import Video

LETTERS = "ABCDE"


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(f"{doc['video_idx']}.mp4")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the options, which have their letters, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    question = "\n".join([doc["question"], *doc["option"]])
    return f"{block.get('pre_prompt', '')}{question}{block.get('post_prompt', '')}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option, whose number is stored."""
    return LETTERS[int(doc["answer"])]


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
