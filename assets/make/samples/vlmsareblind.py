"""BlindTest: small figures for each of its nine subtasks."""

from collections.abc import Callable

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Sample, png

FEATURES = {
    "task": Value("string"), "image": Image(), "prompt": Value("string"), "groundtruth": Value("string"),
    "metadata": Value("string"),
}  # fmt: skip
Pen = ImageDraw.ImageDraw
BRACKETS = "Answer with a number in curly brackets, e.g., {5}."


def _circles(pen: Pen, centres: list[tuple[int, int]], radius: int) -> None:
    for x, y in centres:
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), outline="black", width=2)


def _pentagons(pen: Pen, count: int) -> None:
    for n in range(count):
        x = 16 + 17 * n
        pen.polygon([(x, 24), (x + 12, 34), (x + 8, 50), (x - 8, 50), (x - 12, 34)], outline="black")


def _grid(pen: Pen, rows: int, columns: int, word: str = "") -> None:
    for row in range(rows):
        for column in range(columns):
            corner = (4 + 22 * column, 4 + 16 * row)
            pen.rectangle((*corner, corner[0] + 22, corner[1] + 16), outline="black")
            pen.text((corner[0] + 3, corner[1] + 2), word, fill="black")


def _word(pen: Pen) -> None:
    pen.text((20, 30), "l e m o n", fill="black")
    pen.ellipse((42, 28, 56, 44), outline="red", width=2)


FIGURES: list[tuple[str, str, str, Callable[[Pen], object]]] = [
    ("Line Plot Intersections", f"How many times do the blue and red lines touch each other? {BRACKETS}", "1",
     lambda pen: (pen.line((5, 5, 90, 70), fill="blue"), pen.line((5, 70, 90, 5), fill="red"))),  # type: ignore[func-returns-value]
    ("Line Plot Intersections", f"How many times do the blue and red lines touch each other? {BRACKETS}", "0",
     lambda pen: (pen.line((5, 5, 90, 10), fill="blue"), pen.line((5, 70, 90, 40), fill="red"))),  # type: ignore[func-returns-value]
    ("Touching Circles", "Are the two circles touching each other? Answer with Yes/No.", "Yes",
     lambda pen: _circles(pen, [(30, 40), (60, 40)], 16)),
    ("Touching Circles", "Are the two circles touching each other? Answer with Yes/No.", "No",
     lambda pen: _circles(pen, [(25, 40), (75, 40)], 16)),
    ("Circled Letter", "Which letter is being circled? Answer with the letter in curly brackets, e.g., {a}.", "m", _word),
    ("Olympic Counting - Circles", "How many circles are in the image? Answer with only the number in numerical format.", "3",
     lambda pen: _circles(pen, [(25, 30), (50, 30), (38, 50)], 15)),
    ("Olympic Counting - Pentagons", "How many pentagons are in the image? Answer with only the number in numerical format.", "5",
     lambda pen: _pentagons(pen, 5)),
    ("Nested Squares", f"How many squares are in the image? {BRACKETS}", "4",
     lambda pen: [pen.rectangle((5 + 8 * n, 5 + 8 * n, 75 - 8 * n, 75 - 8 * n), outline="black") for n in range(4)]),  # type: ignore[func-returns-value]
    ("Counting Grid - Blank Grids", "Count the number of rows and columns. For example, rows={5} columns={6}.", "3,4",
     lambda pen: _grid(pen, 3, 4)),
    ("Counting Grid - Word Grids", "Count the number of rows and columns. For example, rows={5} columns={6}.", "4,3",
     lambda pen: _grid(pen, 4, 3, "up")),
    ("Subway Connections", f"How many single-colored paths go from A to C? {BRACKETS}", "2",
     lambda pen: [pen.line((5, 20 + 20 * n, 90, 20 + 20 * n), fill=color, width=3) for n, color in enumerate(("red", "green"))]),  # type: ignore[func-returns-value]
]  # fmt: skip


def _drawn(draw: Callable[[Pen], object]) -> Pillow.Image:
    made = Pillow.new("RGB", (100, 80), "white")
    draw(ImageDraw.Draw(made))
    return made


def samples() -> list[Sample]:
    """The valid split."""
    rows = [
        {"task": task, "image": png(_drawn(draw)), "prompt": prompt, "groundtruth": truth, "metadata": "{}"}
        for task, prompt, truth, draw in FIGURES
    ]
    return [Sample("XAI/vlmsareblind", "valid", FEATURES, rows)]
