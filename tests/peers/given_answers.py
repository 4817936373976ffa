"""Answers to the documents of a task in several forms: right ones, wrong ones, and those that suites read differently."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FORMS: dict[str, Callable[[str, str], str]] = {
    "gold": lambda right, wrong: right,
    "wrong": lambda right, wrong: wrong,
    "sentence": lambda right, wrong: f"The answer is {right}.",
    "full stop": lambda right, wrong: f"{right}.",
    "explained": lambda right, wrong: f"{right}, because the picture shows it.",
    "lower case": lambda right, wrong: right.lower(),
    "upper case": lambda right, wrong: right.upper(),
    "brackets": lambda right, wrong: f"({right.strip('()')})",
    "bold": lambda right, wrong: f"**{right}**",
    "boxed": lambda right, wrong: f"\\boxed{{{right}}}",
    "two": lambda right, wrong: f"{right} or {wrong}",
    "blank before": lambda right, wrong: f" {right}\n",
    "refusal": lambda right, wrong: "I'm sorry, I can't help with that.",
    "empty": lambda right, wrong: "",
}
"""What is made of a right and a wrong text."""
LIKELIHOODS = ("gold", "wrong", "hashed")
QUICK = ("gold", "wrong", "sentence", "mixed")


@dataclass(frozen=True)
class Gold:
    """What is right for a document.

    text: a generated answer that gets full marks, wrong: one that does not. choices: how many likelihoods are asked for, 0 for
    generated answers. right: the indices of the right ones.
    """

    text: str = ""
    wrong: str = ""
    choices: int = 0
    right: tuple[int, ...] = ()


def number_of(*names: object) -> int:
    """A number that hangs on the names only."""
    return int.from_bytes(hashlib.sha256("/".join(map(str, names)).encode()).digest()[:4], "big")


def likelihoods(form: str, task: str, doc_id: int, gold: Gold) -> list[Any]:
    """[log-likelihood, is greedy] of each choice: the right ones, the wrong ones or neither are likelier."""
    found = []
    for place in range(gold.choices):
        base = -2.0 - number_of(task, doc_id, place) % 1000 / 100
        liked = form == "hashed" or (place in gold.right) == (form == "gold")
        found.append([base if liked else base - 20.0, False])
    return found


def answers(task: str, golds: Mapping[int, Gold], forms: Sequence[str]) -> dict[str, dict[int, Any]]:
    """By form the answer to each document; "mixed" has another form for each. A form that a task does not have is left out."""
    found: dict[str, dict[int, Any]] = {}
    generated = [form for form in FORMS if form in forms or "mixed" in forms]
    for doc_id, gold in golds.items():
        if gold.choices:
            for form in LIKELIHOODS:
                found.setdefault(form, {})[doc_id] = likelihoods(form, task, doc_id, gold)
            continue
        made = {form: FORMS[form](gold.text, gold.wrong) for form in generated}
        if "mixed" in forms:
            made["mixed"] = made[generated[number_of(task, doc_id) % len(generated)]]
        for form, text in made.items():
            if form in forms:
                found.setdefault(form, {})[doc_id] = text
    return found
