"""PixMo-Count: pictures of a known number of shapes."""

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Sample, png, rng

FEATURES = {"image": Image(), "question": Value("string"), "answer": Value("string")}
KINDS = ("circles", "squares")
COLORS = ("navy", "orange", "green")


def _shapes(number: int, kind: str, color: str) -> Pillow.Image:
    """So many shapes, each in another cell of a grid of 4 x 3."""
    made = Pillow.new("RGB", (120, 90), "white")
    pen, stream = ImageDraw.Draw(made), rng("pixmo_count", number)
    for cell in stream.sample(range(12), number):
        x, y = 30 * (cell % 4) + 15, 30 * (cell // 4) + 15
        (pen.ellipse if kind == "circles" else pen.rectangle)((x - 10, y - 10, x + 10, y + 10), fill=color)
    return made


def samples() -> list[Sample]:
    """The test split, one picture for each number from 2 to 10."""
    rows = []
    for number in range(2, 11):
        kind, color = KINDS[number % 2], COLORS[number % 3]
        question = f"<image>How many {color} {kind} are there in the image?"
        rows.append({"image": png(_shapes(number, kind, color)), "question": question, "answer": str(number)})
    return [Sample("kcz358/pixmo-count", "test", FEATURES, rows)]
