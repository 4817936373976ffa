"""MMMU-Pro: MMMU's questions with up to twelve options, or as a picture of the whole question.

Source: Yue et al. 2024, arXiv:2409.02813, and MMMU-Benchmark/MMMU (mmmu-pro).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.mmmu import listed_options

from mm_eval.values.types import at_image_marks

TOKEN = r"<image\s+(\d+)>"


def _prompt(question: str, doc: Mapping[str, Any], block: Mapping[str, str], shows_options: bool) -> str:
    """The question and its options, with the pictures' tokens."""
    lines = [f"{block.get('pre_prompt', '')}{question}"]
    if shows_options:
        lines += [block["options_prompt"]] if block.get("options_prompt") else []
        lines += [f"{chr(ord('A') + n)}. {text}" for n, text in enumerate(listed_options(doc["options"]))]
    return "\n".join(lines) + block.get("post_prompt", "")


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The prompt, each picture at its token; with `pictures: first` the tokens are kept and the pictures stand in front."""
    block = model_specific_prompt_kwargs or {}
    prompt = _prompt(doc["question"], doc, block, True)
    return prompt if block.get("pictures") == "first" else at_image_marks(prompt, TOKEN)[0]


def doc_to_visual(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> list[Any]:
    """The pictures that the prompt names, at each token or (`pictures: first`) each once in the order of the columns."""
    block = model_specific_prompt_kwargs or {}
    numbers = at_image_marks(_prompt(doc["question"], doc, block, True), TOKEN)[1]
    if not numbers or block.get("pictures") == "first":
        numbers = list(range(1, 8))
    pictures = [doc.get(f"image_{number}") for number in numbers]
    return [picture.convert("RGB") for picture in pictures if picture is not None]


def vision_doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The instruction: the question is in the picture, and so are its options, which a block with `options_prompt` repeats."""
    block = model_specific_prompt_kwargs or {}
    return _prompt("", doc, block, "options_prompt" in block)


def vision_doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture of the question."""
    return [doc["image"].convert("RGB")]


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"mmmu_acc": float(results[0] == doc["answer"])}
