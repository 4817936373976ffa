"""LongVideoBench: questions on a video, alone or with its subtitles between the frames.

Source: Wu et al. 2024, arXiv:2407.15754; longvideobench/LongVideoBench, longvideobench/longvideobench_dataset.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import IMAGE_MARK, Clip, Video, found_in

LETTERS = "ABCDE"
SHORTEST = 1.0
"""A subtitle of less time is taken to be shown for one second around its middle."""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(doc["video_path"])]


def with_subtitles(doc: Mapping[str, Any]) -> list[Any]:
    """The video with its subtitles."""
    return [Video(doc["video_path"], subtitles=doc["subtitle_path"])]


def options(doc: Mapping[str, Any]) -> list[str]:
    """The texts of the options."""
    texts = [doc.get(f"option{number}") for number in range(len(LETTERS))]
    return [str(text) for text in texts if text not in (None, "N/A")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the lettered options, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    lettered = [f"{letter}. {text}" for letter, text in zip(LETTERS, options(doc), strict=False)]
    return f"{block.get('pre_prompt', '')}" + "\n".join([doc["question"], *lettered]) + block.get("post_prompt", "")


def between_frames(clip: Clip, offset: float, duration: float) -> list[str]:
    """A mark for each frame, and each subtitle that is shown with some frame, after the frames before its middle.

    offset: the time at which the video begins in the subtitles' clock. duration: the end of a subtitle without one.
    """
    parts: list[str] = []
    shown = 0
    for said in clip.subtitles or ():
        start, end = said.start - offset, (duration if said.end is None else said.end) - offset
        middle = (start + end) / 2
        while shown < len(clip.seconds) and clip.seconds[shown] <= middle:
            parts.append(IMAGE_MARK)
            shown += 1
        if end - start < SHORTEST:
            start, end = middle - SHORTEST / 2, middle + SHORTEST / 2
        if any(start < second < end for second in clip.seconds):
            parts.append(said.text)
    return parts + [IMAGE_MARK] * (len(clip.seconds) - shown)


def interleaved(
    doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None, clips: Sequence[Clip] = ()
) -> str:
    """The frames and subtitles in the order of time, then the question."""
    offset, duration = doc["starting_timestamp_for_subtitles"], doc["duration"]
    parts = [part for clip in clips for part in between_frames(clip, offset, duration)]
    return "\n".join([*parts, doc_to_text(doc, model_specific_prompt_kwargs)])


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option, whose number is stored."""
    return found_in(dict(enumerate(LETTERS)), doc["correct_choice"], "correct_choice")


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
