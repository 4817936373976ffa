"""MMAR: questions on a sound, and the words of an option in the answer.

Source: Ma et al. 2025, arXiv:2505.13032; code/evaluation.py of ddlBoJack/MMAR at 3bce090.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.option_words import names_option

Doc = Mapping[str, Any]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its options, with the block's marks."""
    block = model_specific_prompt_kwargs
    options = [block["mark"].format("ABCDEFGHIJ"[place]) + text for place, text in enumerate(doc["choices"])]
    return f"{doc['question']}{block['ask']}" + "\n".join(options)


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the answer has the words of the right option."""
    return {"acc": float(names_option(results[0] or "", str(doc["answer"]), list(doc["choices"])))}
