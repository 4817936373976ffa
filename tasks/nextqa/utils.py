"""NExT-QA: five-way questions on causes, times and contents of everyday videos.

Source: Xiao et al. 2021, arXiv:2105.08276, and doc-doc/NExT-QA, eval_mc.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import Video

LETTERS = "ABCDE"
TYPES = {"CW": "why", "CH": "how", "TN": "before and after", "TP": "before and after", "TC": "when",
         "DC": "count", "DL": "location", "DO": "other"}  # fmt: skip
KINDS = {"C": "causal", "T": "temporal", "D": "descriptive"}


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The video."""
    return [Video(f"{doc['video']}.mp4")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question and the lettered options, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    lines = [doc["question"].strip(), *(f"{letter}. {doc[f'a{n}'].strip()}" for n, letter in enumerate(LETTERS))]
    return block.get("pre_prompt", "") + "\n".join(lines) + block.get("post_prompt", "")


def kind(doc: Mapping[str, Any]) -> str | None:
    """Causal, temporal or descriptive."""
    return KINDS.get(doc["type"][:1])


def question_type(doc: Mapping[str, Any]) -> str | None:
    """The question's type; those on before and on after are one, as in the benchmark's script."""
    return TYPES.get(doc["type"])


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option, whose number is stored."""
    return LETTERS[int(doc["answer"])]


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one letter."""
    return {"acc": float(results[0] == doc_to_target(doc))}
