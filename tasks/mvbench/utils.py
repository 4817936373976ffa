"""MVBench: questions with two to five options, on videos in the folder of their source.

Source: Li et al. 2023, arXiv:2311.17005, and OpenGVLab/Ask-Anything, video_chat2/mvbench.ipynb.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.errors import DocError
from mm_eval.values.types import Video

LETTERS = "ABCDEFGH"


def doc_to_visual(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> list[Any]:
    """The video, in the folder that the block names, since several sources have files of one name."""
    return [Video(f"{model_specific_prompt_kwargs['folder']}/{doc['video']}")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the options in brackets, between the block's texts."""
    block = model_specific_prompt_kwargs or {}
    options = "".join(f"({letter}) {text}\n" for letter, text in zip(LETTERS, doc["candidates"], strict=False))
    question = f"{block.get('question_prompt', '')}{doc['question']}\n"
    return f"{block.get('pre_prompt', '')}{question}{block.get('options_prompt', '')}{options}{block.get('post_prompt', '')}"


def begun(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The text that begins the answer, as the block states it."""
    return (model_specific_prompt_kwargs or {}).get("begun", "")


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option."""
    options = list(doc["candidates"])
    if doc["answer"] not in options:
        raise DocError(f"answer is {doc['answer']!r}, which is none of the candidates {options!r:.200}.")
    return LETTERS[options.index(doc["answer"])]


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
