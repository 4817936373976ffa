"""All-Angles Bench: pairs of questions on two drawn views, with data.json as the hub has it and the pictures in folders."""

import json

from datasets import Sequence, Value

from samples import Row, Sample, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "index": Value("int64"), "folder": TEXT, "category": TEXT, "pair_idx": TEXT, "image_path": Sequence(TEXT), "question": TEXT,
    "A": TEXT, "B": TEXT, "C": TEXT, "answer": TEXT, "sourced_dataset": TEXT,
}  # fmt: skip


def samples() -> list[Sample]:
    """Two pairs, and one question that is in none."""
    rows, files = list[Row](), dict[str, bytes]()
    for number in range(5):
        scene, folder = number // 2, f"egohumans/{number // 2:03}"
        paths = []
        for view in (1, 2):
            picture, first = scene_with("all_angles", 2 * scene + view)
            path = f"{folder}/cam{view:02}.png"
            files[path] = png(picture.image)["bytes"]
            paths.append(path)
        count = len([region for region in picture.regions if region.shape])
        options = [str(count), str(count + 1), str(count + 2)]
        rng("all_angles", number).shuffle(options)
        view = 1 + number % 2
        rows.append({
            "index": number, "folder": folder, "category": ("counting", "relative_direction")[scene % 2],
            "pair_idx": str(number ^ 1) if number < 4 else "", "image_path": paths if number % 2 == 0 else paths[::-1],
            "question": f"How many shapes does the second view have? It is view {3 - view} of the camera.",
            **dict(zip("ABC", options, strict=True)), "answer": "ABC"[options.index(str(count))], "sourced_dataset": "EgoHumans",
        })  # fmt: skip
    content = json.dumps(rows, indent=1).encode()
    return [Sample("ch-chenyu/All-Angles-Bench", "test", FEATURES, rows, files={"data.json": content, **files})]
