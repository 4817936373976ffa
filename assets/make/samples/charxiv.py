"""CharXiv's schema: drawn charts, each with four descriptive questions from its templates and one that needs reasoning."""

from collections.abc import Sequence
from typing import Any

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png

HUB_ID = "princeton-nlp/CharXiv"
TEXT, NUMBER = Value("string"), Value("int64")
FEATURES: dict[str, Any] = {
    "image": Image(),
    **dict.fromkeys(("category", "year", "original_figure_path", "original_id", "figure_path"), TEXT),
    **dict.fromkeys(("num_subplots", "subplot_row", "subplot_col"), NUMBER),
    "subplot_loc": TEXT,
    **{f"descriptive_{kind}{n}": NUMBER if kind == "q" else TEXT for n in range(1, 5) for kind in "qa"},
    **{"reasoning_q": TEXT, "reasoning_q_source": NUMBER, "reasoning_a": TEXT, "reasoning_a_type": NUMBER},
}
COLORS = ("navy", "crimson", "seagreen", "darkorange")
WIDE, TALL = 150, 110
Lines = dict[str, Sequence[float]]


def _plot(pen: ImageDraw.ImageDraw, left: int, title: str, axes: tuple[str, str], lines: Lines, legend: bool) -> None:
    """Lines over the ticks 0, 1, 2 and so on; the vertical axis is marked at 0, 5 and 10."""
    pen.text((left + 40, 2), title, fill="black")
    pen.line((left + 26, 14, left + 26, 84, left + 140, 84), fill="black")
    for value in (0, 5, 10):
        pen.text((left + 10, 78 - 6.6 * value), str(value), fill="black")
    for value in range(len(next(iter(lines.values())))):
        pen.text((left + 26 + 26 * value, 86), str(value), fill="black")
    pen.text((left + 60, 97), axes[0], fill="black")
    pen.text((left, 2), axes[1], fill="black")
    for place, (name, values) in enumerate(lines.items()):
        points = [(left + 28 + 26 * n, 84 - 6.6 * value) for n, value in enumerate(values)]
        pen.line(points, fill=COLORS[place], width=2)
        if legend:
            pen.text((left + 118, 16 + 11 * place), name, fill=COLORS[place])


def chart(plots: Sequence[tuple[str, tuple[str, str], Lines, bool]]) -> Pillow.Image:
    """Line plots side by side. plots: title, names of the axes, lines, whether there is a legend."""
    image = Pillow.new("RGB", (WIDE * len(plots), TALL), "white")
    pen = ImageDraw.Draw(image)
    for place, (title, axes, lines, legend) in enumerate(plots):
        _plot(pen, WIDE * place, title, axes, lines, legend)
    return image


RISING, FALLING, FLAT = (1, 3, 6, 9), (9, 6, 4, 2), (5, 5, 5, 5)
LOSS: Lines = {"SGD": FALLING, "Adam": (8, 4, 2, 1)}
ONE = chart([("Loss", ("epoch", "loss"), LOSS, True)])
TWO = chart([("(a) Loss", ("epoch", "loss"), LOSS, True), ("(b) Score", ("epoch", "F1"), {"SGD": RISING}, False)])
CROSS = chart([("", ("time", "x"), {"u": RISING, "v": FALLING}, True)])
THREE = chart([(f"Run {n}", ("t", "y"), {"y": values}, False) for n, values in enumerate((RISING, FALLING, FLAT), 1)])
NA = "Not Applicable"
Figure = tuple[
    Pillow.Image, str, str, int, tuple[int, int], str | None, list[tuple[int, str]], tuple[str, int, str, int]
]  # fmt: skip
"""Picture, subject, year, number of subplots; row and column of the subplot, or its description; the questions."""
FIGURES: list[Figure] = [
    (ONE, "cs", "20", 1, (0, 0), None, [(1, "Loss"), (2, "epoch"), (10, "2"), (13, "SGD, Adam")],
     ("Which method has the lower loss at epoch 3?", 1, "Adam", 1)),
    (ONE, "stat", "21", 1, (0, 0), None, [(9, "5"), (15, NA), (18, "1 by 1"), (11, "No")],
     ("How does the loss of Adam change from epoch 0 to 3?", 2, "It decreases.", 2)),
    (TWO, "math", "22", 2, (1, 2), None, [(1, "(b) Score"), (3, "F1"), (12, NA), (18, "1 by 2")],
     ("What is the highest labeled tick of the vertical axes?", 3, "10", 3)),
    (TWO, "physics", "23", 2, (0, 0), "the left subplot", [(5, "3"), (6, "0"), (13, "SGD, Adam"), (19, "2")],
     ("What is the difference between the two losses at epoch 3?", 3, "1.0", 4)),
    (CROSS, "q-bio", "20", 1, (0, 0), None, [(1, NA), (4, "0"), (11, "Yes"), (17, "7")],
     ("Between which two ticks of the time do the curves meet?", 3, "1, 2", 1)),
    (CROSS, "q-fin", "21", 1, (0, 0), None, [(7, "10"), (8, "1"), (12, "2"), (14, NA)],
     ("How many curves end higher than they begin?", 2, "1", 4)),
    (THREE, "econ", "22", 3, (1, 3), None, [(16, "Stays constant"), (2, "t"), (15, NA), (19, "3")],
     ("In which run is the trend opposite to that of run 1?", 1, "Run 2", 1)),
    (THREE, "eess", "23", 3, (1, 2), None, [(16, "Decreases"), (1, "Run 2"), (10, "1"), (18, "1 by 3")],
     ("Is the trend of run 3 rising, falling or flat?", 2, "flat", 2)),
]  # fmt: skip


def samples() -> list[Sample]:
    rows: list[Row] = []
    for number, (picture, category, year, plots, place, described, four, reasoned) in enumerate(FIGURES):
        row: Row = {
            "image": png(picture),
            "category": category,
            "year": year,
            "original_figure_path": f"made/{number}.png",
            "original_id": f"{year}01.0000{number}",
            "figure_path": f"images/{number}.jpg",
            "num_subplots": plots,
            "subplot_row": None if described else place[0],
            "subplot_col": None if described else place[1],
            "subplot_loc": described,
        }
        for n, (kind, answer) in enumerate(four, 1):
            row |= {f"descriptive_q{n}": kind, f"descriptive_a{n}": answer}
        row |= dict(zip(list(FEATURES)[-4:], reasoned, strict=True))
        rows.append(row)
    return [Sample(HUB_ID, "validation", FEATURES, rows)]
