"""ScienceQA: prompts, LLaVA's reading of an answer, and the classes of questions that the paper's table shows.

Source: Lu et al. 2022, arXiv:2209.09513; lupantech/ScienceQA, tools/evaluate_acc.py (classes); haotian-liu/LLaVA,
llava/eval/eval_science_qa.py (`process_results`); EvolvingLMMs-Lab/lmms-eval, lmms_eval/tasks/scienceqa (`process_results_lmms`).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters.options import is_missing, question_with_options, texts_of

LETTERS = "ABCDE"
SENTENCE = re.compile(r"The answer is ([A-Z]).")  # the last dot is any character


def with_has_image(dataset: Any) -> Any:
    """The docs with the column `has_image`: what is scored has no pictures, and the classes depend on them."""
    batches = dataset.select_columns("image").with_format("arrow").iter(batch_size=256)
    return dataset.add_column(
        "has_image", [there for batch in batches for there in batch["image"].is_valid().to_pylist()]
    )


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture, if the question has one."""
    return [] if doc["image"] is None else [doc["image"].convert("RGB")]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """Context, question, lettered options and the block's instruction."""
    return question_with_options(doc["question"], doc["choices"], model_specific_prompt_kwargs or {}, doc["hint"])


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The letter of the right option."""
    return LETTERS[int(doc["answer"])]


def context(doc: Mapping[str, Any]) -> list[str]:
    """What the question comes with; a question with text and picture counts in both classes."""
    return [name for name, there in (("text", not is_missing(doc["hint"])), ("image", doc["has_image"])) if there] or [
        "none"
    ]


def grades(doc: Mapping[str, Any]) -> str | None:
    """The class of the doc's school grade."""
    grade = str(doc["grade"]).removeprefix("grade")
    return ("1-6" if int(grade) <= 6 else "7-12") if grade.isdigit() else None


def read_letter(answer: str) -> tuple[str | None, str]:
    """The letter that an answer means by LLaVA's rule, and the rule that found it."""
    if answer in tuple(LETTERS):
        return answer, "letter"
    if answer[:1] in tuple(LETTERS) and answer[1:3] == ". ":
        return answer[0], "letter and text"
    found = SENTENCE.findall(answer)
    return (found[0], "the answer is") if len(found) == 1 else (None, "unparsed")


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score by LLaVA's rule; a letter beyond the options counts as unparsed."""
    letter, rule = read_letter((results[0] or "").strip())
    is_option = letter is not None and letter in LETTERS[: len(texts_of(doc["choices"]))]
    return {"acc": float(letter == doc_to_target(doc)), "__rule__": rule if is_option else "unparsed"}


def process_results_lmms(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question's score by lmms-eval's rule."""
    answer = (results[0] or "").strip()
    start = answer[0] if re.match(r"[A-Z]\.", answer) else ""
    said = start or (answer.upper() if len(answer) == 1 else "")
    is_option = bool(said) and said in LETTERS[: len(texts_of(doc["choices"]))]
    rule = ("letter and stop" if start else "letter") if is_option else "unparsed"
    return {"acc": float(said == doc_to_target(doc)), "__rule__": rule}
