"""MME-RealWorld, in full, in Chinese and Lite: drawn pictures in its five domains, with five options, the last for none."""

import base64
from typing import Any

from datasets import Sequence, Value
from drawing import COLORS
from PIL import Image as Pillow

from samples import Row, Sample, page, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "bytes": TEXT, "index": Value("int64"), "question": TEXT, "multi-choice options": Sequence(TEXT), "answer": TEXT,
    "category": TEXT, "l2-category": TEXT,
}  # fmt: skip
NONE = "The image does not feature it"


def samples() -> list[Sample]:
    """The split train: ten questions, of perception and reasoning in five domains."""
    rows: list[Row] = []

    def add(
        category: str, ability: str, picture: Pillow.Image, question: str, options: list[str], right: bool = True
    ) -> None:
        listed = list(options)
        rng("mme_realworld", len(rows)).shuffle(listed)
        if not right:
            listed[listed.index(options[0])] = "twelve"
        listed.append(NONE)
        answer = "ABCDE"[listed.index(options[0] if right else NONE)]
        rows.append({
            "bytes": base64.b64encode(png(picture)["bytes"]).decode(), "index": len(rows), "question": question,
            "multi-choice options": [f"({letter}) {text}" for letter, text in zip("ABCDE", listed, strict=True)],
            "answer": answer, "category": category, "l2-category": ability,
        })  # fmt: skip

    for number, domain in enumerate(("Monitoring", "Autonomous_Driving", "Remote Sensing")):
        picture, first = scene_with("mme_realworld", number)
        others = [color for color in COLORS if color != first.color][:3]
        count = len([region for region in picture.regions if region.shape])
        add(
            f"Perception/{domain}",
            ("Vehicle/counting", "Objects_Identify", "color")[number],
            picture.image,
            f"What is the color of the {first.shape}?",
            [first.color, *others],
        )
        add(
            f"Perception/{domain}",
            ("Person/attribute/orientation", "Objects_Identify", "count")[number],
            picture.image,
            "How many shapes are there?",
            [str(count), *(str(count + n) for n in (1, 2, 3))],
            right=number != 1,
        )
        if number < 2:
            add(
                f"Reasoning/{domain}",
                ("intention", "attention")[number],
                picture.image,
                "How many shapes are there if one more is drawn?",
                [str(count + 1), *(str(count + n) for n in (2, 3, 5))],
            )
    sign = page("OPEN\n9-17", (80, 60))
    add("Perception/OCR with Complex Context", "advert", sign, "When does it close?", ["17", "9", "8", "18"])
    table = page("year  sold\n2020    4\n2021    7")
    add("Perception/Diagram and Table", "table", table, "How many were sold in 2021?", ["7", "4", "11", "3"])
    add("Reasoning/Diagram and Table", "table", table, "How many were sold in both years?", ["11", "7", "4", "28"])
    return [
        Sample("yifanzhang114/MME-RealWorld-lite-lmms-eval", "train", FEATURES, rows),
        Sample("yifanzhang114/MME-RealWorld-Lmms-eval", "train", FEATURES, rows[:4]),
        Sample("yifanzhang114/MME-RealWorld-CN-Lmms-eval", "train", FEATURES, _chinese()),
    ]


def _chinese() -> list[Row]:
    """Two questions in Chinese; the options' brackets are those of Chinese texts in one of them."""
    sign = page("OPEN\n9-17", (80, 60))
    rows: list[Any] = []
    for question, options, brackets in (
        ("几点关门？", ("17点", "9点", "8点", "18点", "图片中没有"), "()"),
        ("几点开门？", ("17点", "9点", "8点", "18点", "图片中没有"), "（）"),
    ):
        rows.append({
            "bytes": base64.b64encode(png(sign)["bytes"]).decode(), "index": len(rows), "question": question,
            "multi-choice options": [
                f"{brackets[0]}{letter}{brackets[1]} {text}" for letter, text in zip("ABCDE", options, strict=True)
            ],
            "answer": "AB"[len(rows)], "category": "Perception/OCR with Complex Context", "l2-category": "advert",
        })  # fmt: skip
    return rows
