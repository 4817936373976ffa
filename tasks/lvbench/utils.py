"""LVBench: questions on videos of about an hour.

Source: Wang et al. 2024, arXiv:2406.08035, and lmms-eval, lmms_eval/tasks/lvbench, for the columns and the prompt.
"""

import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import Video

Doc = Mapping[str, Any]


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video."""
    return [Video(doc["video_path"])]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question, with its options where they are a column, between the block's texts."""
    options = zip(string.ascii_uppercase, doc.get("options") or (), strict=False)
    lines = [str(doc["question"]), *(f"({letter}) {text}" for letter, text in options)]
    return f"{model_specific_prompt_kwargs['pre_prompt']}{chr(10).join(lines)}{model_specific_prompt_kwargs['post_prompt']}"


def kinds(doc: Doc) -> list[str]:
    """The abilities that a question asks for; one may ask for several."""
    found = doc.get("question_type") or []
    return [found] if isinstance(found, str) else list(found)


def process_results(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    """Whether the letter is right."""
    return {"acc": float(results[0] == doc["answer"])}
