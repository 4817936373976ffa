"""MMVP: one question on each of two pictures that CLIP takes for alike; both answers must be right.

Source: Tong et al. 2024, arXiv:2401.06209, and tsb0601/MMVP (scripts/evaluate_mllm.py, gpt_grader.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.whole_groups import whole_groups

from mm_eval.values.errors import DocError

Doc = Mapping[str, Any]
OPTION = re.compile(r"\(([a-z])\)\s*(.*?)(?=\s*\([a-z]\)|$)", re.DOTALL)
pairs_right = whole_groups("pair")
"""The share of pairs with two right answers."""


def with_choices(dataset: Any) -> Any:
    """The docs with `choices`, the options' texts, `letter`, the right one's, and `pair`: two rows after each other."""
    choices = [[text for _, text in OPTION.findall(options)] for options in dataset["Options"]]
    letters = [answer.strip().strip("()").upper() for answer in dataset["Correct Answer"]]
    for row, (texts, letter) in enumerate(zip(choices, letters, strict=True)):
        if not texts or letter not in [chr(ord("A") + n) for n in range(len(texts))]:
            raise DocError(f"row {row}: 'Options' has {len(texts)} options, and 'Correct Answer' says {letter!r}.")
    pairs = [(int(index) - 1) // 2 for index in dataset["Index"]]
    return dataset.add_column("choices", choices).add_column("letter", letters).add_column("pair", pairs)


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question with its options, as in the data or a line each."""
    lines = "\n".join(f"{chr(ord('A') + n)}. {text}" for n, text in enumerate(doc["choices"]))
    return model_specific_prompt_kwargs["form"].format(question=doc["Question"], listed=doc["Options"], lines=lines)


def process_results(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    """Whether the letter is right, for the mean over questions and for the pairs."""
    right = int(results[0] == doc["letter"])
    return {"accuracy": float(right), "pair_accuracy": {"right": right, "pair": doc["pair"]}}


def judge_prompt(doc: Doc, answer: str) -> list[dict[str, Any]]:
    """The authors' question about one answer."""
    asked = (
        f"Given the following question {doc['Question']} {doc['Options']}, the correct answer is {doc['Correct Answer']}. "
        f"Does the following answer correctly answers the question, answer:{answer}?"
    )
    system = "You are a helpful and precise assistant for checking the quality of the answer. Please answer in only yes or no."
    return [{"role": "system", "content": system}, {"role": "user", "content": asked}]


def verdict(reply: str, doc: Doc) -> str | None:
    """The right letter for yes, another one for no, in any case; None for any other reply."""
    wrong = "B" if doc["letter"] == "A" else "A"
    return {"yes": str(doc["letter"]), "no": wrong}.get(reply.lower())


def verdict_range(doc: Doc) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a wrong and a right answer give."""
    return process_results(doc, [None]), process_results(doc, [doc["letter"]])
