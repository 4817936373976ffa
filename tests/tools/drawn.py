"""Ten questions about pictures that are drawn here, and the code that answers each: what `python` is for.

The model knows the code and nothing else: without an interpreter it guesses, and with one it says what its code has printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, flatten, question
from mm_eval.values.types import Answer, Instance
from tests.folders import write_task
from tests.tools.scripted import call

TASK = """task: drawn
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
doc_to_visual: !function utils.visual
generation_kwargs: {max_new_tokens: 16}
metric_list: [{metric: exact_match}]
"""
UTILS = """
import math

import numpy as np
from PIL import Image, ImageDraw


def paper(size=(240, 180)):
    picture = Image.new("RGB", size, "white")
    return picture, ImageDraw.Draw(picture)


def red_pixels():
    picture, pen = paper()
    pen.rectangle((20, 30, 52, 40), fill=(255, 0, 0))
    pen.rectangle((100, 90, 100, 120), fill=(255, 0, 0))
    pen.rectangle((150, 20, 200, 60), fill=(254, 0, 0))
    return [picture]


def angle():
    picture, pen = paper()
    turn = math.radians(37)
    pen.line((40, 150, 220, 150), fill="black")
    pen.line((40, 150, 40 + 150 * math.cos(turn), 150 - 150 * math.sin(turn)), fill="blue")
    return [picture]


def bars():
    picture, pen = paper()
    pen.line((20, 160, 230, 160), fill="black")
    for place, height in enumerate((40, 95, 70, 120)):
        pen.rectangle((30 + 50 * place, 160 - height, 60 + 50 * place, 159), fill=(60, 120, 200))
    return [picture]


def dots():
    picture, pen = paper()
    for x, y in ((20, 20), (60, 40), (100, 25), (140, 90), (60, 120), (200, 150), (30, 160)):
        pen.ellipse((x, y, x + 12, y + 12), fill="green")
    return [picture]


def pair():
    first, pen = paper()
    pen.rectangle((10, 10, 109, 59), fill="navy")
    second = first.copy()
    for x, y in ((5, 5), (120, 70), (200, 170)):
        second.putpixel((x, y), (1, 2, 3))
    return [first, second]


def gray():
    steps = np.tile(np.arange(0, 240, dtype="uint8"), (180, 1))
    return [Image.fromarray(np.stack([steps] * 3, axis=-1))]


def triangle():
    picture, pen = paper()
    pen.polygon(((20, 20), (219, 20), (20, 119)), fill="orange")
    return [picture]


def hidden():
    picture = Image.new("RGB", (240, 180), (200, 200, 200))
    for number, bit in enumerate(f"{77:08b}"):
        picture.putpixel((number, 0), (200 + int(bit), 200, 200))
    return [picture]


def maze():
    picture, pen = paper((90, 90))
    for wall in ((20, 0, 29, 69), (50, 20, 59, 89)):
        pen.rectangle(wall, fill="black")
    return [picture]


def squares():
    picture, pen = paper()
    for place, side in enumerate((9, 25, 17, 31, 13)):
        pen.rectangle((10 + 45 * place, 60, 9 + 45 * place + side, 59 + side), fill="purple")
    return [picture]


def visual(doc):
    return globals()[doc["drawn"]]()
"""
OPEN = "import numpy as np\nfrom PIL import Image\nx = np.asarray(Image.open('image_01.png')).astype(int)\n"
DOCS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "red_pixels": ("How many pixels are exactly (255, 0, 0)?", "394", (OPEN + "print((x == (255, 0, 0)).all(-1).sum())",)),
    "angle": (
        "What is the angle between the lines, in whole degrees?",
        "37",
        (
            OPEN + "y, c = np.nonzero((x == (0, 0, 255)).all(-1))",
            "print(round(np.degrees(np.arctan2(150 - y.min(), c.max() - 40))))",
        ),
    ),
    "bars": ("How high is the second bar, in pixels?", "95", (OPEN + "print((x[:, 95] == (60, 120, 200)).all(-1).sum())",)),
    "dots": (
        "How many dots are there?",
        "7",
        (OPEN + "from scipy import ndimage", "print(ndimage.label((x == (0, 128, 0)).all(-1))[1])"),
    ),
    "pair": (
        "In how many pixels do the two pictures differ?",
        "3",
        (OPEN + "y = np.asarray(Image.open('image_02.png')).astype(int)\nprint((x != y).any(-1).sum())",),
    ),
    "gray": ("What is the sum of the gray values of the first row?", "28680", (OPEN + "print(x[0, :, 0].sum())",)),
    "triangle": (
        "What is the area of the triangle, in hundreds of pixels, rounded down?",
        "100",
        (OPEN + "print((x == (255, 165, 0)).all(-1).sum() // 100)",),
    ),
    "hidden": (
        "Which number do the lowest bits of the first eight red values spell?",
        "77",
        (OPEN + "print(int(''.join(map(str, x[0, :8, 0] & 1)), 2))",),
    ),
    "maze": (
        "How many steps has the shortest way from the upper left pixel to the lower right one, through white pixels?",
        "280",  # down to row 70, up to row 19, down to row 89, and 89 columns
        (
            OPEN + "import networkx as nx\nfree = (x == 255).all(-1)\nway = nx.grid_2d_graph(*free.shape)",
            "way.remove_nodes_from([at for at in list(way) if not free[at]])\n"
            "print(nx.shortest_path_length(way, (0, 0), (89, 89)))",
        ),
    ),
    "squares": (
        "How long is the side of the largest square, in pixels?",
        "31",
        (
            OPEN + "from skimage.measure import label, regionprops\nfound = label((x == (128, 0, 128)).all(-1))",
            "print(int(max(each.area for each in regionprops(found)) ** 0.5))",
        ),
    ),
}  # fmt: skip
"""{what is drawn: (the question, its answer, the code of each turn)}."""


class Coder(Model):
    """Writes the code of its document, turn by turn, and answers with the last number that was printed.

    asked: (doc, turn) of all requests. pause: code that each call begins with.
    """

    def __init__(self, pause: str = "") -> None:
        super().__init__({}, ModelSettings())
        self.facts = ModelFacts(name="coder", chat=True)
        self.pause = pause
        self.asked: list[tuple[int, int]] = []

    def identity(self, instance: Instance) -> dict[str, Any]:
        return {"coder": 1, **question(instance, 0)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            self.asked.append((instance.doc_id, instance.turn))
            yield (
                instance,
                Answer(self._says(flatten(instance), instance), usage={"completion_tokens": 2}, ended="stop"),
            )

    def _says(self, prompt: str, instance: Instance) -> str:
        if "Runs Python code" not in prompt:
            return "0"
        codes = list(DOCS.values())[instance.doc_id][2]
        if instance.turn < len(codes):
            return call("python", code=self.pause + codes[instance.turn])
        return re.findall(r"^\d+$", prompt, re.MULTILINE)[-1]


def write(folder: Path) -> str:
    """The files of the task. Returns the path of its YAML."""
    rows = [{"drawn": name, "q": q, "a": a} for name, (q, a, _) in DOCS.items()]
    return write_task(folder, "drawn", TASK, UTILS, rows)
