"""CV-Bench: counts and relations of coloured shapes, and depth and distance of balls, with the boxes of what is asked for."""

from datasets import Image, Sequence, Value
from drawing import COLORS, SHAPES, SIZE, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = {
    "idx": Value("int64"), "type": Value("string"), "task": Value("string"), "image": Image(),
    "question": Value("string"), "choices": Sequence(Value("string")), "answer": Value("string"),
    **dict.fromkeys(("prompt", "filename", "source", "source_dataset", "source_filename", "target_class"), Value("string")),
    "target_size": Sequence(Value("int64")), "bbox": Sequence(Sequence(Value("float64"))),
}  # fmt: skip
Ball = tuple[str, str, float, float, float]


def balls(*things: Ball) -> tuple[Pillow.Image, list[list[float]]]:
    """A picture of things (shape, colour, x, y, radius) and their boxes."""
    image = Pillow.new("RGB", (SIZE, SIZE), "white")
    pen = ImageDraw.Draw(image)
    return image, [list(draw_shape(pen, shape, x, y, r, COLORS[color])) for shape, color, x, y, r in things]


def samples() -> list[Sample]:
    rows: list[Row] = []

    def add(
        of: tuple[str, str, str],
        made: tuple[Pillow.Image, list[list[float]]],
        question: str,
        right: str,
        options: list[str],
    ) -> None:
        kind, task, source = of
        image, boxes = made
        lettered = [f"({letter}) {option}" for letter, option in zip("ABCDEF", options, strict=False)]
        rows.append({
            "idx": len(rows), "type": kind, "task": task, "image": png(image), "question": question, "choices": options,
            "answer": lettered[options.index(right)][:3],
            "prompt": "\n".join((f"{question} Select from the following choices.", *lettered)),
            "filename": f"img/{kind}/{task.lower()}/{source.lower()}_{len(rows)}.png", "source": source,
            "source_dataset": "made", "source_filename": f"{len(rows)}.png", "target_class": None,
            "target_size": [SIZE, SIZE], "bbox": boxes,
        })  # fmt: skip

    for source in ("ADE20K", "COCO"):
        for number in range(2):
            stream = rng("cv_bench", source, number)
            count, shape = stream.randint(1, 4), stream.choice(SHAPES)
            things = [(shape, stream.choice(list(COLORS)), 18.0 + 20 * place, 30.0, 9.0) for place in range(count)]
            options = [str(value) for value in stream.sample(range(6), 6)]
            add(
                ("2D", "Count", source),
                balls(*things),
                f"How many shapes of the kind {shape} are in the image?",
                str(count),
                options,
            )
            above = stream.random() < 0.5
            pair = balls(("star", "red", 48, 24 if above else 72, 16), ("circle", "blue", 48, 72 if above else 24, 16))
            question = "Where is the star with respect to the circle?"
            add(("2D", "Relation", source), pair, question, "above" if above else "below", ["above", "below"])
    for number in range(3):
        stream = rng("cv_bench", "Omni3D", number)
        colors = stream.sample(list(COLORS), 3)
        radii = stream.sample((6, 12, 20), 2)
        pair = balls(
            *(("circle", color, x, 60.0, float(r)) for color, x, r in zip(colors, (26, 72), radii, strict=False))
        )
        question = f"Which of two equal balls is closer to the camera, the {colors[0]} or the {colors[1]} one?"
        add(("3D", "Depth", "Omni3D"), pair, question, colors[radii.index(max(radii))], colors[:2])
        places = (12.0, *stream.sample((34.0, 84.0), 2))
        three = balls(*(("circle", color, x, 48.0, 8.0) for color, x in zip(colors, places, strict=True)))
        question = f"Which ball is closer to the {colors[0]} ball, the {colors[1]} or the {colors[2]} one?"
        add(("3D", "Distance", "Omni3D"), three, question, colors[1 + places[1:].index(34.0)], colors[1:])
    kinds = {"2D": [row for row in rows if row["type"] == "2D"], "3D": [row for row in rows if row["type"] == "3D"]}
    hub = "nyu-visionx/CV-Bench"
    return [
        Sample(hub, "test", FEATURES, rows),
        *(Sample(hub, "test", FEATURES, kind[:2], name) for name, kind in kinds.items()),
    ]
