"""RealWorldQA: a letter, a number or a word for each photo. The benchmark has no script of its own.

Source: https://x.ai/news/grok-1.5v; for answers without letters lmms-eval's comparison.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.base import is_unread, rule_of
from mm_eval.scoring.filters.letters import McqLetterFilter

LETTERS = "ABCDEF"
OPTION = re.compile(r"^[A-F]\.\s+(.*)$", re.MULTILINE)
LETTERED = re.compile(r"\n\s*A[.)]\s+.*(?:\n\s*[B-F][.)]?\s+.*)+")
"""The lines of the options; some after the first lack the full stop behind their letter."""
READER = McqLetterFilter(letters=LETTERS)


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question with the instruction that it carries; with `lettered`, a question with options in that form, without it."""
    block, question = model_specific_prompt_kwargs, doc["question"].strip()
    found = LETTERED.search(question)
    if not block.get("lettered") or not found:
        return f"{block['pre_prompt']}{question}{block['post_prompt']}"
    options = [re.sub(r"^([A-F])[.)]?\s+", r"\1. ", line.strip()) for line in found[0].strip().split("\n")]
    return block["lettered"].format(question=question[: found.start()].strip(), options="\n".join(options))


def answer_kind(doc: Mapping[str, Any]) -> str:
    """Whether the right answer is a letter or a text."""
    return "letter" if doc["answer"].strip().upper() in set(LETTERS) else "text"


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right letter, or for the right text apart from case and full stops at its end."""
    answer, gold = results[0] or "", doc["answer"].strip()
    if answer_kind(doc) == "letter":
        letter = READER.one(answer, [option.strip() for option in OPTION.findall(doc["question"])])
        letter = READER.one(answer) if is_unread(letter) else letter  # where the options are not one a line
        return {"exact_match": float(letter == gold.upper()), "__rule__": rule_of(letter)}
    given = answer.strip().rstrip(".").lower()
    return {"exact_match": float(given == gold.lower()), "__rule__": "whole answer" if given else "unparsed"}
