"""OmniBench: a picture and a sound, the authors' prompt, and MMMU's reading of letters without its cutting of punctuation.

Source: Li et al. 2024, arXiv:2409.15272; answer_parsing.py and calculate_metrics.py in inference/ of
multimodal-art-projection/OmniBench at 335f0ba.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.mmmu import mmmu_letter

Doc = Mapping[str, Any]
LETTERS = "ABCD"


def doc_to_visual(doc: Doc) -> list[Any]:
    """The picture, then the sound."""
    return [doc["image"], doc["audio"]]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its lettered options between the block's texts."""
    block = model_specific_prompt_kwargs
    options = [f"{letter}. {text}" for letter, text in zip(LETTERS, doc["options"], strict=False)]
    return f"{block['pre_prompt']}{doc['question']}{block['ask']}" + "\n".join(options) + block["post_prompt"]


def right_letter(doc: Doc) -> str:
    """The letter of the right option."""
    return LETTERS[list(doc["options"]).index(doc["answer"])]


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter; an answer without one is unparsed."""
    letter, rule = mmmu_letter(results[0] or "", list(doc["options"]), "omnibench")
    return {"acc": float(letter == right_letter(doc)), "__rule__": rule}
