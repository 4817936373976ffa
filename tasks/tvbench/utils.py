"""TVBench: MVBench's prompt and check, on videos in the folder of their task, two of which are asked about in part.

Source: Cores et al. 2024, arXiv:2410.07752; infer.ipynb and vqa_dataset.py of daniel-cores/tvbench at c354322.
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.mvbench.utils import begun, doc_to_target, doc_to_text, process_results

from mm_eval.values.types import Video

__all__ = ["begun", "doc_to_target", "doc_to_text", "part", "process_results", "whole"]


def whole(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> list[Any]:
    """The video, in the folder that the block names, since several sources have files of one name."""
    folder = model_specific_prompt_kwargs["folder"]
    return [Video(f"{folder}/{doc['video']}" if folder else doc["video"])]


def part(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> list[Any]:
    """The video from `start` to `end`, in seconds."""
    [video] = whole(doc, model_specific_prompt_kwargs)
    return [Video(video.path, float(doc["start"]), float(doc["end"]))]
