"""MME: a category scores its accuracy in % plus its accuracy+ in % (pictures of which all questions are right), 200 at most.

Source: Fu et al. 2023, arXiv:2306.13394, and the benchmark's own evaluation tool.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import smooth, stratified_by
from mm_eval.values.types import reads_columns

PERCEPTION = (
    "existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR",
)  # fmt: skip
COGNITION = ("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning")
REPLACED = " Please answer yes or no."  # the prompt block says instead how to answer

log = logging.getLogger(__name__)


@reads_columns
def mme_process_docs(dataset: Any) -> Any:
    """All docs as they are; says when a picture has another number of questions than the benchmark's two."""
    pictures = Counter(zip(dataset["category"], dataset["question_id"], strict=True))
    odd = [picture for picture, questions in pictures.items() if questions != 2]
    if odd:
        log.warning("MME: %d pictures have other than two questions, such as %s; all count.", len(odd), odd[0])
    return dataset


def mme_doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The doc's picture."""
    return [doc["image"].convert("RGB")]


def mme_doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question without its own instruction, between the block's pre_prompt and post_prompt."""
    block = model_specific_prompt_kwargs or {}
    question = doc["question"].strip().replace(REPLACED, "")
    return f"{block.get('pre_prompt', '')}{question}{block.get('post_prompt', '')}"


def read_answer(text: str) -> tuple[str | None, str]:
    """ "yes" or "no" and the rule that found it; (None, "unparsed") where neither rule does."""
    answer = text.strip().lower()
    if answer in ("yes", "no"):
        return answer, "whole answer"
    for label in ("yes", "no"):
        if label in answer[:4]:
            return label, "first four characters"
    return None, "unparsed"


def mme_process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score, under its category and under perception or cognition."""
    answer, rule = read_answer(results[0] or "")
    category = doc["category"]
    scored = {
        "question_id": doc["question_id"],
        "category": category,
        "score": float(answer == doc["answer"].strip().lower()),
    }
    total = "mme_perception_score" if category in PERCEPTION else "mme_cognition_score"
    return {total: scored, category: scored, "__rule__": rule}


@smooth
@stratified_by("category", content="score")
def mme_aggregate_results(results: Sequence[Mapping[str, Any]]) -> float:
    """The sum over categories of accuracy and accuracy+, in MME's points."""
    categories: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for scored in results:
        categories[scored["category"]][scored["question_id"]].append(scored["score"])
    total = 0.0
    for pictures in categories.values():
        answers = [score for scores in pictures.values() for score in scores]
        total += 100 * sum(answers) / len(answers)
        total += 100 * sum(all(scores) for scores in pictures.values()) / len(pictures)
    return total
