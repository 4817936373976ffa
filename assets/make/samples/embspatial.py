"""EmbSpatial-Bench: coloured shapes that stand beside, above, near or far, three questions for each of three sources."""

from datasets import Image, Sequence, Value
from drawing import COLORS, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

TEXT = Value("string")
FEATURES = {
    "data_source": TEXT, "question_id": TEXT, "question": TEXT, "relation": TEXT, "image": Image(),
    "answer_options": Sequence(TEXT), "answer": Value("int64"),
}  # fmt: skip
SOURCES = ("mp3d", "ai2thor", "scannet")
PAIRS = {"left": (22, 48, 74, 48), "right": (74, 48, 22, 48), "above": (48, 22, 48, 74), "under": (48, 74, 48, 22)}
"""Where the star and the circle stand, for what the star is to the circle."""
SIDES = ("to the left of", "to the right of", "above", "under")


def shapes(*things: tuple[str, str, float, float, float]) -> Pillow.Image:
    """A picture of things (shape, colour, x, y, radius)."""
    image = Pillow.new("RGB", (96, 96), "white")
    for shape, color, x, y, radius in things:
        draw_shape(ImageDraw.Draw(image), shape, x, y, radius, COLORS[color])
    return image


def samples() -> list[Sample]:
    """The test split."""
    rows = list[Row]()

    def add(relation: str, question: str, options: list[str], right: str, picture: Pillow.Image) -> None:
        source = SOURCES[len(rows) % 3]
        stream = rng("embspatial", len(rows))
        shown = stream.sample(options, 4)
        rows.append({
            "data_source": source, "question_id": f"{source}_{len(rows)}", "question": question, "relation": relation,
            "image": png(picture), "answer_options": shown, "answer": shown.index(right),
        })  # fmt: skip

    for (relation, (x, y, u, v)), side in zip(PAIRS.items(), SIDES, strict=True):
        options = [f"The star is {each} the circle." for each in SIDES]
        asked = "How are star and circle positioned in relation to each other in the image?"
        add(relation, asked, options, f"The star is {side} the circle.",
            shapes(("star", "red", x, y, 14), ("circle", "blue", u, v, 14)))  # fmt: skip
    for place in range(5):
        relation, word = (("close", "shortest"), ("far", "longest"))[place % 2]
        colors = rng("embspatial colors", place).sample(list(COLORS), 4)
        radii = dict(zip(colors, rng("embspatial sizes", place).sample((6, 10, 15, 21), 4), strict=True))
        right = (max if relation == "close" else min)(radii, key=lambda color: radii[color])
        corners = ((24, 24), (72, 24), (24, 72), (72, 72))
        things = [("circle", color, *corner, radii[color]) for color, corner in zip(colors, corners, strict=True)]
        asked = f"From your perspective, which of the equal balls is at the {word} distance?"
        add(relation, asked, [f"{color} ball" for color in colors], f"{right} ball", shapes(*things))
    return [Sample("FlagEval/EmbSpatial-Bench", "test", FEATURES, rows)]
