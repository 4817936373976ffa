"""TreeBench: questions on the shapes of a picture in base64, with options in a column and in columns of their own."""

import base64

from datasets import Value
from drawing import COLORS, SHAPES

from samples import Row, Sample, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {"index": Value("int64")} | dict.fromkeys(
    ("question", "multi-choice options", "A", "B", "C", "D", "answer", "category", "target_instances", "image"), TEXT
)
KINDS = ("Perception/Attributes", "Perception/Object Retrieval", "Reasoning/Comparison")


def samples() -> list[Sample]:
    """Two questions of each of three kinds."""
    rows = list[Row]()
    for number in range(6):
        picture, first = scene_with("treebench", number)
        stream = rng("treebench", number)
        kind = KINDS[number % 3]
        same = {region.shape for region in picture.regions if region.color == first.color}
        count = len([region for region in picture.regions if region.shape])
        asked, right, others = {
            KINDS[0]: (f"What is the color of the {first.shape}?", first.color, list(COLORS)),
            KINDS[1]: (f"Which shape is {first.color}?", first.shape, [each for each in SHAPES if each not in same]),
            KINDS[2]: ("How many shapes are there?", str(count), [str(other) for other in range(1, 8)]),
        }[kind]
        options = [right, *stream.sample([each for each in others if each != right], 3)]
        stream.shuffle(options)
        listed = dict(zip("ABCD", options, strict=True))
        rows.append({
            "index": number, "question": asked, **listed, "answer": "ABCD"[options.index(right)], "category": kind,
            "multi-choice options": "\n".join(f"{letter}. {text}" for letter, text in listed.items()),
            "target_instances": str([[int(edge) for edge in first.box]]),
            "image": base64.b64encode(png(picture.image)["bytes"]).decode(),
        })  # fmt: skip
    return [Sample("HaochenWang/TreeBench", "train", FEATURES, rows)]
