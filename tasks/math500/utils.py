"""MATH-500: the prompt. The answer is found by the filter `math_answer` and compared by the metric `math_equal`."""

from collections.abc import Mapping
from typing import Any


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The problem, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    return f"{block.get('pre_prompt', '')}{doc['problem']}{block.get('post_prompt', '')}"
