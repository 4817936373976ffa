"""InfographicVQA: short answers read off an infographic.

Source: Mathew et al. 2022, arXiv:2104.12756.
"""

from collections.abc import Mapping
from typing import Any


def submission_record(doc: Mapping[str, Any], answer: str) -> dict[str, Any]:
    """One entry of the file that rrc.cvc.uab.es (challenge 17, task 3) scores; there the questionId is an integer."""
    return {"questionId": int(doc["questionId"]), "answer": answer}
