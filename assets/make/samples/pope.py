"""POPE: pictures of coloured shapes with questions on what is there and what is not, in the three categories."""

from datasets import Image, Value
from drawing import SHAPES

from samples import Row, Sample, drawn, png, rng

CATEGORIES = ("adversarial", "popular", "random")
FEATURES = {
    **dict.fromkeys(("id", "question_id", "question", "answer", "image_source"), Value("string")),
    "image": Image(),
    "category": Value("string"),
}


def samples() -> list[Sample]:
    rows: list[Row] = []
    for category in CATEGORIES:
        for place in range(3):
            picture = drawn("scene", "pope", place)
            there = sorted({region.shape for region in picture.regions if region.shape})
            absent = [shape for shape in SHAPES if shape not in there]
            stream = rng("pope", category, place)
            for answer, shape in (("yes", stream.choice(there)), ("no", stream.choice(absent))):
                rows.append(
                    {
                        "id": str(len(rows)),
                        "question_id": str(len(rows) % 6 + 1),
                        "question": f"Is there a {shape} in the image?",
                        "answer": answer,
                        "image_source": f"made_{place}",
                        "image": png(picture.image),
                        "category": category,
                    }
                )
    full = [
        Sample("lmms-lab/POPE", category, FEATURES, [row for row in rows if row["category"] == category][:2], "Full")
        for category in CATEGORIES
    ]
    return [Sample("lmms-lab/POPE", "test", FEATURES, rows), *full]
