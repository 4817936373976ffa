"""CountBenchQA: pictures of a known number of shapes, with a caption that names the number."""

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Sample, png, rng

FEATURES = {"image": Image(), "text": Value("string"), "question": Value("string"), "number": Value("int32")}
WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
COLORS = ("red", "blue", "green", "orange", "purple")


def _dots(number: int, color: str) -> Pillow.Image:
    """So many dots, each in another cell of a grid of 4 x 3."""
    made = Pillow.new("RGB", (128, 96), "white")
    pen, stream = ImageDraw.Draw(made), rng("countbenchqa", number)
    for cell in stream.sample(range(12), number):
        x, y = 32 * (cell % 4) + 16, 32 * (cell // 4) + 16
        pen.ellipse((x - 10, y - 10, x + 10, y + 10), fill=color)
    return made


def samples() -> list[Sample]:
    """The test split, one picture for each number from 2 to 10."""
    rows = []
    for number, word in enumerate(WORDS, 2):
        color = COLORS[number % len(COLORS)]
        question = f"How many {color} dots are there in the image?"
        caption = f"A set of {word} {color} dots on white paper"
        rows.append({"image": png(_dots(number, color)), "text": caption, "question": question, "number": number})
    return [Sample("vikhyatk/CountBenchQA", "test", FEATURES, rows)]
