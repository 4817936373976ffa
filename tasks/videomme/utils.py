"""Video-MME: questions on videos, without subtitles or with those of the shown frames.

Source: Fu et al. 2024, arXiv:2405.21075, and BradyFU/Video-MME, evaluation/eval_your_results.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import Clip, Video

PLAIN = "Select the best answer to the following multiple-choice question based on the video."
BOTH = "Select the best answer to the following multiple-choice question based on the video and the subtitles."


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(f"{doc['videoID']}.mp4")]


def doc_to_audio(doc: Mapping[str, Any]) -> list[str]:
    """The video's sound."""
    return [f"{doc['videoID']}.mp4"]


def with_subtitles(doc: Mapping[str, Any]) -> list[Any]:
    """The video with its subtitles, which not all have."""
    return [Video(f"{doc['videoID']}.mp4", subtitles=f"{doc['videoID']}.srt")]


def shown_subtitles(clip: Clip) -> list[str]:
    """The texts that are shown at the time of some shown frame, in their order; a text that does not change is listed once."""
    texts: list[str] = []
    for said in clip.subtitles or ():
        end = clip.duration if said.end is None else said.end
        is_shown = any(said.start <= second < end for second in clip.seconds)
        if is_shown and said.text not in texts[-1:]:
            texts.append(said.text)
    return texts


def _asked(doc: Mapping[str, Any], block: Mapping[str, str] | None, subtitles: str, ask: str) -> str:
    form = (block or {}).get("form", "{subtitles}{ask}\n{question}\n{options}")
    return form.format(subtitles=subtitles, ask=ask, question=doc["question"], options="\n".join(doc["options"]))


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The block's form with the question and its lettered options."""
    return _asked(doc, model_specific_prompt_kwargs, "", PLAIN)


def text_with_subtitles(
    doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None, clips: Sequence[Clip] = ()
) -> str:
    """The same with the subtitles of the shown frames."""
    said = "\n".join(text for clip in clips for text in shown_subtitles(clip)) or "No subtitles available"
    return _asked(doc, model_specific_prompt_kwargs, f"This video's subtitles are listed below:\n{said}\n", BOTH)


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc["answer"])}
