"""MedXpertQA: questions on drawn charts of patients; the pictures are members of images.zip, as on the hub."""

import io
import zipfile

from datasets import Sequence, Value
from PIL import Image as Pillow

from samples import Row, Sample, page, png, rng
from samples._math import bars, clock, dots

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "question": TEXT, "options": dict.fromkeys("ABCDE", TEXT), "label": TEXT, "images": Sequence(TEXT),
    "medical_task": TEXT, "body_system": TEXT, "question_type": TEXT,
}  # fmt: skip
ASKED: list[tuple[str, str, list[str], list[Pillow.Image], tuple[str, str, str]]] = [
    ("The chart shows a patient's temperature on four days, in degrees above 36. On which day is the fever highest?",
     "Day 3", ["Day 1", "Day 2", "Day 4", "On no day"], [bars([1, 2, 4, 3], ["1", "2", "3", "4"])],
     ("Diagnosis", "Immune", "Understanding")),
    ("How many spots are on the skin in the drawing?", "6", ["4", "5", "7", "9"], [dots(6)],
     ("Basic Science", "Integumentary", "Understanding")),
    ("Figure A shows when a tablet was taken, Figure B the label of its box. When is the next tablet taken?", "2 o'clock",
     ["8 o'clock", "10 o'clock", "12 o'clock", "4 o'clock"], [clock(10, 0), page("TABLETS\nOne every\n4 hours")],
     ("Treatment", "Nervous", "Reasoning")),
    ("The charts show the pulse at rest of two patients, A and B, in tens of beats a minute, on three days. Who needs help?",
     "B, since the pulse rises each day",
     ["A, since the pulse rises each day", "A, since the pulse falls", "B, since the pulse falls", "None, both are steady"],
     [bars([7, 7, 7], list("123")), bars([7, 9, 12], list("123"))],
     ("Diagnosis", "Cardiovascular", "Reasoning")),
]  # fmt: skip


def samples() -> list[Sample]:
    """The test split, and the archive of its pictures."""
    rows, packed = list[Row](), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, (question, right, wrong, pictures, (task, system, kind)) in enumerate(ASKED):
            options = rng("medxpertqa", number).sample([right, *wrong], 5)
            named = dict(zip("ABCDE", options, strict=True))
            listed = " ".join(f"({letter}) {text}" for letter, text in named.items())
            names = [f"MM-{number}-{letter}.png" for letter, _ in zip("abcdef", pictures, strict=False)]
            for name, picture in zip(names, pictures, strict=True):
                archive.writestr(zipfile.ZipInfo(f"images/{name}"), png(picture)["bytes"])
            rows.append({
                "id": f"MM-{number}", "question": f"{question}\nAnswer Choices: {listed}", "options": named,
                "label": "ABCDE"[options.index(right)], "images": names, "medical_task": task, "body_system": system,
                "question_type": kind,
            })  # fmt: skip
    return [Sample("TsinghuaC3I/MedXpertQA", "test", FEATURES, rows, "MM", {"images.zip": packed.getvalue()})]
