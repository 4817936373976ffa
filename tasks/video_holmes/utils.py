"""Video-Holmes: the prompt, and the letter that the authors' script finds.

Source: Cheng et al. 2025, arXiv:2505.21374; evaluate.py of TencentARC/Video-Holmes at 52ef8da.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.values.types import Video

Doc = Mapping[str, Any]
LETTERS = "ABCDEF"
IN_TAGS = re.compile(r"<answer>\s*(.*?)\s*</answer>", re.DOTALL)


def doc_to_visual(doc: Doc) -> list[Any]:
    """The film."""
    return [Video(f"{doc['video ID']}.mp4")]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its options between the block's texts. An option that a question lacks is null in the table."""
    block = model_specific_prompt_kwargs
    options = [f"{letter}{block['mark']}{text}" for letter, text in doc["Options"].items() if text is not None]
    listed = block["between"].join(options)
    return f"{block['pre_prompt']}{doc['Question']}{block['options_prompt']}{listed}{block['post_prompt']}"


def letter_of(answer: str) -> str | None:
    """The authors' letter of an answer: the first of A to F with a mark, else the first that occurs."""
    tagged = IN_TAGS.findall(answer)
    said = tagged[-1].strip() if tagged else answer
    marked = [letter for letter in LETTERS if any(mark in said for mark in (f"{letter} ", f"{letter}:", f"[{letter}"))]
    return next((letter for letter in [*marked, *LETTERS] if letter in said), None)


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter; an answer without one is unparsed."""
    letter = letter_of(results[0] or "")
    return {"acc": float(letter == doc["Answer"]), "__rule__": "letter" if letter else UNPARSED}
