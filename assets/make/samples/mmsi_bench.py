"""MMSI-Bench: two or three views of a drawn room for each of the eleven types of questions."""

from datasets import Image, Sequence, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = {
    "id": Value("int64"), "images": Sequence(Image()), "question_type": Value("string"), "question": Value("string"),
    "answer": Value("string"), "thought": Value("string"),
}  # fmt: skip
TYPES = (
    "Positional Relationship (Obj.–Obj.)", "Positional Relationship (Cam.–Obj.)", "Positional Relationship (Cam.–Cam.)",
    "Positional Relationship (Obj.–Reg.)", "Positional Relationship (Cam.–Reg.)", "Positional Relationship (Reg.–Reg.)",
    "Attribute (Meas.)", "Attribute (Appr.)", "Motion (Obj.)", "Motion (Cam.)", "MSR",
)  # fmt: skip


def _views(number: int, count: int) -> list[Row]:
    """A red box that moves to the right between the views."""
    stream = rng("mmsi_bench", number)
    top, left = stream.randint(20, 44), stream.randint(4, 16)
    views = []
    for view in range(count):
        made = Pillow.new("RGB", (96, 72), "white")
        pen = ImageDraw.Draw(made)
        pen.line((0, 64, 96, 64), fill="gray", width=2)
        x = left + view * 20
        pen.rectangle((x, top, x + 16, top + 16), fill="red")
        views.append(png(made))
    return views


def samples() -> list[Sample]:
    """The test split."""
    rows = []
    for number, kind in enumerate(TYPES):
        right = "ABCD"[number % 4]
        options = ["left", "up", "down"]
        options.insert(number % 4, "right")
        listed = ", ".join(f"{letter}: {text}" for letter, text in zip("ABCD", options, strict=True))
        rows.append({
            "id": number, "images": _views(number, 3 if kind == "MSR" else 2), "question_type": kind,
            "question": f"The pictures are views of one room. Where does the red box move?\nOptions: {listed}",
            "answer": right, "thought": "The box is further to the right in each view.",
        })  # fmt: skip
    return [Sample("RunsenXu/MMSI-Bench", "test", FEATURES, rows)]
