"""IFEval: which of a prompt's instructions the response follows.

Source: Zhou et al. 2023, arXiv:2311.07911, section 3.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .checkers import CHECKERS


def loose_variants(response: str) -> list[str]:
    """The response and what is left without its first line, its last line and asterisks, in all combinations."""
    lines = response.split("\n")
    cut = ["\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1])]
    return [variant for text in (response, *cut) for variant in (text, text.replace("*", ""))]


def followed(doc: Mapping[str, Any], texts: Sequence[str]) -> list[bool]:
    """For each instruction of a doc, whether one of the texts follows it; an empty text follows none."""
    texts = [text for text in dict.fromkeys(texts) if text.strip()]
    found = []
    for name, arguments in zip(doc["instruction_id_list"], doc["kwargs"], strict=True):
        given = {key: value for key, value in arguments.items() if value is not None}
        found.append(any(CHECKERS[name](text, given) for text in texts))
    return found


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """Both levels, each strict and loose. At the level of instructions a value is (share followed, instructions)."""
    response = results[0] or ""
    scores: dict[str, Any] = {}
    for name, texts in (("strict", [response]), ("loose", loose_variants(response))):
        marks = followed(doc, texts)
        scores[f"prompt_level_{name}_acc"] = float(all(marks))
        scores[f"inst_level_{name}_acc"] = (float(sum(marks)), len(marks))
    return scores
