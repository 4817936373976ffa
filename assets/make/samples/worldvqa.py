"""WorldVQA's schema: what is drawn, in two languages and eight categories of nine; the pictures are base64 texts."""

import base64
from typing import Any

from datasets import Value

from samples import Row, Sample, page, png
from samples._math import clock, dots, triangle
from samples.simplevqa import FRANCE, GERMANY, ITALY, RUSSIA

TEXT = Value("string")
FEATURES: dict[str, Any] = {
    "index": Value("int64"),
    **dict.fromkeys(("image", "question", "answer", "language", "category", "difficulty"), TEXT),
}
QUESTIONS = [
    (FRANCE, "Which country has this flag?", "France", "en", "Culture", "easy"),
    (GERMANY, "Which country has this flag?", "Germany", "en", "Culture", "easy"),
    (ITALY, "Which country has this flag?", "Italy", "en", "Location", "medium"),
    (RUSSIA, "这是哪个国家的国旗？", "俄罗斯", "zh", "Location", "medium"),
    (triangle(["3", "4", "5"]), "What kind of triangle is it?", "right-angled triangle", "en", "Objects", "hard"),
    (clock(3, 0), "图中是什么？", "钟表", "zh", "Objects", "easy"),
    (dots(12), "Which number is shown by dots?", "12", "en", "Games", "hard"),
    (page("MM EVAL"), "Which brand's name is it?", "MM EVAL", "en", "Brands", "medium"),
    (page("Ada"), "Who has signed here?", "Ada", "en", "People", "hard"),
]


def samples() -> list[Sample]:
    """The only split."""
    rows: list[Row] = []
    for number, (picture, question, answer, language, category, difficulty) in enumerate(QUESTIONS):
        rows.append({
            "index": number, "image": base64.b64encode(png(picture)["bytes"]).decode("ascii"), "question": question,
            "answer": answer, "language": language, "category": category, "difficulty": difficulty,
        })  # fmt: skip
    return [Sample("moonshotai/WorldVQA", "train", FEATURES, rows)]
