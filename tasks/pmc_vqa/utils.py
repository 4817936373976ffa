"""PMC-VQA: the authors' prompt, and the letter that is most similar to a reply.

Source: Zhang et al. 2023, arXiv:2305.10415; src/MedVInT_TE/test.py and dataset/dataset.py of xiaoman-zhang/PMC-VQA at 1678ec2.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
LETTERS = "ABCD"


def doc_to_visual(doc: Doc) -> list[Any]:
    """The figure, which the hub has in images.zip."""
    return [f"images/{doc['Figure_path'].strip()}"]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its choices, which begin with their letters, in one line."""
    choices = " ".join(str(doc[f"Choice {letter}"]) for letter in LETTERS)
    return model_specific_prompt_kwargs["form"].format(question=doc["Question"], choices=choices)


def doc_to_target(doc: Doc) -> str:
    """The letter of the right choice."""
    return str(doc["Answer_label"]).strip()


def letter_of(reply: str) -> str | None:
    """The letter that `difflib` finds most similar to a whole reply, of equal ones the first.

    In less than 200 characters that is the first of A to D that occurs; in more `difflib` ignores frequent letters.
    """
    ratios = [SequenceMatcher(None, letter, reply).ratio() for letter in LETTERS]
    return LETTERS[ratios.index(max(ratios))] if any(ratios) else None


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter; a reply without one is unparsed."""
    letter = letter_of(results[0] or "")
    return {"acc": float(letter == doc_to_target(doc)), "__rule__": "letter" if letter else UNPARSED}
