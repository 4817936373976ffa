"""MMLU-Pro: questions with up to ten options, a category at a time.

Source: Wang et al. 2024, arXiv:2406.01574; the prompt is that of lm-eval's task, the rule that of the authors' script.
"""

import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from mm_eval.scoring.filters.base import EachAnswer, found_by
from mm_eval.scoring.filters.extraction import is_searched, rule_for, unread

LETTERS = "ABCDEFGHIJ"


class AuthorsLetter(EachAnswer):
    """The letter by the authors' rule: behind "answer is", else behind "answer:", else the last letter A to J on its own.

    The script draws a letter for an answer without one; here that answer is unparsed.
    Source: TIGER-AI-Lab/MMLU-Pro, evaluate_from_api.py (extract_answer, extract_again, extract_final).
    """

    _STAGES = (
        ("answer is", re.compile(r"answer is \(?([A-J])\)?")),
        ("answer:", re.compile(r"[aA]nswer:\s*([A-J])")),
        ("last letter", re.compile(r"\b([A-J])\b")),
    )

    def one(self, answer: Any) -> Any:
        """The letter of one answer; None if it has none."""
        if not is_searched(answer):
            return unread(answer, None)
        for rule, pattern in self._STAGES:
            found = list(pattern.finditer(answer))
            if not found:
                continue
            match = found[0]
            if rule == "last letter":
                match = found[-1]
            elif rule == "answer:":  # of the first line that has it the last one, as a greedy ".*" before it finds
                end = answer.find("\n", match.start())
                match = [each for each in found if end < 0 or each.start() < end][-1]
            return found_by(match[1], rule_for(answer, rule))
        return unread(answer, None)


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
