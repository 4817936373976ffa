"""TIR-Bench: a question of each of seven kinds on drawn pictures, one of them on two, as the authors' JSON file and as rows."""

import io
import json
from typing import Any

from datasets import Value
from drawing import COLORS, draw_shape
from PIL import Image, ImageDraw

from samples import Row, Sample, page, rng
from samples._movies import zipped

TEXT = Value("string")
FEATURES = {
    "id": Value("int64"), "task": TEXT, "prompt": TEXT, "answer": TEXT, "image_1": TEXT, "image_2": TEXT,
    "meta_data": {"difficulty": Value("int64")},
}  # fmt: skip


def shapes(places: list[int]) -> Image.Image:
    """A field of nine places, with a shape in these."""
    image = Image.new("RGB", (96, 96), "white")
    for place in places:
        draw_shape(ImageDraw.Draw(image), "circle", 16 + place % 3 * 32, 16 + place // 3 * 32, 10, COLORS["red"])
    return image


def jigsaw(order: list[int]) -> Image.Image:
    """Four numbered pieces of a triangle in this order."""
    whole = Image.new("RGB", (96, 96), "white")
    draw_shape(ImageDraw.Draw(whole), "triangle", 48, 48, 40, COLORS["blue"])
    mixed = whole.copy()
    for place, piece in enumerate(order):
        box = (piece % 2 * 48, piece // 2 * 48, piece % 2 * 48 + 48, piece // 2 * 48 + 48)
        mixed.paste(whole.crop(box), (place % 2 * 48, place // 2 * 48))
        ImageDraw.Draw(mixed).text((place % 2 * 48 + 2, place // 2 * 48 + 1), str(place + 1), fill="black")
    return mixed


def samples() -> list[Sample]:
    """Seven questions."""
    rows, pictures = list[Row](), dict[str, bytes]()

    def add(task: str, asked: str, answer: str, *images: Image.Image, difficulty: int | None = None) -> None:
        names = list[str]()
        for image in images:
            stored = io.BytesIO()
            image.convert("RGB").save(stored, "JPEG", quality=40)
            names.append(f"data/{task}/{len(rows)}_{len(names)}.jpg")
            pictures[names[-1]] = stored.getvalue()
        meta: dict[str, Any] | None = {"difficulty": difficulty} if difficulty else None
        rows.append({
            "id": len(rows), "task": task, "prompt": asked, "answer": answer, "image_1": names[0],
            "image_2": names[1] if len(names) > 1 else None, "meta_data": meta,
        })  # fmt: skip

    stream = rng("tir_bench")
    few, more = sorted(stream.sample(range(9), 4)), sorted(stream.sample(range(9), 5))
    add("color", "Which color has the circle? A. blue B. red C. green D. black", "B", shapes([4]))
    add("contrast", "How many circles are in the image?", str(len(more)), shapes(more))
    add("word_search", "In which row and column is the circle? Answer as [row, column].", "[2, 3]", shapes([5]))
    differ = sorted(place + 1 for place in {*few} ^ {*more})
    add(
        "spot_difference",
        "Which of the nine places differ? Answer with a list.",
        str(differ),
        shapes(few),
        shapes(more),
    )
    order = [2, 0, 3, 1]
    pieces = ", ".join(str(order.index(piece) + 1) for piece in range(4))
    add("jigsaw", "In what order should the numbered pieces be arranged?", pieces, jigsaw(order), difficulty=2)
    add("ocr", "What word is in the image?", "taxi", page("taxi", (96, 48)).rotate(180))
    add("instrument", "How much is marked? Give one decimal place.", "2.5", page("|----|--x-|", (96, 48)))
    files = {"TIR-Bench.json": json.dumps(rows, indent=1).encode(), "data.zip": zipped(pictures)}
    return [Sample("Agents-X/TIR-Bench", "test", FEATURES, rows, files=files)]
