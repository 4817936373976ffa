"""MMStar: which letter an answer begins with.

Source: Chen et al. 2024, arXiv:2403.20330; MMStar-Benchmark/MMStar, eval/vlmeval/evaluate/mmstar.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any

LEADS = ("(", "option ", "the answer is ")


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The doc's picture."""
    return [doc["image"].convert("RGB")]


def read_letter(text: str) -> tuple[str | None, str]:
    """The letter at the start of an answer, or after one of the LEADS, and the rule that found it."""
    answer = text.lower().strip().replace("\n", " ")
    lead = next((lead for lead in LEADS if answer.startswith(lead)), "")
    letter = answer[len(lead) : len(lead) + 1].upper()
    if letter and letter in "ABCD":
        return letter, f"after {lead.strip()!r}" if lead else "first character"
    return None, "unparsed"


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score by the benchmark's rule."""
    letter, rule = read_letter(results[0] or "")
    return {"acc": float(letter == doc["answer"].strip().upper()), "__rule__": rule}


def process_results_lmms(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score under its finer category, for the mean over these."""
    return {"average": (doc["l2_category"], float(results[0] == doc["answer"].strip().upper()))}
