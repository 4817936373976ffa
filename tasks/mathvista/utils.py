"""MathVista: the benchmark's ready prompts, and its rule for what an answer stands for.

Source: Lu et al. 2023, arXiv:2310.02255; github.com/lupantech/MathVista.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.mathvista import mathvista_extraction, mathvista_normal
from mm_eval.tasks.rules.written_numbers import is_float

from mm_eval.scoring.filters import UNPARSED
from mm_eval.scoring.filters.base import WHOLE_ANSWER
from mm_eval.scoring.filters.options import texts_of

from .judge_prompt import EXAMPLES

_LABEL = re.compile(r"extracted answer:", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+")


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The question's picture."""
    return [doc["decoded_image"].convert("RGB")]


def process_results(doc: Mapping[str, Any], results: Sequence[str | None], script: bool = True) -> dict[str, Any]:
    """1 if what the response stands for is the answer. A choice found by edit distance alone counts, and is unparsed."""
    choices, kind = texts_of(doc["choices"]), doc["answer_type"]
    extraction, rule = mathvista_extraction(results[0] or "", choices, kind)
    answer, known = mathvista_normal(extraction, choices, kind, doc["precision"], script)
    return {"acc": float(answer == doc["answer"]), "__rule__": rule if known else UNPARSED}


def process_results_digits(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """As process_results, with the recorded runs' rule for integers: digits only."""
    return process_results(doc, results, script=False)


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """The authors' five examples, the question and the response, from which the judge extracts the answer."""
    return f"{EXAMPLES}\n\n{doc['query']}\n\n{answer}\n\nExtracted answer: "


def extraction(reply: str) -> str | None:
    """The judge's reply without its label; None if nothing is left."""
    text = reply.strip()
    label = _LABEL.match(text)
    return text[label.end() if label else 0 :].strip() or None


def process_extraction(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 if a text, by the official normalisation alone, is the answer.

    It counts as parsed if the authors' script takes it as it is: a choice, or a number of the right kind. Others go to the judge.
    """
    text, choices, kind = (results[0] or "").strip(), texts_of(doc["choices"]), doc["answer_type"]
    answer, _ = mathvista_normal(text, choices, kind, doc["precision"], script=False)
    whole = bool(_INTEGER.fullmatch(text)) if kind == "integer" else kind == "float" and is_float(text)
    return {"acc": float(answer == doc["answer"]), "__rule__": WHOLE_ANSWER if text in choices or whole else UNPARSED}
