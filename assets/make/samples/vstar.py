"""V* Bench: a small thing in a larger picture: its colour or shape, and which side of another thing it is on."""

from datasets import Image, Value
from drawing import COLORS, SHAPES, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

TEXT = Value("string")
FEATURES = {"image": Image(), "text": TEXT, "category": TEXT, "label": TEXT, "question_id": TEXT}
END = "\nAnswer with the option's letter from the given choices directly."


def samples() -> list[Sample]:
    """The test split: four questions a category."""
    rows: list[Row] = []
    for number in range(8):
        stream = rng("vstar", number)
        image = Pillow.new("RGB", (384, 288), "white")
        pen = ImageDraw.Draw(image)
        first, second = stream.sample(SHAPES, 2)
        color, other = stream.sample(list(COLORS), 2)
        left, right = sorted(stream.sample(range(20, 360, 40), 2))
        mirrored = stream.random() < 0.5
        at, beside = (right, left) if mirrored else (left, right)
        draw_shape(pen, first, at, stream.randint(20, 260), 6, COLORS[color])
        draw_shape(pen, second, beside, stream.randint(20, 260), 6, COLORS[other])
        if number < 4:
            question, category = f"What is the color of the {first}?", "direct_attributes"
            options = [color, *stream.sample([name for name in COLORS if name != color], 3)]
        else:
            question, category = f"Is the {first} on the left or right side of the {second}?", "relative_position"
            sides = ("right", "left") if mirrored else ("left", "right")
            options = [f"The {first} is on the {side} side of the {second}." for side in sides]
        answer = options[0]
        stream.shuffle(options)
        listed = "\n".join(f"({letter}) {option}" for letter, option in zip("ABCD", options, strict=False))
        rows.append({
            "image": png(image), "text": f"{question}\n{listed}{END}", "category": category,
            "label": "ABCD"[options.index(answer)], "question_id": str(number),
        })  # fmt: skip
    return [Sample("lmms-lab/vstar-bench", "test", FEATURES, rows)]
