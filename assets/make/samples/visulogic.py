"""VisuLogic: puzzles in pictures; the rows are JSON lines and the pictures members of images.zip, as on the hub."""

import io
import json
import zipfile

from datasets import Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = {name: Value("string") for name in ("id", "image_path", "question", "label", "tag")}
TAGS = (
    "Quantitative Reasoning", "Spatial Reasoning", "Positional Reasoning", "Attribute Reasoning", "Stylistic Reasoning", "Other",
)  # fmt: skip
QUESTION = "From the four given options, select the most suitable one to fill in the question mark. A: A B: B C: C D: D"


def _puzzle(number: int) -> bytes:
    """A row of shapes that grow, a question mark, and four options."""
    made = Pillow.new("RGB", (128, 80), "white")
    pen, stream = ImageDraw.Draw(made), rng("visulogic", number)
    sides = [6, 10, 14]
    for place, side in enumerate(sides):
        x = 4 + 30 * place
        pen.rectangle((x, 6, x + side, 6 + side), outline="black")
    pen.text((100, 8), "?", fill="black")
    options = [18, 4, 8, 12]
    options.remove(18)
    stream.shuffle(options)
    options.insert(number % 4, 18)
    for place, side in enumerate(options):
        x = 4 + 30 * place
        pen.text((x, 38), "ABCD"[place], fill="black")
        pen.rectangle((x, 52, x + side, 52 + side), outline="black")
    content: bytes = png(made)["bytes"]
    return content


def samples() -> list[Sample]:
    """The rows, data.jsonl with the same rows, and the archive."""
    rows: list[Row] = [
        {
            "id": f"{number:05}",
            "image_path": f"images/{number:05}.png",
            "question": QUESTION,
            "label": "ABCD"[number % 4],
            "tag": tag,
        }
        for number, tag in enumerate(TAGS)
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, row in enumerate(rows):
            archive.writestr(zipfile.ZipInfo(row["image_path"]), _puzzle(number))
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    files = {"data.jsonl": lines, "images.zip": packed.getvalue()}
    return [Sample("VisuLogic/VisuLogic", "train", FEATURES, rows, files=files)]
