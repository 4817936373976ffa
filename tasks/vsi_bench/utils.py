"""VSI-Bench: distances, sizes, counts, directions and routes in rooms, as options and as numbers.

Source: Yang et al. 2024, arXiv:2412.14171, and vision-x-nyu/thinking-in-space, lmms_eval/tasks/vsibench/utils.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mm_eval.scoring.filters.base import UNPARSED
from mm_eval.scoring.metrics import mean, smooth, stratified_by
from mm_eval.values.types import Video

NUMBERS = ("object_abs_distance", "object_counting", "object_size_estimation", "room_size_estimation")
TASKS = {
    "object_counting": "object count", "object_abs_distance": "absolute distance", "object_size_estimation": "object size",
    "room_size_estimation": "room size", "object_rel_distance": "relative distance", "object_rel_direction": "relative direction",
    "route_planning": "route plan", "obj_appearance_order": "appearance order",
}  # fmt: skip
LEVELS = ("_easy", "_medium", "_hard")
"""Endings of the kinds of questions on directions, which count as one task."""
THRESHOLDS = np.linspace(0.5, 0.95, 10)

Item = tuple[str, float]


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video of the scene, in the folder of its data set."""
    return [Video(f"{doc['dataset']}/{doc['scene_name']}.mp4")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and its options, which have their letters, between the block's texts; another ending asks for a number."""
    block = model_specific_prompt_kwargs or {}
    letter_end, number_end = block.get("post_prompt", ""), block.get("number_post_prompt", "")
    asked = [number_end] if is_number(doc) else ["Options:", *doc["options"], letter_end]
    return "\n".join([block.get("pre_prompt", ""), doc["question"], *asked])


def is_number(doc: Mapping[str, Any]) -> bool:
    """Whether the answer is a number."""
    return doc["question_type"] in NUMBERS


def task_of(doc: Mapping[str, Any]) -> str | None:
    """The name of the task: directions of all levels are one."""
    kind = doc["question_type"]
    return TASKS.get(next((kind.removesuffix(level) for level in LEVELS if kind.endswith(level)), kind))


def first_word(answer: str) -> str:
    """What counts as the answer: the text before the first blank, without full stops at its end."""
    return answer.strip().split(" ")[0].rstrip(".").strip()


def number(text: str) -> float | None:
    """The number that a text is, as Python reads it; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def relative_accuracy(said: float, gold: float) -> float:
    """The share of the thresholds 0.5, 0.55, ... 0.95 for which the relative error is at most 1 minus the threshold."""
    return float((abs(said - gold) / gold <= 1 - THRESHOLDS).mean())


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Whether the first word is the right letter, or its mean relative accuracy as a number; 0 for no number."""
    said, gold = first_word(results[0] or ""), doc["ground_truth"]
    if is_number(doc):
        value = number(said)
        score = 0.0 if value is None else relative_accuracy(value, float(gold))
        read, kind = value is not None, {"mra": score}
    else:
        score = float(said.lower() == gold.lower())
        read, kind = any(said.lower() == text[:1].lower() for text in doc["options"]), {"acc": score}
    return {"score": (doc["question_type"], score), **kind, "__rule__": "first_word" if read else UNPARSED}


@smooth
@stratified_by(lambda item: item[0], content=lambda item: item[1])
def overall(items: Sequence[Item]) -> float:
    """The mean over the eight tasks; that of directions is the mean of its three levels. Tasks without a doc are left out."""
    kinds: dict[str, list[float]] = {}
    for kind, score in items:
        kinds.setdefault(kind, []).append(score)
    tasks: dict[str, list[float]] = {}
    for kind, scores in kinds.items():
        tasks.setdefault(str(task_of({"question_type": kind})), []).append(mean(scores))
    return mean([mean(means) for means in tasks.values()])
