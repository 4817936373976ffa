"""DynaMath: the prompt, the official rule for the answer in a JSON response, and the worst case over variants.

Source: Zou et al. 2024, arXiv:2411.00836; evaluation/opensource_json_eval.py of github.com/DynaMath/DynaMath.
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import smooth, stratified_by

TOLERANCE = 0.001
UNPARSED = "unparsed"


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The question's picture."""
    return [doc["decoded_image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question, the request for a number where one is wanted, and the instruction to answer in JSON."""
    block = model_specific_prompt_kwargs or {}
    number = block.get("float_prompt", "") if doc["answer_type"] == "float" else ""
    return f"{block.get('pre_prompt', '')}{doc['question']}{number}{block.get('post_prompt', '')}"


def gold_answer(doc: Mapping[str, Any]) -> str:
    """A response that the rule reads as the right answer."""
    return json.dumps({"solution": "", "short answer": doc["ground_truth"]}, ensure_ascii=False)


def subject(doc: Mapping[str, Any]) -> str:
    """The subject; one question has blanks too many in it."""
    return " ".join(doc["subject"].split())


def short_answer(response: str) -> tuple[str, str]:
    """The entry "short answer" of the JSON object in a response, else its last line without the last character; the rule."""
    first, last = response.find("{"), response.rfind("}")
    text = response[first : last + 1].replace("\\", "") if 0 <= first < last else response
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text.split("\n")[-1][:-1], "last line"
    if not isinstance(found, dict) or "short answer" not in found:
        return "", UNPARSED
    return str(found["short answer"]), "json"


def number_of(answer: str) -> float | None:
    """The number that an answer or its first word is; "2π" is a multiple of pi."""
    word, pi, _ = (answer if answer.isdigit() else answer.split(" ")[0]).partition("π")
    try:
        return float(word) * (math.pi if pi else 1)
    except ValueError:
        return None


def is_right(answer: str, gold: str, kind: str) -> tuple[bool, bool]:
    """Whether an answer is right, and whether it could be read."""
    if kind == "float":
        number = number_of(answer)
        return number is not None and abs(number - float(gold)) <= TOLERANCE, number is not None
    if kind == "multiple choice":
        return (answer == gold if len(answer) == 1 else gold in answer[:3]), any(c in "ABCDEFGH" for c in answer[:3])
    return gold in answer, bool(answer)


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """1 if the short answer is right; for the worst case with the id that the variants of a question share."""
    answer, rule = short_answer(results[0] or "")
    right, read = is_right(answer, doc["ground_truth"], doc["answer_type"])
    score = float(right and rule != UNPARSED)
    return {
        "average": score,
        "worst_case": {"id": doc["id"], "score": score},
        "__rule__": rule if read else UNPARSED,
    }


@smooth
@stratified_by(lambda scored: "", content="score")
def worst_case(results: Sequence[Mapping[str, Any]]) -> float:
    """The share of questions that are right in all their variants."""
    variants: dict[str, list[float]] = defaultdict(list)
    for scored in results:
        variants[scored["id"]].append(scored["score"])
    return sum(map(min, variants.values())) / len(variants)
