"""OK-VQA: shapes, with questions that need a little knowledge, and five people's answers twice."""

from datasets import Image, Sequence, Value

from samples import Row, Sample, drawn, png
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "question_id": TEXT, "image": Image(), "question": TEXT, "answers": Sequence(TEXT), "question_type": TEXT,
    "answer_type": TEXT,
}  # fmt: skip
SIDES = {"square": "four", "rectangle": "four", "triangle": "three", "cross": "twelve", "star": "ten"}
WARM = {"red": "fire", "orange": "carrot", "yellow": "banana", "green": "grass", "blue": "sky", "purple": "grape"}


def samples() -> list[Sample]:
    """The split val2014: eight questions."""
    rows: list[Row] = []

    def add(cell: object, question: str, kind: str, answers: list[str]) -> None:
        twice = [answer for answer in answers for _ in range(2)]
        rows.append({
            "question_id": str(516065 + len(rows)), "image": cell, "question": question, "answers": twice,
            "question_type": kind, "answer_type": "other",
        })  # fmt: skip

    for number in range(4):
        picture, first = scene_with("ok_vqa", number)
        sides = SIDES.get(first.shape, "none")
        add(
            png(picture.image),
            f"How many straight sides has the {first.shape}?",
            "Science and Technology",
            [sides] * (5 if number % 2 else 4) + ["many"] * (0 if number % 2 else 1),
        )
        thing = WARM.get(first.color, "paint")
        add(
            png(picture.image),
            f"What has the color of the {first.shape}?",
            "Plants and Animals",
            [thing, thing, f"a {thing}", "clothes", "paper"],
        )
    place = drawn("location", "ok_vqa", 0)
    add(
        png(place.image),
        "What would people wear here?",
        "People and Everyday life",
        ["coat", "shoes", "hat", "bag", "belt"],
    )
    return [Sample("lmms-lab/OK-VQA", "val2014", FEATURES, rows)]
