"""SEED-Bench: the share of questions whose letter is right, over pictures, over videos and over both.

Source: Li et al. 2023, arXiv:2307.16125.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import found_in

LETTERS = "ABCD"


def seed_doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture, or the frames of the video."""
    return [image.convert("RGB") for image in doc["image"]]


def seed_doc_to_choice(doc: Mapping[str, Any]) -> list[str]:
    """The four options' texts."""
    return [doc[f"choice_{letter.lower()}"] for letter in LETTERS]


def seed_doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the lettered options, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, seed_doc_to_choice(doc), strict=True)]
    question = f"{doc['question']}\n{block.get('options', '')}" + "\n".join(options)
    return f"{block.get('pre_prompt', '')}{question}{block.get('post_prompt', '')}"


def seed_doc_to_text_mc(doc: Mapping[str, Any]) -> str:
    """The question alone, for likelihoods of the options' texts."""
    return f"{doc['question']} Answer :"


def seed_doc_to_mc_target(doc: Mapping[str, Any]) -> int:
    """The index of the right option."""
    return found_in({letter: index for index, letter in enumerate(LETTERS)}, doc["answer"], "answer")


def only_pictures(dataset: Any) -> Any:
    """The questions on pictures, without those on videos."""
    return dataset.filter(lambda data_type: data_type == "image", input_columns="data_type")


def seed_image_process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score."""
    return {"seed_image": float(results[0] == doc["answer"])}


def seed_process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score, under its kind of data and under all."""
    score = float(results[0] == doc["answer"])
    return {f"seed_{doc['data_type']}": score, "seed_all": score}
