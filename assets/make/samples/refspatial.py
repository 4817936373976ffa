"""RefSpatial-Bench: three coloured shapes in a row; a mask covers one of them, or the free space below it."""

import io

from datasets import Image, Value
from drawing import COLORS, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = {
    "id": Value("int64"), "image": Image(), "mask": Image(), "object": Value("string"), "prompt": Value("string"),
    "suffix": Value("string"), "step": Value("int64"),
}  # fmt: skip
SUFFIX = (
    "Your answer should be formatted as a list of tuples, i.e. [(x1, y1)], where each tuple contains the x and y coordinates of "
    "a point satisfying the conditions above. The coordinates should be between 0 and 1, indicating the normalized pixel "
    "locations of the points."
)
SIZE = (120, 60)
SIDES = ("left", "middle", "right")


def _row(number: int, split: str) -> Row:
    """A question on one of three shapes; placement asks for the space below it."""
    colors = rng("refspatial", split, number).sample(list(COLORS), 3)
    image, mask = Pillow.new("RGB", SIZE, "white"), Pillow.new("L", SIZE, 0)
    for place, color in enumerate(colors):
        draw_shape(ImageDraw.Draw(image), "circle", 20 + 40 * place, 22, 12, COLORS[color])
    place = number % 3
    across = 20 + 40 * place
    thing, verb = f"the {colors[place]} circle", "Please point out"
    if split == "placement":
        thing, verb = f"the free space below the {colors[place]} circle", "Please point to"
        ImageDraw.Draw(mask).rectangle((across - 12, 40, across + 12, 58), fill=255)
    else:
        ImageDraw.Draw(mask).ellipse((across - 12, 10, across + 12, 34), fill=255)
    if split == "unseen":
        thing = f"the circle on the {SIDES[place]}"
    mask.save(stored := io.BytesIO(), "PNG", optimize=True)
    return {
        "id": number, "image": png(image), "mask": {"bytes": stored.getvalue(), "path": None}, "object": thing,
        "prompt": f"{verb} {thing}.", "suffix": SUFFIX, "step": 1 + number % 2,
    }  # fmt: skip


def samples() -> list[Sample]:
    """The three splits."""
    return [
        Sample("BAAI/RefSpatial-Bench", split, FEATURES, [_row(number, split) for number in range(count)])
        for split, count in (("location", 6), ("placement", 6), ("unseen", 3))
    ]
