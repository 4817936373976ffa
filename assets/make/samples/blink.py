"""BLINK: a question for each of its 14 configurations, on one to four pictures of coloured shapes with points A to D."""

from datasets import Image, Sequence, Value
from drawing import COLORS, SIZE, draw_shape, draw_text
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png

FEATURES = {
    "idx": Value("string"), "question": Value("string"), "sub_task": Value("string"),
    **{f"image_{number}": Image() for number in range(1, 5)},
    "choices": Sequence(Value("string")), "answer": Value("string"), "prompt": Value("string"),
    "explanation": Value("string"),
}  # fmt: skip
Thing = tuple[str, str, float, float, float]
POINTS = ["Point A", "Point B", "Point C", "Point D"]
SECOND_THIRD = ["the second image", "the third image"]
CORNERS = ((24, 24), (72, 24), (24, 72), (72, 72))


def shapes(*things: Thing, marks: tuple[tuple[str, float, float], ...] = ()) -> Pillow.Image:
    """A white picture. things: shape, colour, x, y and radius. marks: texts with their place."""
    image = Pillow.new("RGB", (SIZE, SIZE), "white")
    pen = ImageDraw.Draw(image)
    for shape, color, x, y, r in things:
        draw_shape(pen, shape, x, y, r, COLORS[color])
    for text, x, y in marks:
        draw_text(pen, text, x, y, 12)
    return image


def four(*things: tuple[str, str], marked: bool = True) -> Pillow.Image:
    """Four shapes in the corners with the marks A to D, or one with the mark REF."""
    placed = [(shape, color, x, y, 14.0) for (shape, color), (x, y) in zip(things, CORNERS, strict=False)]
    names = "ABCD" if marked else ["REF"]
    return shapes(*placed, marks=tuple((name, x - 4, y + 14) for name, (x, y) in zip(names, CORNERS, strict=False)))


def lone(shape: str, color: str, r: float = 30) -> Pillow.Image:
    return shapes((shape, color, SIZE / 2, SIZE / 2, r))


def split(left: str, right: str) -> Pillow.Image:
    """A picture with two halves of one colour each."""
    image = Pillow.new("RGB", (SIZE, SIZE), COLORS[left])
    image.paste(COLORS[right], (SIZE // 2, 0, SIZE, SIZE))
    return image


def questions() -> dict[str, tuple[str, list[str], int, list[Pillow.Image]]]:
    """For each configuration the question, the choices, the index of the right one, and the pictures."""
    star, circle = ("star", "red"), ("circle", "blue")
    corners = (circle, ("square", "green"), star, ("cross", "purple"))
    row = tuple(("circle", "blue", 12.0 + 18 * number, 48.0, 4.0 + 2 * number) for number in range(4))
    near_far = shapes(
        ("circle", "green", 24, 60, 22), ("circle", "green", 78, 30, 6), marks=(("A", 20, 82), ("B", 74, 38))
    )
    puzzle = split("blue", "yellow")
    puzzle.paste((128, 128, 128), (SIZE // 2, SIZE // 2, SIZE, SIZE))
    boxed = shapes(("star", "black", 40, 40, 20))
    pen = ImageDraw.Draw(boxed)
    pen.rectangle((18, 18, 62, 62), outline=COLORS["red"])
    pen.rectangle((40, 40, 90, 90), outline=COLORS["green"])
    reference = four(star, marked=False)
    pair = shapes(
        ("circle", "yellow", 24, 40, 16), ("circle", "black", 72, 40, 16), marks=(("A", 20, 62), ("B", 68, 62))
    )
    return {
        "Art_Style": ("Which image is drawn in the color of the first image?", SECOND_THIRD, 1,
                      [lone("star", "red"), lone("star", "blue"), lone("circle", "red")]),
        "Counting": ("How many stars are in the image?", ["0", "3", "2", "1"], 2,
                     [shapes(("star", "red", 24, 40, 16), ("star", "blue", 70, 60, 16), ("circle", "green", 24, 80, 10))]),
        "Forensic_Detection": ("Which image has a shape that the others lack?",
                               ["the first image", "the second image", "the third image", "the fourth image"], 3,
                               [lone("circle", "red"), lone("circle", "blue"), lone("circle", "green"), lone("cross", "red")]),
        "Functional_Correspondence": ("Which point of the second image could be used as REF of the first?", POINTS, 2,
                                      [reference, four(*corners)]),
        "IQ_Test": ("Which circle continues the row?", ["a smaller one", "an equal one", "a larger one", "none"], 2,
                    [shapes(*row)]),
        "Jigsaw": ("Which image fits into the gray corner of the first image?", SECOND_THIRD, 0,
                   [puzzle, split("yellow", "yellow"), split("blue", "blue")]),
        "Multi-view_Reasoning": ("Did the star move to the left or to the right?", ["left", "right"], 1,
                                 [shapes(("star", "red", 24, 48, 16)), shapes(("star", "red", 72, 48, 16))]),
        "Object_Localization": ("Which box holds the whole star?", ["the red box", "the green box"], 0, [boxed]),
        "Relative_Depth": ("Which of two equal balls is closer to the camera?", ["A is closer", "B is closer"], 0,
                           [near_far]),
        "Relative_Reflectance": ("Which point is darker?", ["A is darker", "B is darker", "About the same"], 1,
                                 [pair]),
        "Semantic_Correspondence": ("Which point of the second image is on the same shape as REF?", POINTS, 2,
                                    [reference, four(*corners)]),
        "Spatial_Relation": ("Is the star above the circle?", ["yes", "no"], 1,
                             [shapes(("circle", "red", 48, 24, 16), ("star", "blue", 48, 72, 16))]),
        "Visual_Correspondence": ("Which point of the second image shows REF of the first?", POINTS, 1,
                                  [reference, four(corners[0], star, corners[1], corners[3])]),
        "Visual_Similarity": ("Which image is most like the first image?", SECOND_THIRD, 0,
                              [lone("cross", "purple"), lone("cross", "purple", 26), lone("circle", "yellow")]),
    }  # fmt: skip


def samples() -> list[Sample]:
    made = []
    for config, (question, choices, right, pictures) in questions().items():
        lettered = [f"({letter}) {choice}" for letter, choice in zip("ABCD", choices, strict=False)]
        prompt = "\n".join((f"{question} Select from the following choices.", *lettered))
        images = {
            f"image_{number}": png(pictures[number - 1]) if number <= len(pictures) else None for number in range(1, 5)
        }
        row: Row = {
            "idx": f"val_{config}_1", "question": question, "sub_task": config, **images, "choices": choices,
            "answer": lettered[right][:3], "prompt": prompt, "explanation": "",
        }  # fmt: skip
        made.append(Sample("BLINK-Benchmark/BLINK", "val", FEATURES, [row], config))
    return made
