"""MeasureBench: gauges, thermometers, rulers and clocks whose reading is known; some have two scales."""

import json
import math
from typing import Any

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, page, png, rng

TEXT = Value("string")
FEATURES = {
    "question_id": TEXT, "question": TEXT, "image": Image(), "image_type": TEXT, "design": TEXT, "evaluator": TEXT,
    "evaluator_kwargs": TEXT, "meta_info": {"source": TEXT, "uploader": TEXT}, "split": TEXT,
}  # fmt: skip
KINDS: tuple[tuple[str, list[str]], ...] = (
    ("ammeter", ["A", "ampere"]),
    ("voltmeter", ["V", "volt"]),
    ("pressure_gauge", []),
)


def hand(pen: ImageDraw.ImageDraw, turn: float, length: float, width: int = 2) -> None:
    """A hand from the middle, turned so far round; 0 is up."""
    angle = 2 * math.pi * turn
    pen.line((48, 48, 48 + length * math.sin(angle), 48 - length * math.cos(angle)), "red", width)


def dial(marks: int, *hands: tuple[float, float]) -> Pillow.Image:
    """A round face with numbered marks, and hands (turn, length)."""
    image = Pillow.new("RGB", (96, 96), "white")
    pen = ImageDraw.Draw(image)
    pen.ellipse((3, 3, 93, 93), outline="black")
    for mark in range(marks):
        angle = 2 * math.pi * mark / marks
        label = str(mark or marks) if marks == 12 else str(mark)
        pen.text((45 + 36 * math.sin(angle), 43 - 36 * math.cos(angle)), label, fill="black")
    for turn, length in hands:
        hand(pen, turn, length)
    return image


def ruler(length: float) -> Pillow.Image:
    """A bar above a scale of 0 to 8 centimetres."""
    image = page("", (108, 48))
    pen = ImageDraw.Draw(image)
    pen.rectangle((8, 8, 8 + 12 * length, 16), fill="blue")
    for mark in range(9):
        pen.line((8 + 12 * mark, 20, 8 + 12 * mark, 28), "black")
        pen.text((6 + 12 * mark, 30), str(mark), fill="black")
    return image


def rows_of(split: str) -> list[Row]:
    """Three gauges, two clocks and two rulers."""
    rows = list[Row]()

    def add(kind: str, design: str, asked: str, picture: Pillow.Image, many: bool = False, **stated: Any) -> None:
        rule = "multi_interval_matching" if many else "interval_matching"
        rows.append({
            "question_id": f"{kind}_{len(rows)}", "question": asked, "image": png(picture), "image_type": kind,
            "design": design, "evaluator": rule, "evaluator_kwargs": json.dumps(stated),
            "meta_info": {"source": "drawn", "uploader": ""}, "split": split,
        })  # fmt: skip

    for kind, units in KINDS:
        value = rng("measurebench", split, kind).randrange(1, 19) / 2
        add(kind, "Dial", f"What is the reading of the {kind.replace('_', ' ')}?", dial(10, (value / 10, 30)),
            interval=[value - 0.25, value + 0.25], units=units)  # fmt: skip
    for _ in range(2):
        hour, minute = rng("measurebench", split, len(rows)).choices(range(1, 12), k=2)
        clock = dial(12, ((hour + minute / 12) / 12, 20), (minute / 12, 32))
        ends = [f"{hour}:{5 * minute - 1:02d}", f"{hour}:{5 * minute + 1:02d}"]
        add("clock", "Dial", "What time does the clock show?", clock, interval=ends, units=[])
    for _ in range(2):
        length = rng("measurebench", split, len(rows)).randrange(2, 15) / 2
        add("ruler", "Linear", "How long is the blue bar?", ruler(length), many=True,
            intervals=[[length - 0.1, length + 0.1], [10 * length - 1, 10 * length + 1]],
            units=[["cm", "centimeter"], ["mm", "millimeter"]])  # fmt: skip
    return rows


def samples() -> list[Sample]:
    """Both splits."""
    return [
        Sample("FlagEval/MeasureBench", split, FEATURES, rows_of(split)) for split in ("real_world", "synthetic_test")
    ]
