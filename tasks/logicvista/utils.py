"""LogicVista: right if the letters of an answer are exactly the right ones.

Source: Xiao et al. 2024, arXiv:2407.04973, and Yijia-Xiao/LogicVista (eval/extract_accuracy.py).
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.option_list import joined

from mm_eval.scoring.filters import UNPARSED, rule_of


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture, which shows the options."""
    return [doc["image"].convert("RGB")]


def skill(doc: Mapping[str, Any]) -> list[str]:
    """The reasoning skills, a list or a text that holds one; none where the data lacks the column."""
    found = doc.get("skill") or []
    if isinstance(found, str):
        found = ast.literal_eval(found) if found.lstrip().startswith("[") else found.split(",")
    return [str(each).strip() for each in found]


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The right letters; "" for the question that has none, which counts."""
    return doc["answer"] or ""


def gold_answer(doc: Mapping[str, Any]) -> str | None:
    """The right letters; one question of the benchmark has none, and no answer to it is right."""
    return doc["answer"] or None


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """The score of one answer's letters."""
    gold = joined(doc["answer"] or "")
    right = bool(gold) and results[0] == gold
    return {"acc_rules": float(right), "unparsed_share": float(rule_of(results[0] or None) == UNPARSED)}
