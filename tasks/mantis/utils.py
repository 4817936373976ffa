"""Mantis-Eval: questions on several pictures, with options or a short answer.

Source: Jiang et al. 2024, arXiv:2405.01483, and TIGER-AI-Lab/Mantis (mantis/benchmark/eval.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import IMAGE_MARK, found_in

PHRASES = ("final answer:", "the answer is", "answer:")
"""What stands before the answer; the first of them that occurs counts, where it occurs first."""


def with_numbers(dataset: Any) -> Any:
    """The docs with a column `pictures`: how many pictures each has, read without decoding any."""
    lists = dataset.with_format("arrow")[:]["images"]
    return dataset.add_column("pictures", [len(shown) for shown in lists])


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The question with its options in the block's form; `<image>` is the place of a picture. Pictures without one come first."""
    block, question = model_specific_prompt_kwargs or {}, doc["question"]
    forms = {kind: block.get(kind.replace("-", "_"), "{question}") for kind in ("multi-choice", "short-answer")}
    if doc["question_type"] == "multi-choice":
        for letter, option in zip("ABCDEFGHIJ", doc["options"], strict=False):
            labelled = any(f"{letter}{sign}" in option.upper() for sign in "):.")
            question += f"\n {option}" if labelled else f"\n ({letter}) {option}"
    text = found_in(forms, doc["question_type"], "question_type").replace("{question}", question)
    marks = text.count(IMAGE_MARK)
    return IMAGE_MARK * (doc["pictures"] - marks) + text if marks else text


def stated(answer: str) -> str:
    """What follows the phrase that announces an answer; the whole answer without one."""
    lower = answer.lower()
    for phrase in PHRASES:
        if (place := lower.find(phrase)) >= 0:
            return answer[place + len(phrase) :].strip()
    return answer


def choice(answer: str, gold: str, options: Sequence[str]) -> tuple[bool, str]:
    """Whether an answer is the option `gold` (a letter), and how it was read.

    The first letter counts if it is one of an option; else the answer must be the option's text without its label.
    """
    first = next((character.upper() for character in stated(answer) if character.isalpha()), "")
    if first and ord(first[0]) - ord("A") < len(options):
        return first == gold, "first_letter"
    place = ord(gold) - ord("A")
    option = options[place] if place < len(options) else ""
    label = next((each for each in (f"{gold}.", f"{gold}:", f"({gold})") if option.startswith(each)), "")
    said = answer.strip()
    right = bool(said) and said == option.removeprefix(label).strip()
    return right, "text" if right else "unparsed"


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """1 for the right option, or for the right short answer but for case."""
    gold = doc["answer"].strip("()\n ")
    if doc["question_type"] == "multi-choice":
        letter = gold if len(gold) == 1 else next(character for character in gold if character.isalpha())
        right, rule = choice(results[0], letter.upper(), doc["options"])
    else:
        answer = stated(results[0])
        right, rule = answer.lower() == gold.lower(), "short_answer" if answer.strip() else "unparsed"
    return {"mantis_score": float(right), "__rule__": rule}
