"""TextVQA: questions that need the text in a photo.

Source: Singh et al. 2019, arXiv:1904.08920; LLaVA's files for it.
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.vqa import agreed_answer


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, Any] | None = None) -> str:
    """The question as a sentence; with `ocr` in the block a line with the dataset's OCR tokens, also where there are none."""
    block = model_specific_prompt_kwargs or {}
    tokens = f"\nReference OCR token: {', '.join(doc['ocr_tokens'] or [])}" if block.get("ocr") else ""
    return f"{block.get('pre_prompt', '')}{doc['question'].capitalize()}{tokens}{block.get('post_prompt', '')}"


def gold_answer(doc: Mapping[str, Any]) -> str | None:
    """An answer that gets full marks; None where too few people agree."""
    return agreed_answer(doc["answers"], "textvqa")
