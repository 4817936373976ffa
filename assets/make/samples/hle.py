"""The schema of Humanity's Last Exam: easy questions, half of them with a drawing as a data URL."""

import base64
from typing import Any

from datasets import Image, Value
from PIL import Image as Pillow

from samples import Row, Sample, png
from samples._math import bars, clock, dots, triangle

TEXT = Value("string")
FEATURES: dict[str, Any] = {
    "id": TEXT, "question": TEXT, "image": TEXT, "image_preview": Image(), "answer": TEXT, "answer_type": TEXT,
    "author_name": TEXT, "rationale": TEXT, "rationale_image": Image(), "raw_subject": TEXT, "category": TEXT, "canary": TEXT,
}  # fmt: skip
CHOICES = "\n\nAnswer Choices:\nA. {}\nB. {}\nC. {}"
QUESTIONS: list[tuple[Pillow.Image | None, str, str, str]] = [
    (None, "What is 17 times 3?", "51", "Math"),
    (triangle(["3", "4", "5"]), "What is the area of the triangle in the picture?", "6", "Math"),
    (None, "Which gas do plants take up in the light?" + CHOICES.format("carbon dioxide", "neon", "air"), "A", "Biology"),
    (dots(9), "How many dots are shown, written as a square?", "$3^2$", "Math"),
    (None, "Who wrote the Divine Comedy?", "Dante Alighieri", "Humanities/Social Science"),
    (bars([2, 5, 3], ["a", "b", "c"]), "Which bar is the highest?" + CHOICES.format("a", "b", "c"), "B", "Other"),
    (clock(6, 0), "What angle do the hands of the clock make, in degrees?", "180", "Physics"),
    (None, "How many bits has a byte?", "8", "Computer Science/AI"),
]  # fmt: skip


def samples() -> list[Sample]:
    """The only split."""
    rows: list[Row] = []
    for number, (picture, question, answer, category) in enumerate(QUESTIONS):
        shown = png(picture) if picture is not None else None
        url = "data:image/png;base64," + base64.b64encode(shown["bytes"]).decode("ascii") if shown else ""
        rows.append({
            "id": f"made-{number}", "question": question, "image": url, "image_preview": shown, "answer": answer,
            "answer_type": "multipleChoice" if "Answer Choices" in question else "exactMatch", "author_name": "mm-eval",
            "rationale": "", "rationale_image": None, "raw_subject": category, "category": category, "canary": "",
        })  # fmt: skip
    return [Sample("cais/hle", "test", FEATURES, rows)]
