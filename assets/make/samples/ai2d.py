"""AI2D: ten questions on five drawn diagrams, with their labels covered by letters and without."""

from datasets import Image, Sequence, Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png

FEATURES = {
    "question": Value("string"),
    "options": Sequence(Value("string")),
    "answer": Value("string"),
    "image": Image(),
}
DIAGRAMS = (  # names of the boxes from top to bottom, joined by arrows
    ("grass", "hare", "fox"),
    ("egg", "larva", "beetle"),
    ("sun", "leaf", "sugar"),
    ("cloud", "rain", "river"),
    ("seed", "shoot", "tree"),
)
QUESTIONS = (  # diagram, question, options, index of the answer
    (0, "What does the fox eat?", ("grass", "the hare", "nothing", "the sun"), 1),
    (0, "How many living things are in the food chain?", ("1", "2", "3", "4"), 2),
    (1, "Which stage comes first?", ("egg", "larva", "beetle", "none"), 0),
    (1, "What would happen if all larvae died?", ("more eggs", "more larvae", "no change", "no beetles"), 3),
    (2, "Where does the energy come from?", ("the leaf", "the sugar", "the sun", "the soil"), 2),
    (2, "What does the leaf make?", ("water", "sugar", "light", "salt"), 1),
    (3, "What fills the river?", ("rain", "clouds", "snow", "wind"), 0),
    (3, "Which part is in the middle?", ("A", "C", "B", "D"), 2),
    (4, "What grows out of the seed?", ("fruit", "stone", "cloud", "shoot"), 3),
    (4, "How many arrows are there?", ("2", "3", "4", "5"), 0),
)


def samples() -> list[Sample]:
    """The test splits with covered labels and without."""
    return [
        Sample("lmms-lab/ai2d", "test", FEATURES, _rows(covered=True)),
        Sample("lmms-lab/ai2d-no-mask", "test", FEATURES, _rows(covered=False)),
    ]


def _rows(covered: bool) -> list[Row]:
    return [
        {"question": question, "options": list(options), "answer": str(answer), "image": png(_drawn(diagram, covered))}
        for diagram, question, options, answer in QUESTIONS
    ]


def _drawn(diagram: int, covered: bool) -> Pillow.Image:
    """The boxes of a diagram, with their names or with letters."""
    image = Pillow.new("RGB", (96, 128), "white")
    pen = ImageDraw.Draw(image)
    for place, name in enumerate(DIAGRAMS[diagram]):
        top = 6 + 42 * place
        pen.rectangle((20, top, 76, top + 24), outline="black", fill=(230, 240 - 20 * diagram, 200 + 10 * place))
        pen.text((26, top + 6), "ABC"[place] if covered else name, fill="black")
        if place:
            pen.line((48, top - 17, 48, top - 3), fill="black", width=2)
            pen.polygon([(43, top - 6), (53, top - 6), (48, top)], fill="black")
    return image
