"""VisFactor: small drawn tests of sight, one for each kind of answer; an item of true or false has two questions."""

from datasets import Image, Sequence, Value
from drawing import COLORS, SHAPES, SIZE, draw_shape
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png
from samples._math import bars, cells, dots

TEXT = Value("string")
FEATURES = {
    "index": Value("int64"), "category_id": TEXT, "eval_index": Value("int64"), "question": TEXT, "additional": TEXT,
    "answer": TEXT, "image": Sequence(Image()),
}  # fmt: skip
FORM = '<br>Output: Respond only in this form: {"answer": YOUR_ANSWER}.'
TRUTH = FORM.replace("YOUR_ANSWER", "T or F")
HIDDEN = f"Figure 1:<br><IMAGE_0><br>Figure 2:<br><IMAGE_1><br>Is figure 1 one of the figures in figure 2?{TRUTH}"
SAME = f"<IMAGE_0><br>Is this the same picture?<br><IMAGE_1>{TRUTH}"


def shapes(*names: str, half: bool = False) -> Pillow.Image:
    """Shapes in a row. half: only their upper halves are seen."""
    image = Pillow.new("RGB", (SIZE, SIZE // 2), "white")
    pen = ImageDraw.Draw(image)
    for place, name in enumerate(names):
        draw_shape(pen, name, 20 + 28 * place, 24, 12, COLORS["blue"])
    if half:
        pen.rectangle((0, 24, SIZE, SIZE // 2), fill="white")
    return image


def samples() -> list[Sample]:
    """Nine tests with 16 questions."""
    asked: list[tuple[str, int, str, str | None, str, list[Pillow.Image]]] = []
    for item, (name, others) in enumerate((("star", SHAPES[:2]), ("cross", SHAPES[1:3]))):
        for whole in ((name, *others), others):
            answer = "T" if name in whole else "F"
            asked.append(("CF1", item, HIDDEN, None, answer, [shapes(name), shapes(*whole)]))
    for item, count in enumerate((4, 7)):
        asked += [("P3", item, SAME, None, "T", [dots(count), dots(count)]),
                  ("P3", item, SAME, None, "F", [dots(count), dots(count + 1)])]  # fmt: skip
    asked += [
        ("CS1", 0, f"<IMAGE_0><br>A part of the shape is missing. Name the shape.{FORM}", None, "Circle,Disc,Ball",
         [shapes("circle", half=True)]),
        ("CS2", 0, f"<IMAGE_0><br>Which word has lost a part?{FORM}", None, "triangle", [shapes("triangle")]),
        ("CF3", 0, f"<IMAGE_0><br>Where is the dark cell? Give (x, y), counted from 1 at the upper left.{FORM}", None, "(3, 2)",
         [cells(["....", "..#.", "...."])]),
        ("I3", 0, f"<IMAGE_0><br><IMAGE_1><br>To which of the two groups does this belong?<br><IMAGE_2>{FORM}", None, "2",
         [dots(3), bars([3], ["a"]), bars([5], ["a"])]),
        ("MA1", 0, f"<IMAGE_0><br>Which number stands at <ADDITIONAL_0>?{FORM}", "b", "52", [bars([17, 52], ["a", "b"])]),
        ("SS3", 0, f"<IMAGE_0><br>From <ADDITIONAL_0> to <ADDITIONAL_1>, how many bars are passed?{FORM}", "A;D", "2",
         [bars([2, 3, 1, 2], list("ABCD"))]),
        ("VZ3", 0, f"<IMAGE_0><br>Which letter has the bar of height <ADDITIONAL_0>?{FORM}", "4", "G",
         [bars([2, 4, 1], list("FGH"))]),
        ("VZ3", 1, f"<IMAGE_0><br>Is <ADDITIONAL_0> higher than <ADDITIONAL_1>?{TRUTH}", "H;F", "F",
         [bars([2, 4, 1], list("FGH"))]),
    ]  # fmt: skip
    rows: list[Row] = [
        {
            "index": index,
            "category_id": test,
            "eval_index": item,
            "question": question,
            "additional": more,
            "answer": answer,
            "image": [png(picture) for picture in pictures],
        }
        for index, (test, item, question, more, answer, pictures) in enumerate(asked)
    ]
    return [Sample("lmms-lab-encoder/visfactor", "test", FEATURES, rows)]
