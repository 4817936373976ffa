"""PhyX, multiple choice: the letter that the authors' rule without a judge finds.

Source: Shen et al. 2025, arXiv:2505.15929; PhyX_process_line_MC in vlmeval/dataset/utils/phyx.py of NastyMarcus/PhyX at a651a00.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.types import shown_picture

Doc = Mapping[str, Any]
NAMED = re.compile(r"\b(?:[Cc]orrect|[Aa]nswer|[Oo]ption)\b[\s\S]*?([A-D])")
BEFORE_COLON = re.compile(r"([ABCD]):")


def doc_to_visual(doc: Doc) -> list[Any]:
    """The picture, which the hub has as base64."""
    return [shown_picture(doc["image"])]


def letter_of(answer: str) -> str | None:
    """The first letter behind a word for an answer, else the last one before a colon."""
    named = NAMED.search(answer)
    return named[1] if named else next(reversed(BEFORE_COLON.findall(answer)), None)


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter, and if it stands anywhere before a colon or at asterisks; an answer without either is unparsed."""
    said, right = (results[0] or "").strip(), str(doc["answer"])
    letter = letter_of(said)
    if letter and letter.lower() == right.strip().lower():
        return {"acc": 1.0, "__rule__": "letter"}
    is_marked = any(mark in said for mark in (f"{right}:", f"{right}**", f"**{right}"))
    return {"acc": float(is_marked), "__rule__": "mark" if is_marked else "letter" if letter else UNPARSED}
