"""OmniBench: a drawn scene and a voice that names a colour; the question needs both."""

from datasets import Audio, Image, Sequence, Value
from drawing import COLORS, SHAPES
from sounds import RATE, draw

from samples import Row, Sample, png, rng
from samples._sound import clip, said
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "index": Value("int64"), "task type": TEXT, "audio type": TEXT, "question": TEXT, "options": Sequence(TEXT), "answer": TEXT,
    "audio_path": TEXT, "image_path": TEXT, "image": Image(), "audio": Audio(sampling_rate=RATE), "image content": TEXT,
    "audio content": TEXT,
}  # fmt: skip
ASKED = {
    "Speech": ("Object Identification and Description", "Which shape has the color that is named?"),
    "Sound Event": ("Count and Quantity", "Which shape is there beside what is heard?"),
    "Music": ("Contextual and Environmental", "Which shape is there while the music plays?"),
}


def samples() -> list[Sample]:
    """Two questions with each kind of sound."""
    rows = list[Row]()
    for number in range(6):
        picture, region = scene_with("omnibench", number)
        stream = rng("omnibench", number)
        kind = list(ASKED)[number % 3]
        task, question = ASKED[kind]
        shown = {each.shape for each in picture.regions}
        others = [shape for shape in SHAPES if shape not in shown or kind == "Speech" and shape != region.shape]
        options = [str(region.shape), *stream.sample(others, min(3, len(others)))]
        options += list(COLORS)[: 4 - len(options)]
        stream.shuffle(options)
        wave = said(str(region.color), speaker=number % 4) if kind == "Speech" else None
        heard = wave if wave is not None else draw(stream, "beeps" if kind == "Sound Event" else "melody").samples
        rows.append({
            "index": number, "task type": task, "audio type": kind, "question": question, "options": options,
            "answer": str(region.shape), "audio_path": f"{number}.mp3", "image_path": f"{number}.png",
            "image": png(picture.image), "audio": clip(heard, str(number)), "image content": "a drawn scene",
            "audio content": f"The voice says {region.color}." if kind == "Speech" else kind,
        })  # fmt: skip
    return [Sample("m-a-p/OmniBench", "train", FEATURES, rows)]
