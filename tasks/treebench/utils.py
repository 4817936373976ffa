"""TreeBench: two prompts of its authors, and the letter that their class in VLMEvalKit finds.

Source: Wang et al. 2025, arXiv:2507.07999; VLMEvalKit, vlmeval/dataset/image_mcq.py and utils/multiple_choice.py at e8e78f0;
inference_treebench.py of Haochen-Wang409/TreeVGR at 4823ad8.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.types import shown_picture

Doc = Mapping[str, Any]
PHRASES = (
    "The best answer is", "The correct answer is", "The answer is", "The answer", "The best option is", "The correct option is",
    "Best answer:", "Best option:",
)  # fmt: skip
LETTERS = "ABCDE"
IN_TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def doc_to_visual(doc: Doc) -> list[Any]:
    """The photo, which the hub has as base64."""
    return [shown_picture(doc["image"])]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its options. `script` makes it the authors' script's prompt, and stands before the options there."""
    script, post_prompt = (model_specific_prompt_kwargs[key] for key in ("script", "post_prompt"))
    if script:
        return f"{doc['question']}{script}{doc['multi-choice options']}{post_prompt}"
    options = [f"{letter}. {doc[letter]}\n" for letter in f"{LETTERS}FGHIJK" if doc.get(letter) not in (None, "")]
    listed = f"Options:\n{''.join(options)}{post_prompt}" if options else ""
    return f"Question: {doc['question']}\n{listed}"


def letter_of(answer: str) -> str | None:
    """The first capital A to E of an answer, or the letter in brackets of which it is a part."""
    tagged = IN_TAGS.search(answer)
    said = (tagged[1].strip().upper() if tagged else answer).strip()
    for phrase in PHRASES:
        said = said.replace(phrase, "")
    if found := re.search(f"[{LETTERS}]", said):
        return found[0]
    return next((letter for letter in LETTERS if said and said.lower() in f"({letter.lower()})"), None)


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter; an answer without one is unparsed."""
    letter = letter_of(results[0] or "")
    return {"acc": float(letter == doc["answer"]), "__rule__": "letter" if letter else UNPARSED}


def part(doc: Doc) -> str:
    """Perception or Reasoning."""
    return str(doc["category"]).partition("/")[0]
