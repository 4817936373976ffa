"""SLAKE: questions in English and Chinese on three drawn pictures, as the hub's JSON file and as rows."""

import io
import json

import scenes
from datasets import Sequence, Value

from samples import Row, Sample, rng
from samples._movies import zipped

TEXT, NUMBER = Value("string"), Value("int64")
FEATURES = {
    "img_id": NUMBER, "img_name": TEXT, "question": TEXT, "answer": TEXT, "q_lang": TEXT, "location": TEXT, "modality": TEXT,
    "answer_type": TEXT, "base_type": TEXT, "triple": Sequence(TEXT), "qid": NUMBER, "content_type": TEXT,
}  # fmt: skip


def samples() -> list[Sample]:
    """Four questions for each of three pictures."""
    rows, pictures = list[Row](), dict[str, bytes]()
    for number in range(3):
        scene = scenes.draw_scene(rng("scene", "slake", number))
        stored = io.BytesIO()
        scene.image.quantize(32).convert("RGB").save(stored, "JPEG", quality=40)
        name = f"xmlab{number}/source.jpg"
        pictures[f"imgs/{name}"] = stored.getvalue()
        thing = scene.things[0]
        for language, kind, content, asked, answer in (
            ("en", "OPEN", "Color", f"What is the color of one {thing.shape}?", thing.color.capitalize()),
            ("en", "CLOSED", "Organ", f"Does the picture contain a {thing.shape}?", "Yes"),
            ("zh", "OPEN", "Modality", "这张图片是怎样得到的？", "X-Ray" if number else "CT"),
            ("zh", "CLOSED", "Organ", "图片中包含大象吗？", "不包含"),
        ):
            rows.append({
                "img_id": number, "img_name": name, "question": asked, "answer": answer, "q_lang": language, "location": "Paper",
                "modality": "X-Ray" if number else "CT", "answer_type": kind, "base_type": "vqa", "triple": ["vhead", "_", "_"],
                "qid": len(rows), "content_type": content,
            })  # fmt: skip
    files = {"test.json": json.dumps(rows, ensure_ascii=False, indent=1).encode(), "imgs.zip": zipped(pictures)}
    return [Sample("BoKelvin/SLAKE", "test", FEATURES, rows, files=files)]
