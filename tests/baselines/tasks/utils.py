"""Code of the judged task of the byte baselines."""

import re
from typing import Any


def judge_prompt(doc: dict[str, Any], answer: str) -> str:
    return f"{doc['q']}\nReference: {doc['a']}\nAnswer: {answer}"


def verdict(reply: str) -> float | None:
    found = set(re.findall(r"(?m)^\s*GRADE:\s*([CI])\s*\.?\s*$", reply))
    return {"C": 1.0, "I": 0.0}[found.pop()] if len(found) == 1 else None
