"""CountQA: four drawn fields of shapes with one question or two each, the second on a sum."""

from datasets import Image, Sequence, Value
from drawing import COLORS, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

TEXTS = Sequence(Value("string"))
FEATURES = {
    "image": Image(), "questions": TEXTS, "answers": TEXTS, "objects": TEXTS, "categories": TEXTS, "is_focused": Value("bool"),
}  # fmt: skip


def samples() -> list[Sample]:
    """Six questions on four pictures."""
    rows = list[Row]()
    for number in range(4):
        stream = rng("countqa", number)
        image = Pillow.new("RGB", (112, 112), "white")
        pen, cells = ImageDraw.Draw(image), stream.sample(range(49), 22 + 2 * number)
        red = stream.randrange(3, 22)
        for place, cell in enumerate(cells):
            shape, color = ("circle", "red") if place < red else ("square", "blue")
            draw_shape(pen, shape, 8 + cell % 7 * 16, 8 + cell // 7 * 16, 6, COLORS[color])
        asked = [("How many red circles are there?", red), ("How many circles and squares are there?", len(cells))]
        asked = asked[: 1 + number % 2]
        rows.append({
            "image": png(image), "questions": [question for question, _ in asked], "answers": [str(count) for _, count in asked],
            "objects": ["circles", "squares"], "categories": ["Drawings"], "is_focused": number < 2,
        })  # fmt: skip
    return [Sample("Jayant-Sravan/CountQA", "test", FEATURES, rows)]
