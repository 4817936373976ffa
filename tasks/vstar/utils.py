"""V* Bench: a small thing in a large photo; the options stand in the question's text.

Source: Wu and Xie 2023, arXiv:2312.14135, and penghao-wu/vstar (vstar_bench_eval.py), which ranks the options' likelihoods.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.base import rule_of
from mm_eval.scoring.filters.letters import McqLetterFilter
from mm_eval.scoring.filters.options import lettered

LETTERS = "ABCD"
_OPTION = re.compile(r"\s*\(([A-D])\)\s*")
_INSTRUCTION = re.compile(r"\s*Answer with the option's letter.*", re.DOTALL)
_READER = McqLetterFilter(letters=LETTERS)


def parts(doc: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The question without its options and its instruction, and the options' texts."""
    question, *rest = _OPTION.split(_INSTRUCTION.sub("", doc["text"]))
    return question.strip(), [option.strip() for option in rest[1::2]]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The data's own text, or the question and the options in the block's form."""
    form = (model_specific_prompt_kwargs or {}).get("form")
    question, options = parts(doc)
    return form.format(question=question, options=lettered(options)) if form else str(doc["text"])


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """1 for the right letter, or for the right option's text."""
    letter = _READER.one(results[0], parts(doc)[1])
    return {"acc": float(letter == doc["label"].strip().upper()), "__rule__": rule_of(letter)}
