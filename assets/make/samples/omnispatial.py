"""OmniSpatial: drawn pictures in one zip archive, a question of each task."""

import io
import zipfile

from datasets import Sequence, Value

from samples import Row, Sample, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "question": TEXT, "options": Sequence(TEXT), "gt": TEXT, "task_type": TEXT, "sub_task_type": TEXT,
    "image_path": TEXT,
}  # fmt: skip
KINDS = (
    ("Dynamic_Reasoning", "Manipulation"), ("Spatial_Interaction", "Localization"), ("Complex_Logic", "Pattern_Recognition"),
    ("Perspective_Taking", "Egocentric"),
)  # fmt: skip


def samples() -> list[Sample]:
    """Four questions with two to four options."""
    rows, packed = list[Row](), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (task, sub) in enumerate(KINDS):
            picture, first = scene_with("omnispatial", number)
            count = len([region for region in picture.regions if region.shape])
            options = [str(count), *(str(count + more) for more in (1, 2, 3))][: 2 + number % 3]
            right = options[0]
            rng("omnispatial", number).shuffle(options)
            name = f"{task}/{number}.png"
            archive.writestr(zipfile.ZipInfo(name), png(picture.image)["bytes"])
            rows.append({
                "id": f"{number}_0", "question": "How many shapes are there?", "options": options,
                "gt": "ABCD"[options.index(right)],
                "task_type": task, "sub_task_type": sub, "image_path": name,
            })  # fmt: skip
    return [Sample("pangyyyyy/OmniSpatial", "test", FEATURES, rows, files={"images.zip": packed.getvalue()})]
