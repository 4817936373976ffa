"""PixMo-Count: how many objects of a kind a photo shows.

Source: Deitke et al. 2024, arXiv:2409.17146; the columns and the rule are lmms-eval's (lmms_eval/tasks/pixmo_count/utils.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED

_DIGITS = re.compile(r"[0-9]+")


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question without its mark for the picture, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    question = doc["question"].replace("<image>", "").strip()
    return f"{block.get('pre_prompt', '')}{question}{block.get('post_prompt', '')}"


def number(doc: Mapping[str, Any]) -> str:
    """The right number: the first digits of the column `answer`."""
    found = _DIGITS.search(str(doc["answer"]))
    return found[0] if found else str(doc["answer"]).strip()


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the first digits of the answer are those of the right number; "03" is not 3."""
    found = _DIGITS.search(results[0] or "")
    return {
        "acc": float(found is not None and found[0] == number(doc)),
        "__rule__": "first_number" if found else UNPARSED,
    }
