"""Daily-Omni: a video with its sound, and the first character of the answer.

Source: Zhou et al. 2025, arXiv:2505.17862; test_model/Qwen2.5-Omni/testmodel.py of Lliar-liar/Daily-Omni at fccb838.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.values.types import Video

Doc = Mapping[str, Any]


def _file(doc: Doc) -> str:
    return f"{doc['video_id']}/{doc['video_id']}_video.mp4"


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video."""
    return [Video(_file(doc))]


def doc_to_audio(doc: Doc) -> list[str]:
    """The video's sound."""
    return [_file(doc)]


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the answer begins with the right letter, in any case."""
    first = (results[0] or "").strip()[:1].upper()
    rule = "letter" if first and first in "ABCD" else UNPARSED
    return {"acc": float(first == doc["Answer"].strip().upper()), "__rule__": rule}
