"""TextVQA: questions that need the text in a photo.

Source: Singh et al. 2019, arXiv:1904.08920; LLaVA's files for it.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, Any] | None = None) -> str:
    """The question as a sentence; with `ocr` in the block a line with the dataset's OCR tokens, also where there are none."""
    block = model_specific_prompt_kwargs or {}
    tokens = f"\nReference OCR token: {', '.join(doc['ocr_tokens'] or [])}" if block.get("ocr") else ""
    return f"{block.get('pre_prompt', '')}{doc['question'].capitalize()}{tokens}{block.get('post_prompt', '')}"


def most_given(doc: Mapping[str, Any]) -> str:
    """The answer that most people gave."""
    answers: list[str] = doc["answers"]
    return Counter(answers).most_common(1)[0][0]
