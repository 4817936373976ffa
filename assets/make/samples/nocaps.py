"""nocaps, validation: drawn scenes with the sentences of ten people."""

from datasets import Image, List, Value

from samples import Sample, png
from samples._captions import captions, pictures

TEXT, INT = Value("string"), Value("int32")
FEATURES = {
    "image": Image(), "image_coco_url": TEXT, "image_date_captured": TEXT, "image_file_name": TEXT, "image_height": INT,
    "image_width": INT, "image_id": INT, "image_license": Value("int8"), "image_open_images_id": TEXT,
    "annotations_ids": List(INT), "annotations_captions": List(TEXT),
}  # fmt: skip


def samples() -> list[Sample]:
    """Six pictures."""
    rows = []
    for place, scene in enumerate(pictures("nocaps", count=6)):
        rows.append({
            "image": png(scene.image), "image_coco_url": "", "image_date_captured": "", "image_file_name": f"{place:016x}.jpg",
            "image_height": 96, "image_width": 96, "image_id": place, "image_license": 0,
            "image_open_images_id": f"{place:016x}", "annotations_ids": list(range(10 * place, 10 * place + 10)),
            "annotations_captions": captions(scene, 10, "nocaps", place),
        })  # fmt: skip
    return [Sample("lmms-lab/NoCaps", "validation", FEATURES, rows)]
