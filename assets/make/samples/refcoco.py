"""RefCOCO, RefCOCO+ and RefCOCOg: shapes in a picture, each with the expressions that name it."""

from collections.abc import Iterator

from datasets import Image, Sequence, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = {
    "question_id": Value("string"), "image": Image(), "question": Value("string"), "answer": Sequence(Value("string")),
    "segmentation": Sequence(Value("float32")), "bbox": Sequence(Value("float32")), "iscrowd": Value("int8"),
    "file_name": Value("string"),
}  # fmt: skip
QUESTION = "Please carefully observe the area circled in the image and come up with a caption for the area."
COLORS = ("red", "blue", "green", "orange")
SPLITS = {
    "RefCOCO": {"val": 2, "testA": 2, "testB": 2}, "RefCOCOplus": {"val": 2, "testA": 2, "testB": 2},
    "RefCOCOg": {"val": 3, "test": 3},
}  # fmt: skip


def _expressions(hub: str, color: str, shape: str, left: int, other: int) -> list[str]:
    """One to three expressions, as the benchmark's authors collected them."""
    side = "left" if left < other else "right"
    return {
        "RefCOCO": [f"{side} {shape}", color, f"{color} {shape} on the {side}"],
        "RefCOCOplus": [f"{color} {shape}", f"the {shape} that is {color}"],
        "RefCOCOg": [f"a {color} {shape} on white paper next to another shape"],
    }[hub]


def _objects(hub: str, split: str, number: int) -> Iterator[Row]:
    """The two objects of a picture, a row each."""
    stream = rng("refcoco", hub, split, number)
    size = stream.choice([(160, 120), (120, 160), (150, 90)])
    picture = Pillow.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    boxes, colors = [], stream.sample(COLORS, 2)
    for side, shape in enumerate(("circle", "square")):
        wide, high = stream.randint(24, size[0] // 2 - 12), stream.randint(20, size[1] // 2)
        left = side * size[0] // 2 + stream.randint(2, size[0] // 2 - wide - 2)
        top = stream.randint(2, size[1] - high - 2)
        corners = (left, top, left + wide, top + high)
        (pen.ellipse if shape == "circle" else pen.rectangle)(corners, fill=colors[side])
        boxes.append((shape, left, top, wide, high))
    for side, (shape, left, top, wide, high) in enumerate(boxes):
        yield {
            "question_id": f"{number}{side}",
            "image": png(picture),
            "question": QUESTION,
            "answer": _expressions(hub, colors[side], shape, left, boxes[1 - side][1]),
            "segmentation": [left, top, left + wide, top, left + wide, top + high, left, top + high],
            "bbox": [left, top, wide, high],
            "iscrowd": 0,
            "file_name": f"COCO_train2014_{split}{number:06}_{side}.jpg",
        }


def samples() -> list[Sample]:
    """All splits of the three benchmarks."""
    return [
        Sample(
            f"lmms-lab-encoder/{hub}", split, FEATURES, [row for n in range(count) for row in _objects(hub, split, n)]
        )
        for hub, splits in SPLITS.items()
        for split, count in splits.items()
    ]
