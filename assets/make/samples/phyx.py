"""PhyX: questions on a weight at a spring and on a ray at a mirror, with options and instruction in their text."""

import base64

from datasets import Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png, rng

FEATURES = dict.fromkeys(
    ("index", "question", "answer", "image", "category", "subfield", "reasoning_type"), Value("string")
)


def spring(force: int, stiffness: int) -> Pillow.Image:
    """A weight that hangs at a spring, with both numbers."""
    image = Pillow.new("RGB", (96, 96), "white")
    pen = ImageDraw.Draw(image)
    pen.line([(48 + 8 * (-1) ** turn, 6 + 6 * turn) for turn in range(8)], "black", 2)
    pen.rectangle((36, 50, 60, 74), fill="gray")
    pen.text((4, 80), f"{force} N", fill="black")
    pen.text((62, 20), f"{stiffness} N/m", fill="black")
    return image


def mirror(angle: int) -> Pillow.Image:
    """A ray that meets a mirror, with its angle to the normal."""
    image = Pillow.new("RGB", (96, 96), "white")
    pen = ImageDraw.Draw(image)
    pen.line((6, 80, 90, 80), "black", 3)
    pen.line((48, 10, 48, 80), "gray")
    pen.line((12, 20, 48, 80), "red", 2)
    pen.text((22, 8), str(angle), fill="red")
    return image


def samples() -> list[Sample]:
    """The two splits of multiple choice; the small one is the beginning of the other."""
    rows = list[Row]()
    for number in range(8):
        stream = rng("phyx", number)
        if number % 2:
            angle = stream.randrange(20, 60, 5)
            asked, unit, right, picture = (
                "At what angle to the normal does the ray leave?",
                "degrees",
                angle,
                mirror(angle),
            )
        else:
            right, stiffness = stream.randrange(2, 9), stream.choice((20, 50, 100))
            asked, unit, picture = (
                "By how many metres is the spring stretched?",
                "m",
                spring(right * stiffness, stiffness),
            )
        options = [right, *stream.sample([right + step for step in (-1, 1, 5, 10)], 3)]
        stream.shuffle(options)
        listed = "\n".join(f"{letter}: {option} {unit}" for letter, option in zip("ABCD", options, strict=True))
        rows.append({
            "index": str(number), "answer": "ABCD"[options.index(right)],
            "question": f"{asked}\n{listed}\nAnswer with the option's letter, as in: The correct answer is A.",
            "image": base64.b64encode(png(picture)["bytes"]).decode(), "category": ("Mechanics", "Optics")[number % 2],
            "subfield": ("Springs", "Mirrors")[number % 2], "reasoning_type": "['Numerical Reasoning']",
        })  # fmt: skip
    splits = (("phyx_mc", rows), ("phyx_mini_mc", rows[:4]))
    return [Sample("Cloudriver/PhyX", split, FEATURES, kept, "data_for_llms_eval") for split, kept in splits]
