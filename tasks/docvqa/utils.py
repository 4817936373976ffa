"""DocVQA: short answers read off a scanned page.

Source: Mathew et al. 2021, arXiv:2007.00398.
"""

from collections.abc import Mapping
from typing import Any


def submission_record(doc: Mapping[str, Any], answer: str) -> dict[str, Any]:
    """One entry of the file that rrc.cvc.uab.es (challenge 17, task 1) scores; there the questionId is an integer."""
    return {"questionId": int(doc["questionId"]), "answer": answer}
