"""MMAR: questions on drawn sounds that follow each other, as the authors' lines of JSON with the clips beside them."""

import json

from datasets import Sequence, Value
from sounds import Sound, draw, questions

from samples import Row, Sample, rng
from samples._sound import encoded

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "audio_path": TEXT, "question": TEXT, "choices": Sequence(TEXT), "answer": TEXT, "modality": TEXT,
    "category": TEXT, "sub-category": TEXT, "language": TEXT, "source": TEXT, "url": TEXT, "timestamp": TEXT,
}  # fmt: skip
KINDS = {"tone": "sound", "beeps": "sound", "noise": "sound", "melody": "music", "word": "speech"}
LAYERS = {"order": "Semantic Layer", "melody": "Signal Layer", "word": "Perception Layer"}


def modality(sound: Sound) -> str:
    """As the authors name mixtures."""
    heard = {KINDS[mark.kind] for mark in sound.marks}
    parts = [part for part in ("sound", "music", "speech") if part in heard]
    return parts[0] if len(parts) == 1 else "-".join(["mix", *parts])


def samples() -> list[Sample]:
    """Two clips of each of three kinds."""
    rows, files = list[Row](), dict[str, bytes]()
    for number in range(6):
        kind = list(LAYERS)[number % 3]
        stream = rng("mmar", number)
        sound = draw(stream, kind)
        question = questions(sound, stream)[-1]
        name = f"mmeval{number}_00-00-00_00-00-03"
        files[f"audio/{name}.wav"] = encoded(sound.samples, "wav", 8000)
        rows.append({
            "id": name, "audio_path": f"./audio/{name}.wav", "question": question.text, "choices": list(question.options),
            "answer": question.answer, "modality": modality(sound), "category": LAYERS[kind], "sub-category": question.category,
            "language": "en" if kind == "word" else None, "source": "mm-eval", "url": "", "timestamp": "00:00:00,00:00:03",
        })  # fmt: skip
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"
    return [Sample("BoJack/MMAR", "test", FEATURES, rows, files={"MMAR-meta.jsonl": lines.encode(), **files})]
