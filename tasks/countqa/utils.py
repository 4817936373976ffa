"""CountQA: how many things photos show, and whether a number is right or near it.

Source: Tamarapalli et al. 2025, arXiv:2508.06585, as evalscope quotes it (evalscope/benchmarks/count_qa at fde259d).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
SYSTEM = (
    "You are a helpful assistant that counts the number of items in an image. The user will provide an image and ask a question "
    "about the number of a certain type of item in the image. If the user question is referring to multiple objects, it means "
    "that you need to provide a sum of the number of items. You will count the number of items and return the number as an "
    "integer. Your output should STRICTLY be a single integer and nothing else."
)
NEAR = {"ra_5": 20, "ra_10": 10}
"""Metrics, with the part of the right number that an answer may be off: one 20th, one 10th."""


def with_questions(dataset: Any) -> Any:
    """A document for each question on a photo: `question`, `answer`, and `photo`, the row of the photo."""
    places = [(row, part) for row, asked in enumerate(dataset["questions"]) for part in range(len(asked))]
    columns = {name: [dataset[f"{name}s"][row][part] for row, part in places] for name in ("question", "answer")}
    dataset = dataset.select([row for row, _ in places]).add_column("photo", [row for row, _ in places])
    for name, values in columns.items():
        dataset = dataset.add_column(name, [str(value).strip() for value in values])
    return dataset


def doc_to_text(doc: Doc) -> str:
    """The same for models without chats: the system text in front."""
    return f"{SYSTEM}\n\n{doc['question']}"


def doc_to_messages(doc: Doc) -> list[dict[str, Any]]:
    """The authors' chat: their system text, the photo, the question."""
    asked = [{"type": "image", "url": doc["image"]}, {"type": "text", "text": doc["question"]}]
    return [{"role": "system", "content": [{"type": "text", "text": SYSTEM}]}, {"role": "user", "content": asked}]


def number_of(reply: str) -> int | None:
    """The first number in a reply; one with a sign or a comma is its first digits."""
    found = re.search(r"\d{1,300}", reply)
    return int(found[0]) if found else None


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right number; the two others also for a near one. Near 0 there is none."""
    said, right = number_of(results[0] or ""), int(doc["answer"])
    off = None if said is None else abs(said - right)
    near = {name: float(off is not None and off * part <= right) for name, part in NEAR.items()}
    return {"acc": float(off == 0), **near, "__rule__": UNPARSED if said is None else "number"}
