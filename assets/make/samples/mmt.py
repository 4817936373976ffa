"""MMT-Bench: drawn pictures for five kinds of tasks in three groups, with two to nine options."""

from datasets import Image, Value
from drawing import COLORS, SHAPES
from PIL import Image as Pillow

from samples import Row, Sample, page, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
LETTERS = "ABCDEFGHI"
FEATURES = {
    "index": Value("int32"), "question": TEXT, "answer": TEXT, **dict.fromkeys(LETTERS, TEXT), "image": Image(),
    "category": TEXT, "l2-category": TEXT, "split": TEXT,
}  # fmt: skip


def samples() -> list[Sample]:
    """The val split: eight questions."""
    rows: list[Row] = []

    def add(kinds: tuple[str, str], picture: Pillow.Image, question: str, options: list[str]) -> None:
        listed = list(options)
        rng("mmt", len(rows)).shuffle(listed)
        rows.append({
            "index": len(rows), "question": question, "answer": LETTERS[listed.index(options[0])],
            **dict.fromkeys(LETTERS), **dict(zip(LETTERS, listed, strict=False)), "image": png(picture),
            "category": kinds[1], "l2-category": kinds[0], "split": "VAL",
        })  # fmt: skip

    for number in range(3):
        picture, first = scene_with("mmt", number)
        count = len([region for region in picture.regions if region.shape])
        if number < 2:
            others = [shape for shape in SHAPES if not any(region.shape == shape for region in picture.regions)][:1]
            add(
                ("visual_recognition", "shape_recognition"),
                picture.image,
                "Which shape is in the picture?",
                [first.shape, *others],
            )
        add(
            ("visual_recognition", "color_recognition"),
            picture.image,
            f"What color has the {first.shape}?",
            [first.color, *(color for color in COLORS if color != first.color)][:4],
        )
        add(
            ("counting", "counting_by_category"),
            picture.image,
            "How many shapes are there?",
            [str(count), *(str(n) for n in range(1, 12) if n != count)][:9],
        )
    add(("ocr", "font_recognition"), page("Aa Bb"), "Which letters are shown?", ["Aa Bb", "Cc Dd", "Ee Ff"])
    return [Sample("lmms-lab/MMT-Benchmark", "val", FEATURES, rows)]
