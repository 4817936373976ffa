"""SURDS: pictures of one shape or two and where they stand, as a folder of pictures with a file of rows, and as rows."""

import io
import json

from datasets import Sequence, Value
from drawing import COLORS, draw_shape
from PIL import Image, ImageDraw

from samples import Row, Sample, rng

NUMBERS = Sequence(Sequence(Value("int64")))
FEATURES = {
    "file_name": Value("string"), "descs": Sequence(Value("string")), "yaw_descs": Sequence(Value("string")),
    "bboxes2D": NUMBERS, "xy2Ds": NUMBERS, "depths": Sequence(Value("float64")), "distances": Sequence(Value("float64")),
}  # fmt: skip
TURNS = ("North", "East", "Southwest", "Northeast", "South")
OBJECTS = (
    ("CAM_FRONT", [("red", "square", 400, 4.5)]),
    ("CAM_FRONT", [("blue", "circle", 900, 9.0), ("green", "triangle", 400, 20.5)]),
    ("CAM_BACK", [("green", "cross", 1100, 11.5)]),
    ("CAM_BACK", [("black", "square", 300, 18.5)]),
    ("CAM_BACK", [("red", "circle", 700, 6.0), ("blue", "square", 760, 6.3)]),
    ("CAM_FRONT", [("purple", "star", 1200, 25.0)]),
)
"""Camera and objects: colour, shape, how far right, and how far away."""


def samples() -> list[Sample]:
    """Six pictures: two pairs of objects, and four that stand alone, of which two are asked about."""
    rows, files = list[Row](), dict[str, bytes]()
    for number, (camera, things) in enumerate(OBJECTS):
        image = Image.new("RGB", (160, 90), "white")
        pen = ImageDraw.Draw(image)
        name = f"image/{camera}/drawn_{number:04}_{camera}.webp"
        boxes, points = [], []
        for color, shape, x, depth in things:
            y, r = 45 - rng("surds", number).randrange(10), max(4, round(40 / depth))
            draw_shape(pen, shape, x // 10, y, r, COLORS[color])
            boxes.append([x - 10 * r, 10 * (y - r), x + 10 * r, 10 * (y + r)])
            points.append([x, 10 * y])
        stored = io.BytesIO()
        image.resize((1600, 900), Image.Resampling.NEAREST).save(stored, "WEBP", lossless=True)
        files[f"validation/{name}"] = stored.getvalue()
        rows.append({
            "file_name": name, "descs": [f"{color} {shape}" for color, shape, *_ in things],
            "yaw_descs": [TURNS[(number + place) % 5] for place in range(len(things))], "bboxes2D": boxes, "xy2Ds": points,
            "depths": [depth for *_, depth in things], "distances": [depth + 0.5 for *_, depth in things],
        })  # fmt: skip
    files["validation/metadata.jsonl"] = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    return [Sample("bonbon-rj/SURDS_eval", "validation", FEATURES, rows, files=files)]
