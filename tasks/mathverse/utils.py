"""MathVerse: each problem in five versions that say less in words and more in the diagram, scored by a judge in two steps.

Source: Zhang et al. 2024, arXiv:2403.14624; evaluation/ of github.com/ZrrSkywalker/MathVerse.
"""

import re
from collections.abc import Mapping
from typing import Any

from .prompts import COMPARE, EXTRACT

Doc = Mapping[str, Any]
LAST_WORDS = 30
"""What the judge reads of an answer, in words between blanks (`--trunk_response 30` in the authors' README)."""

_LABEL = re.compile(r"extracted answer:\s*", re.IGNORECASE)


def doc_to_visual(doc: Doc) -> list[Any]:
    """The picture; none where the version is text only."""
    return [doc["image"].convert("RGB")] if doc["image"] else []


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """One of the two prompts that the data has, by the name of its column: query_wo (answer directly) or query_cot.

    left_out: words of the block that leave the prompt after a small "please".
    """
    block = model_specific_prompt_kwargs or {}
    prompt = str(doc[block.get("query", "query_wo")])
    if block.get("left_out"):
        prompt = prompt.replace(f"please {block['left_out']}", "please ")
    return f"{prompt}{block.get('post_prompt', '')}"


def extract_prompt(doc: Doc, answer: str) -> str:
    """Step 1: the authors' six examples and the end of the answer."""
    end = " ".join(answer.split(" ")[-LAST_WORDS:])
    return f"{EXTRACT}\n\nModel response: '{end}'\nExtracted Answer: "


def extraction(reply: str) -> str | None:
    """What step 1 extracts, without its label; "null" where the answer has none. None for an empty reply."""
    text = reply.strip()
    label = _LABEL.match(text)
    return text[label.end() if label else 0 :].strip() or None


def compare_prompt(doc: Doc, answer: str) -> str:
    """Step 2: question, right answer and extracted answer. A question in the picture alone is given as text to the judge."""
    question = doc.get("question_for_eval") or doc["question"]
    return COMPARE.format(question=question, gt=doc["answer"], extraction=answer)


def judgement(reply: str) -> float | None:
    """0 or 1 if the reply is nothing else but that, after its label; the authors' script asks again until it is."""
    found = reply.replace("Judgement:", "").strip()
    return float(found) if found in ("0", "1") else None
