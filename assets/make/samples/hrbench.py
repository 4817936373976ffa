"""HR-Bench: questions on one shape or on two in a picture, in the four rotations of their options; the pictures are small."""

import base64

from datasets import Value
from drawing import COLORS

from samples import Row, Sample, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {"index": Value("int64")} | dict.fromkeys(
    ("question", "answer", "category", "A", "B", "C", "D", "cycle_category", "image"), TEXT
)


def _questions(name: str) -> list[tuple[str, str, list[str], str]]:
    """(question, category, options of which the first is right, picture in base64)."""
    found = []
    for number in range(2):
        picture, first = scene_with(name, number)
        cell = base64.b64encode(png(picture.image)["bytes"]).decode()
        stream = rng(name, number)
        others = stream.sample([color for color in COLORS if color != first.color], 3)
        found.append((f"What is the color of the {first.shape}?", "single", [first.color, *others], cell))
        count = len([region for region in picture.regions if region.shape])
        counts = [str(count), *(str(other) for other in range(2, 8) if other != count)][:4]
        found.append(("How many shapes are in the picture?", "cross", counts, cell))
    return found


def samples() -> list[Sample]:
    """Both splits: four questions in four rotations."""
    made = []
    for split in ("hrbench_4k", "hrbench_8k"):
        rows: list[Row] = []
        for turn in range(4):
            for question, category, options, cell in _questions(split):
                turned = [*options[-turn:], *options[:-turn]] if turn else options
                rows.append({
                    "index": len(rows), "question": question, "answer": "ABCD"[turned.index(options[0])],
                    "category": category, **dict(zip("ABCD", turned, strict=True)), "cycle_category": str(turn), "image": cell,
                })  # fmt: skip
        made.append(Sample("DreamMr/HR-Bench", split, FEATURES, rows, "hrbench_version_split"))
    return made
