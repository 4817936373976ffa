"""The letter of an option at the beginning or the end of an answer: the rule of AIR-Bench, which MMSU took over.

Source: score_foundation.py of OFA-Sys/AIR-Bench at 9832476; mmsu_evaluation.py of dingdongwang/MMSU_Bench at 321b276.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.values.errors import DocError

Doc = Mapping[str, Any]
LETTERS = "ABCD"


def right_letter(doc: Doc) -> str:
    """The letter of the first option with the right text."""
    for letter in LETTERS:
        if doc.get(f"choice_{letter.lower()}") == doc["answer_gt"]:
            return letter
    raise DocError(f"none of the options is the right answer {str(doc['answer_gt'])[:100]!r}.")


def letter_of(answer: str) -> str | None:
    """The first character of an answer, or its last but one, if that is a letter of an option."""
    said = answer.strip().replace("\n", "")
    if said == "None":
        return None
    return next((place for place in (said[:1], said[-2:-1]) if place and place in LETTERS), None)


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter; an answer without one is unparsed."""
    letter = letter_of(results[0] or "")
    return {"acc": float(letter == right_letter(doc)), "__rule__": "letter" if letter else UNPARSED}
