"""GPQA: the choices of a question in an order of their own.

Source: Rein et al. 2023, arXiv:2311.12022; the cleaning of texts is that of lm-eval's task.
"""

import random
from typing import Any

WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
SEED = 1234


def clean(text: str | None) -> str:
    """A choice without blanks around it; pairs of blanks become one."""
    return (text or " ").strip().replace(" [title]", ". ").replace("  ", " ")


def with_choices(dataset: Any) -> Any:
    """All docs with columns `choices`, shuffled, and `answer`, the place of the right one.

    The order depends on SEED and the question alone, so that it is the same in every run, on any part of the docs.
    """
    columns = [dataset[name] for name in ("Question", "Correct Answer", *WRONG)]
    shuffled, places = [], []
    for question, *texts in zip(*columns, strict=True):
        order = [0, 1, 2, 3]
        random.Random(f"{SEED}/{question}").shuffle(order)
        shuffled.append([clean(texts[place]) for place in order])
        places.append(order.index(0))
    return dataset.add_column("choices", shuffled).add_column("answer", places)
