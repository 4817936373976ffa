"""WorldSense: a video with its sound, and the first capital letter of the answer.

Source: Hong et al. 2025, arXiv:2502.04326; VLMEvalKit, vlmeval/dataset/worldsense.py at e8e78f0.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import Video

Doc = Mapping[str, Any]


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video."""
    return [Video(f"{doc['video']}.mp4")]


def doc_to_audio(doc: Doc) -> list[str]:
    """The video's sound."""
    return [f"{doc['video']}.mp4"]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The block's form with the question and its lettered options."""
    options = "\n".join(doc["candidates"])
    return model_specific_prompt_kwargs["form"].format(question=doc["question"], options=options)


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc["answer"])}
