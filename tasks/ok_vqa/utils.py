"""OK-VQA: questions on photos that need knowledge from outside the photo, scored by VQAv2's script.

Source: Marino et al. 2019, arXiv:1906.00067; the script of GT-Vision-Lab/VQA, with which published models are scored on it.
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.vqa import agreed_answer


def gold_answer(doc: Mapping[str, Any]) -> str | None:
    """An answer that gets full marks; None where too few people agree."""
    return agreed_answer(doc["answers"])


def lmms_gold_answer(doc: Mapping[str, Any]) -> str | None:
    """The same with answers as TextVQA's processor writes them."""
    return agreed_answer(doc["answers"], "textvqa")
