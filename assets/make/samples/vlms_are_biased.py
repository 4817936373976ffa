"""VLMs Are Biased: two questions on a drawn picture of each of the seven topics, in which a well-known number was changed."""

from datasets import Image, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png
from samples._math import cells, dots

TEXT = Value("string")
FEATURES = {
    "image": Image(), "ID": TEXT, "image_path": TEXT, "topic": TEXT, "sub_topic": TEXT, "prompt": TEXT, "ground_truth": TEXT,
    "expected_bias": TEXT, "with_title": Value("bool"), "type_of_question": TEXT, "pixel": Value("int64"), "metadata": TEXT,
}  # fmt: skip
NUMBER, CHOICE = "Answer with a number in curly brackets, e.g., {9}.", "Answer in curly brackets, e.g., {Yes} or {No}."


def _drawn(*lines: tuple[int, int, int, int]) -> Pillow.Image:
    """A white picture with lines."""
    made = Pillow.new("RGB", (96, 96), "white")
    pen = ImageDraw.Draw(made)
    for line in lines:
        pen.line(line, fill="black", width=3)
    return made


FIGURES: list[tuple[str, str, str, str, str, Pillow.Image]] = [
    ("Animals", "Animal Add Legs", "legs does this animal have", "5", "4",
     _drawn((20, 40, 76, 40), (76, 40, 86, 24), *[(22 + 13 * n, 40, 22 + 13 * n, 80) for n in range(5)])),
    ("Logos", "Shoe Logos", "stripes are there on this shoe", "4", "3",
     _drawn((10, 70, 86, 70), *[(30 + 10 * n, 30, 40 + 10 * n, 66) for n in range(4)])),
    ("Flags", "Flags Stripes", "stripes are there in this flag", "12", "13",
     _drawn(*[(6, 8 + 7 * n, 90, 8 + 7 * n) for n in range(12)])),
    ("Chess Pieces", "Chess Pieces", "pieces are there on this board", "15", "16", dots(15)),
    ("Game Boards", "Sudoku Grid", "rows are there on this puzzle", "10", "9", cells(["." * 9] * 10)),
    ("Patterned Grid", "Dice Pattern", "circles are there in this cell", "2", "3", dots(2)),
]  # fmt: skip


def samples() -> list[Sample]:
    """The main split: questions Q1 and Q2."""
    rows = list[Row]()

    def add(topic: str, sub_topic: str, asked: str, truth: str, bias: str, picture: Pillow.Image) -> None:
        number, kind = len(rows) // 2 + 1, f"Q{len(rows) % 2 + 1}"
        name = f"{topic.replace(' ', '_').lower()}_{number:03}_notitle"
        rows.append({
            "image": png(picture), "ID": f"{name}_{kind}_px384", "image_path": f"images/{name}_px384.png", "topic": topic,
            "sub_topic": sub_topic, "prompt": asked, "ground_truth": truth, "expected_bias": bias, "with_title": False,
            "type_of_question": kind, "pixel": 384, "metadata": "{}",
        })  # fmt: skip

    for topic, sub_topic, asked, truth, bias, picture in FIGURES:
        things = asked.partition(" ")[0]
        add(topic, sub_topic, f"How many {asked}? {NUMBER}", truth, bias, picture)
        add(topic, sub_topic, f"Count the {things} in this picture. {NUMBER}", truth, bias, picture)
    lines, of = _drawn((14, 80, 82, 80), (48, 80, 48, 12)), ("Optical Illusion", "Vertical-Horizontal illusion")
    add(*of, f"Are the horizontal and vertical lines equal in length? {CHOICE}", "Yes", "No", lines)
    add(*of, f"Do the horizontal and vertical lines have the same length? {CHOICE}", "Yes", "No", lines)
    return [Sample("anvo25/vlms-are-biased", "main", FEATURES, rows)]
