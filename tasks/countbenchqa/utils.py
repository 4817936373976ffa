"""CountBenchQA: how many objects a picture shows.

Source: Beyer et al. 2024 (PaliGemma), arXiv:2407.07726; Paiss et al. 2023 (CountBench), arXiv:2302.12066.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    return f"{block.get('pre_prompt', '')}{doc['question']}{block.get('post_prompt', '')}"


def doc_to_text_with_caption(
    doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None
) -> str:
    """lmms-eval's prompt: the caption, an empty line, and the question."""
    question = f"{doc['text']}\n\n{doc['question']}" if doc["text"] else doc["question"]
    return doc_to_text({"question": question}, model_specific_prompt_kwargs)


def contained(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """VLMEvalKit's rule: 1 if the digits of the number are in the answer."""
    return {"contains": float(str(doc["number"]) in (results[0] or ""))}
