"""V* Bench: a table with a card on which small things lie: what one of them is like, or on which side of another it is.

In the whole picture, as tiny-qwen2-vl sees it, a thing has three pixels; the part that it can zoom in on shows what it is.
"""

import random

from datasets import Image, Value
from prompts import LETTERS, Question
from zoom import Table, ask_table, draw_table

from samples import Row, Sample, png, rng

TEXT = Value("string")
FEATURES = {"image": Image(), "text": TEXT, "category": TEXT, "label": TEXT, "question_id": TEXT}
END = "\nAnswer with the option's letter from the given choices directly."
TABLES = 12
QUESTIONS = {"direct_attributes": 2, "relative_position": 1}
"""Of each table."""


def samples() -> list[Sample]:
    """The test split."""
    rows: list[Row] = []
    letters: dict[int, list[str]] = {2: [], 4: []}
    for number in range(TABLES):
        stream = rng("vstar", number)
        table = draw_table(stream)
        image = png(table.image)
        for question in _questions(table, stream):
            count = len(question.options)
            # Each letter is right as often, so that no guess is better.
            left = letters[count] = letters[count] or stream.sample(LETTERS[:count], count)
            options = [option for option in question.options if option != question.answer]
            label = left.pop()
            options.insert(LETTERS.index(label), question.answer)
            listed = "\n".join(f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False))
            text = f"{question.text}\n{listed}{END}"
            rows.append({
                "image": image, "text": text, "category": question.category, "label": label, "question_id": str(len(rows)),
            })  # fmt: skip
    return [Sample("lmms-lab/vstar-bench", "test", FEATURES, rows, repeats=True)]


def _questions(table: Table, stream: random.Random) -> list[Question]:
    """Different questions, as many of each category as QUESTIONS says."""
    found, left = list[Question](), dict(QUESTIONS)
    while any(left.values()):
        question = ask_table(table, stream)
        if left[question.category] and question.text not in [other.text for other in found]:
            left[question.category] -= 1
            found.append(question)
    return sorted(found, key=lambda question: question.category)
