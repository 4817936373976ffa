"""VizWiz-VQA: shapes, signs and a black photo, with ten people's answers."""

from datasets import Image, Sequence, Value
from PIL import Image as Pillow

from samples import Row, Sample, page, png
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {"question_id": TEXT, "image": Image(), "question": TEXT, "answers": Sequence(TEXT), "category": TEXT}


def samples() -> list[Sample]:
    """The val split: ten questions of its four categories."""
    rows: list[Row] = []

    def add(picture: Pillow.Image, question: str, category: str, *answers: tuple[str, int]) -> None:
        people = [answer for answer, times in answers for _ in range(times)]
        assert len(people) == 10
        rows.append({
            "question_id": f"VizWiz_val_{len(rows):08d}", "image": png(picture), "question": question,
            "answers": people, "category": category,
        })  # fmt: skip

    black = Pillow.new("RGB", (96, 96), (8, 8, 8))
    for number in range(3):
        picture, first = scene_with("vizwiz", number)
        add(
            picture.image,
            f"What color is this {first.shape}?",
            "other",
            (first.color, 6),
            (f"light {first.color}", 3),
            ("unanswerable", 1),
        )
        add(
            picture.image,
            f"is there a {first.shape} in front of me please?",
            "yes/no",
            ("yes", 7 + number),
            ("unanswerable", 3 - number),
        )
    add(
        page("TOMATO SOUP\n400 g"),
        "What's in this can? Thank you.",
        "other",
        ("tomato soup", 5),
        ("soup", 4),
        ("food", 1),
    )
    add(page("TOMATO SOUP\n400 g"), "How many grams?", "number", ("400", 8), ("400 g", 2))
    add(black, "What is this?", "unanswerable", ("unanswerable", 10))
    add(black, "Can you read the label?", "unanswerable", ("unanswerable", 7), ("unsuitable", 3))
    add(black, "Which of these is mine?", "other", *((word, 2) for word in ("left", "right", "both", "top", "red")))
    return [Sample("lmms-lab/VizWiz-VQA", "val", FEATURES, rows)]
