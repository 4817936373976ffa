"""COCO captions, validation of 2017: drawn scenes with the sentences of five people."""

from datasets import Image, List, Value

from samples import Sample, png
from samples._captions import captions, pictures

TEXT = Value("string")
FEATURES = {
    "question_id": TEXT, "image": Image(), "question": TEXT, "answer": List(TEXT), "id": Value("int64"),
    "license": Value("int8"), "file_name": TEXT, "coco_url": TEXT, "height": Value("int32"), "width": Value("int32"),
    "date_captured": TEXT,
}  # fmt: skip
QUESTION = "Please carefully observe the image and come up with a caption for the image"


def samples() -> list[Sample]:
    """Eight pictures."""
    rows = []
    for place, scene in enumerate(pictures("coco_cap", count=8)):
        name = f"{place + 1:012}.jpg"
        rows.append({
            "question_id": name, "image": png(scene.image), "question": QUESTION,
            "answer": captions(scene, 5, "coco_cap", place), "id": place, "license": 1, "file_name": name, "coco_url": "",
            "height": 96, "width": 96, "date_captured": "",
        })  # fmt: skip
    return [Sample("lmms-lab/COCO-Caption2017", "val", FEATURES, rows)]
