"""SEED-Bench-2-Plus: the share of questions on charts, maps and web pages whose letter is right.

Source: Li et al. 2024, arXiv:2404.16790.
"""

from collections.abc import Mapping, Sequence
from typing import Any

LETTERS = "ABCD"

Doc = Mapping[str, Any]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the lettered options, between the block's texts."""
    block = model_specific_prompt_kwargs or {}
    options = "\n".join(f"{letter}. {doc[f'choice_{letter}']}" for letter in LETTERS)
    middle = block.get("before_options", "\n")
    return f"{block.get('pre_prompt', '')}{doc['question']}{middle}{options}{block.get('post_prompt', '')}"


def image_type(doc: Doc) -> str:
    """Chart, Map or Web."""
    return str(doc["question_image_type"]).capitalize()


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Whether the letter is right, for the mean over questions and for the mean over the three types of picture."""
    right = float(results[0] == doc["answer"].strip())
    return {"acc": right, "average": (image_type(doc), right)}


def lmms_process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Whether the first character, in whatever case, is the letter."""
    return {"seedbench_2_plus_all": float(str(results[0]).lower() == doc["answer"].strip().lower())}
