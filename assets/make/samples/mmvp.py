"""MMVP: drawn pictures in pairs, each with one question of two options and opposite answers."""

from datasets import Image, Value
from drawing import COLORS, SHAPES, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = {
    "Index": Value("int64"), "Question": Value("string"), "Options": Value("string"), "Correct Answer": Value("string"),
    "image": Image(),
}  # fmt: skip


def _picture(shape: str, color: str, across: int) -> Pillow.Image:
    made = Pillow.new("RGB", (96, 96), "white")
    draw_shape(ImageDraw.Draw(made), shape, across, 48, 14, COLORS[color])
    return made


def samples() -> list[Sample]:
    """Five pairs."""
    rows: list[Row] = []
    for number in range(5):
        stream = rng("mmvp", number)
        shape, (one, other) = stream.choice(SHAPES), stream.sample(list(COLORS), 2)
        question, texts, places = (
            (f"What color is the {shape}?", (one, other), (48, 48))
            if number % 2
            else (f"Is the {shape} on the left or on the right?", ("Left", "Right"), (24, 72))
        )
        for which in range(2):
            rows.append({
                "Index": len(rows) + 1, "Question": question, "Options": f"(a) {texts[0]} (b) {texts[1]}",
                "Correct Answer": "(a)" if which == 0 else "(b)",
                "image": png(_picture(shape, (one, other)[which] if number % 2 else one, places[which])),
            })  # fmt: skip
    return [Sample("lmms-lab-eval/MMVP", "train", FEATURES, rows)]
