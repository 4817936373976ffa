"""MathVista: the benchmark's ready prompts, and its rule for what an answer stands for.

Source: Lu et al. 2023, arXiv:2310.02255; github.com/lupantech/MathVista.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.filters import UNPARSED
from mm_eval.filters.options import texts_of
from mm_eval.metrics.mathvista import mathvista_extraction, mathvista_normal


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The question's picture."""
    return [doc["decoded_image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The benchmark's prompt: a hint on the kind of answer, the question, its unit and its choices."""
    return f"{doc['query']}{(model_specific_prompt_kwargs or {}).get('post_prompt', '')}"


def process_results(doc: Mapping[str, Any], results: Sequence[str | None], script: bool = False) -> dict[str, Any]:
    """1 if what the response stands for is the answer. A choice found by edit distance alone counts, and is unparsed."""
    choices, kind = texts_of(doc["choices"]), doc["answer_type"]
    extraction, rule = mathvista_extraction(results[0] or "", choices, kind)
    answer, known = mathvista_normal(extraction, choices, kind, doc["precision"], script)
    return {"acc": float(answer == doc["answer"]), "__rule__": rule if known else UNPARSED}


def process_results_script(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """As process_results, with the published script's rule for integers."""
    return process_results(doc, results, script=True)
