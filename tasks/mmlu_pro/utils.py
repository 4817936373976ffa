"""MMLU-Pro: questions with up to ten options, and worked examples of their category.

Source: Wang et al. 2024, arXiv:2406.01574, and TIGER-AI-Lab/MMLU-Pro (evaluate_from_local.py).
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

LETTERS = "ABCDEFGHIJ"
START = "A: Let's think step by step. "
"""How the data set begins each worked example; the prompt already ends with it."""


def of_category(dataset: Any, name: str) -> Any:
    """The docs of a category, in their order."""
    return dataset.select([number for number, each in enumerate(dataset["category"]) if each == name])


biology = partial(of_category, name="biology")
business = partial(of_category, name="business")
chemistry = partial(of_category, name="chemistry")
computer_science = partial(of_category, name="computer science")
economics = partial(of_category, name="economics")
engineering = partial(of_category, name="engineering")
health = partial(of_category, name="health")
history = partial(of_category, name="history")
law = partial(of_category, name="law")
math = partial(of_category, name="math")
other = partial(of_category, name="other")
philosophy = partial(of_category, name="philosophy")
physics = partial(of_category, name="physics")
psychology = partial(of_category, name="psychology")


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """The question with its options, and the beginning of the reasoning."""
    options = "".join(f"{letter}. {text.strip()}\n" for letter, text in zip(LETTERS, doc["options"], strict=False))
    return f"Question:\n{doc['question']}\nOptions:\n{options}Answer: Let's think step by step."


def worked(doc: Mapping[str, Any]) -> str:
    """The reasoning of a worked example with its answer."""
    return str(doc["cot_content"]).replace(START, "")
