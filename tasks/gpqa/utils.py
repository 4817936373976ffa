"""GPQA: the right answer among three wrong ones, in an order that a fixed seed draws.

Source: Rein et al. 2023, arXiv:2311.12022; the texts are prepared as in lm-eval (lm_eval/tasks/gpqa).
"""

import random
from typing import Any

SEED = 0
"""The default of lm-eval's `--seed` for Python's `random`, which shuffles the choices there."""

COLUMNS = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "Correct Answer")


def process_docs(dataset: Any) -> Any:
    """The docs with `choices`, the four texts in the order to show them, and `answer`, the right one as "(B)"."""
    stream, shown, answers = random.Random(SEED), [], []
    for texts in zip(*(dataset[column] for column in COLUMNS), strict=True):
        choices = [cleaned(text) for text in texts]
        right = choices[-1]
        stream.shuffle(choices)
        shown.append(choices)
        answers.append(f"({'ABCD'[choices.index(right)]})")
    return dataset.add_column("choices", shown).add_column("answer", answers)


def cleaned(text: str | None) -> str:
    """The text of a choice without outer blanks, double blanks and marks of a title; a blank where there is none."""
    return " " if text is None else text.strip().replace(" [title]", ". ").replace("  ", " ")
