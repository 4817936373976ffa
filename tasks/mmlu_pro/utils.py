"""MMLU-Pro: questions with up to ten options, a category at a time.

Source: Wang et al. 2024, arXiv:2406.01574; the prompt is that of lm-eval's task.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

LETTERS = "ABCDEFGHIJ"


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """The question, its lettered options and the beginning of the reasoning."""
    options = "".join(f"{letter}. {text.strip()}\n" for letter, text in zip(LETTERS, doc["options"], strict=False))
    return f"Question:\n{doc['question']}\nOptions:\n{options}Answer: Let's think step by step."


def worked_answer(doc: Mapping[str, Any]) -> str:
    """The reasoning of an example, without its beginning, which the question has."""
    return str(doc["cot_content"]).replace("A: Let's think step by step. ", "")


def of_category(dataset: Any, name: str) -> Any:
    """The docs of a category."""
    found = list(dataset["category"])
    return dataset.select([place for place, category in enumerate(found) if category == name])


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
