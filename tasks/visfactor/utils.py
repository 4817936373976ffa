"""VisFactor: what a reply says, by the subtest's kind of answer, and the share of items of which every row is right.

Source: Huang et al. 2025, arXiv:2502.16435; vlmeval/dataset/visfactor.py of CUHK-ARISE/VisFactor at 75036e2.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.scoring.metrics.traits import declare
from mm_eval.values.types import at_image_marks

Doc = Mapping[str, Any]
PICTURE = r"<IMAGE_(\d+)>"
NAMES, NUMBERS = ("CS1", "CS2", "CS3"), ("CF3", "I3", "MA1", "SS3", "VZ3")
"""Subtests whose answer is one of several names, and those with a number, a place or a letter; others ask for true or false."""
TRUTH = {**dict.fromkeys(("t", "y", "1", "true", "yes"), "T"), **dict.fromkeys(("f", "n", "0", "false", "no"), "F")}
JSON = re.compile(r'\{\s*"answer"\s*:\s*(.+?)\s*\}')


def additional(doc: Doc) -> str:
    """The column's text; "" where there is none."""
    text = doc["additional"]
    return "" if text is None or str(text) == "nan" else str(text)


def whole_text(doc: Doc, block: Mapping[str, str]) -> str:
    """The question with the additional texts at their marks, and the block's words before "respond"."""
    parts = additional(doc).replace("<br>", "\n").split(";") if additional(doc) else []
    text = re.sub(
        r"<ADDITIONAL_(\d+)>",
        lambda mark: parts[int(mark[1])] if int(mark[1]) < len(parts) else mark[0],
        doc["question"].replace("<br>", "\n"),
    )
    return text.replace("Output: Respond", block["respond"])


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question, each picture at its mark."""
    return at_image_marks(whole_text(doc, model_specific_prompt_kwargs), PICTURE)[0]


def doc_to_visual(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> list[Any]:
    """The pictures in the order of their marks; the first one of the column is number 0."""
    numbers = at_image_marks(whole_text(doc, model_specific_prompt_kwargs), PICTURE)[1]
    return [doc["image"][number] for number in numbers]


def gold_answer(doc: Doc) -> str:
    """An answer as the prompt asks for it; of several names the first."""
    answer = str(doc["answer"])
    return f'{{"answer": "{answer.split(",")[0] if doc["category_id"] in NAMES else answer}"}}'


def read(reply: str, doc: Doc) -> str:
    """What a reply says, in the form of the column `answer`; "" if nothing is read."""
    found = JSON.findall(reply)
    said = found[-1].strip() if found else ""
    if said[:1] in ("'", '"') and said[-1:] == said[:1]:
        said = said[1:-1]
    subtest = doc["category_id"]
    if subtest in NAMES:
        return said
    if subtest not in NUMBERS or subtest == "VZ3" and not additional(doc).isdigit():
        return TRUTH.get(said.lower(), "")
    said = said or reply
    if subtest == "VZ3":
        return next((character for character in reversed(said) if character.isupper()), "")
    numbers = re.findall(r"\d+", said)
    if subtest == "CF3":
        return f"({numbers[-2]}, {numbers[-1]})" if len(numbers) > 1 else ""
    return numbers[-1] if numbers else ""


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """Whether a row is right, for the rows and for the items."""
    reply = results[0] or ""
    said, gold = read(reply, doc), str(doc["answer"])
    right = bool(said) and (said.lower() in gold.lower().split(",") if doc["category_id"] in NAMES else said == gold)
    item = {"subtest": doc["category_id"], "item": doc["eval_index"], "right": right}
    rule = UNPARSED if not said else "JSON" if JSON.search(reply) else "whole reply"
    return {"score": item, "rows": float(right), "__rule__": rule}


@declare(smooth=True, fraction=True, whole_clusters=True, stratum=lambda item: item["subtest"])
def score(items: Sequence[Mapping[str, Any]]) -> float:
    """The mean over subtests of the share of items of which every row is right."""
    whole = dict[str, dict[Any, bool]]()
    for item in items:
        of = whole.setdefault(item["subtest"], {})
        of[item["item"]] = of.get(item["item"], True) and item["right"]
    return sum(sum(of.values()) / len(of) for of in whole.values()) / len(whole)
