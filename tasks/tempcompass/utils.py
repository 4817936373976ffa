"""TempCompass: what changes over time in a video, asked as options, yes or no, a choice of captions, and a caption.

Source: Liu et al. 2024, arXiv:2403.00476, and llyx97/TempCompass (eval_*.py, prompt_templates.py, utils/eval_utils.py).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.base import UNPARSED
from mm_eval.values.types import Video

LETTERS = "ABCD"
LABEL = re.compile("Sentence |Option |Caption ")


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(f"{doc['video_id']}.mp4")]


def choice_is_right(answer: str, doc: Mapping[str, Any]) -> bool | None:
    """Whether the whole gold answer, or its letter, alone or before a full stop or bracket, is given; None if there is none."""
    gold = doc["answer"]
    if answer == gold:
        return True
    is_letter = answer[:1] and answer[0] in LETTERS and answer[1:2] in ("", ".", ")")
    return answer[0] == gold[0] if is_letter else None


def yes_no_is_right(answer: str, doc: Mapping[str, Any]) -> bool | None:
    """Whether the text begins with the right one of yes and no, in any case; "nothing" begins with no."""
    said = next((word for word in ("yes", "no") if answer.lower().startswith(word)), None)
    return None if said is None else said == doc["answer"]


def caption_is_right(answer: str, doc: Mapping[str, Any]) -> bool | None:
    """Whether the right caption is given: the line, its text, its label ("Option 1") or the end of that ("1"); None if none is.

    Of several readings the label comes first, then the text; of equal texts the last.
    """
    lines = doc["question"].split("\n")[1:]
    labels, texts = [line.split(": ")[0] for line in lines], [line.split(": ")[1] for line in lines]
    after_bracket = answer.split(") ")[1] if ") " in answer else answer
    said = [line for line in lines if line == answer]
    said += [text for text in texts if text in (answer, after_bracket)]
    said += [
        label
        for label in (*labels, *(LABEL.sub("", each) for each in labels))
        if label in (answer, answer.replace(".", ""))
    ]
    gold = doc["answer"]
    label, text = gold.split(": ")[:2]
    return said[-1] in (gold, gold.split(":")[0], text, label.split()[1]) if said else None


def _scored(is_right: Callable[[str, Mapping[str, Any]], bool | None]) -> Callable[..., dict[str, Any]]:
    def process(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
        """1 if the rule finds the answer right, 0 if wrong; an answer that it can't read is wrong and unparsed."""
        right = is_right((results[0] or "").strip(), doc)
        return {"acc": float(bool(right)), "__rule__": UNPARSED if right is None else "tempcompass"}

    return process


score_choice, score_yes_no, score_caption = map(_scored, (choice_is_right, yes_no_is_right, caption_is_right))
