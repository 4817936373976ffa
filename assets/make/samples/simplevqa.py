"""SimpleVQA's schema: short questions of fact in two languages; the pictures are base64 texts."""

import base64
from typing import Any

from datasets import Value
from PIL import Image as Pillow
from PIL import ImageDraw

from samples import Row, Sample, png
from samples._math import clock, dots, triangle

HUB_ID = "m-a-p/SimpleVQA"
TEXT = Value("string")
FEATURES: dict[str, Any] = {
    "data_id": Value("int64"),
    **dict.fromkeys(
        ("image", "image_description", "language", "question", "answer", "original_category", "source"), TEXT
    ),
    **dict.fromkeys(("atomic_question", "atomic_fact", "vqa_category"), TEXT),
}


def flag(colors: tuple[str, str, str], upright: bool) -> Pillow.Image:
    """Three stripes, side by side or one below the other."""
    made = Pillow.new("RGB", (90, 60), "white")
    pen = ImageDraw.Draw(made)
    for n, color in enumerate(colors):
        pen.rectangle((30 * n, 0, 30 * n + 29, 59) if upright else (0, 20 * n, 89, 20 * n + 19), fill=color)
    return made


FRANCE, GERMANY = flag(("navy", "white", "red"), True), flag(("black", "red", "gold"), False)
ITALY, RUSSIA = flag(("green", "white", "red"), True), flag(("white", "blue", "red"), False)
QUESTIONS = [
    (FRANCE, "EN", "What is the capital of the country with this flag?", "Paris", "Which country is it?", "France", "geography"),
    (GERMANY, "EN", "Which country has this flag?", "Germany", "Which country is it?", "Germany", "geography"),
    (ITALY, "EN", "Which sea lies east of the country with this flag?", "Adriatic Sea", "Which country is it?", "Italy",
     "geography"),
    (triangle(["3", "4", "5"]), "EN", "After whom is the theorem on this figure's sides named?", "Pythagoras",
     "Which figure is it?", "a right-angled triangle", "science"),
    (RUSSIA, "CN", "使用这面国旗的国家的首都是哪里？", "莫斯科", "这是哪个国家？", "俄罗斯", "地理"),
    (clock(3, 0), "CN", "图中的钟表显示几点？", "三点", "图中是什么？", "钟表", "生活"),
    (dots(12), "CN", "图中点的数量等于一年中的什么的数量？", "月份", "图中有几个点？", "12", "常识"),
    (FRANCE, "CN", "使用这面国旗的国家的官方语言是什么？", "法语", "这是哪个国家？", "法国", "地理"),
]  # fmt: skip


def samples() -> list[Sample]:
    rows: list[Row] = []
    for number, (picture, language, question, answer, smaller, fact, category) in enumerate(QUESTIONS):
        rows.append(
            {
                "data_id": number,
                "image": base64.b64encode(png(picture)["bytes"]).decode("ascii"),
                "image_description": "",
                "language": language,
                "question": question,
                "answer": answer,
                "original_category": category,
                "source": "made for mm-eval",
                "atomic_question": smaller,
                "atomic_fact": fact,
                "vqa_category": "Symbol" if number in (0, 1, 2, 4, 7) else "Object",
            }
        )
    return [Sample(HUB_ID, "test", FEATURES, rows)]
