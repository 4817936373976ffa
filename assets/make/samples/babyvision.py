"""BabyVision's schema: small drawings to look at closely, a third of the questions with options, all four types."""

from typing import Any

from datasets import Image, Sequence, Value
from drawing import COLORS, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png
from samples._math import dots

TEXT = Value("string")
FEATURES: dict[str, Any] = {
    "taskId": Value("int64"), "image": Image(), "question": TEXT, "ansType": TEXT, "options": Sequence(TEXT),
    "choiceAns": Value("int64"), "blankAns": TEXT, "type": TEXT, "subtype": TEXT, "status": TEXT, "coT": TEXT,
}  # fmt: skip
LOOK, TRACK = "Fine-grained Discrimination", "Visual Tracking"
SPACE, PATTERN = "Spatial Perception", "Visual Pattern Recognition"


def grid(side: int, odd: tuple[int, int], shape: str = "star", other: str = "circle") -> Pillow.Image:
    """Equal shapes in rows and columns, one of them another. odd: its row and column, from 1."""
    image = Pillow.new("RGB", (24 * side, 24 * side), "white")
    for row in range(side):
        for column in range(side):
            kind = other if (row + 1, column + 1) == odd else shape
            draw_shape(ImageDraw.Draw(image), kind, 24 * column + 12, 24 * row + 12, 9, COLORS["blue"])
    return image


def lines(ends: dict[str, int]) -> Pillow.Image:
    """Letters on the left joined to numbers on the right."""
    image = Pillow.new("RGB", (120, 30 * len(ends)), "white")
    pen = ImageDraw.Draw(image)
    for place, (letter, number) in enumerate(ends.items()):
        pen.text((4, 30 * place + 10), letter, fill="black")
        pen.text((108, 30 * place + 10), str(place + 1), fill="black")
        pen.line((16, 30 * place + 15, 104, 30 * number - 15), fill="black")
    return image


def row_of(shapes: list[str]) -> Pillow.Image:
    """Shapes side by side."""
    image = Pillow.new("RGB", (28 * len(shapes), 28), "white")
    for place, shape in enumerate(shapes):
        draw_shape(ImageDraw.Draw(image), shape, 28 * place + 14, 14, 11, COLORS["red"])
    return image


ODD = "One of the {} shapes is different from the others. Which row and column is it in? The answer format is (x,y)."
LINE = "Which number is the letter {} joined to?"
QUESTIONS: list[tuple[Pillow.Image, str, list[str], str, str, str]] = [
    (grid(3, (2, 3)), ODD.format(9), [], "(2,3)", LOOK, "Find the different"),
    (grid(4, (4, 1), "square", "triangle"), ODD.format(16), [], "(4,1)", LOOK, "Find the different"),
    (row_of(["star", "circle", "square", "star"]), "Which two places show the same shape?",
     ["1 and 2", "1 and 4", "2 and 3"], "1 and 4", LOOK, "Find the same"),
    (lines({"A": 2, "B": 3, "C": 1}), LINE.format("A"), [], "2", TRACK, "Connect the lines"),
    (lines({"A": 3, "B": 1, "C": 2}), LINE.format("B"), [], "1", TRACK, "Connect the lines"),
    (dots(7), "How many dots are in the picture?", [], "7", SPACE, "Count 3D blocks"),
    (row_of(["circle", "star"]), "On which side of the circle is the star?", ["left", "right"], "right", SPACE, "3D Views"),
    (row_of(["star", "square", "star", "square"]), "Which shape comes next?", ["a circle", "a square", "a star"], "a star",
     PATTERN, "Logic Patterns"),
    (row_of(["circle", "circle", "triangle", "circle", "circle"]), "Which shape comes next?", [], "a triangle", PATTERN,
     "Logic Patterns"),
]  # fmt: skip


def samples() -> list[Sample]:
    """The only split."""
    rows: list[Row] = []
    for number, (picture, question, options, right, kind, subtype) in enumerate(QUESTIONS, 1):
        with_options = bool(options)
        rows.append({
            "taskId": number, "image": png(picture), "question": question, "ansType": "choice" if with_options else "blank",
            "options": options, "choiceAns": options.index(right) if with_options else None,
            "blankAns": None if with_options else right, "type": kind, "subtype": subtype, "status": "", "coT": "",
        })  # fmt: skip
    return [Sample("UnipatAI/BabyVision", "train", FEATURES, rows)]
