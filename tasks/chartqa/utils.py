"""ChartQA: questions on charts.

Source: Masry et al. 2022, arXiv:2203.10244.
"""

from collections.abc import Mapping
from typing import Any


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    return f"{block.get('pre_prompt', '')}{doc['question']}{block.get('post_prompt', '')}"
