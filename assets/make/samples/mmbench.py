"""MMBench: six questions, one an ability, in all rotations of their options, in English and Chinese, v1.0 and v1.1.

In v1.0 what is missing is the text "nan" in English and null in Chinese. The rows of v1.1 have base64 pictures, and the index of
the first rotation in the others, as the TSV files do.
"""

import base64
from dataclasses import dataclass

from datasets import Image, Value

from samples import Row, Sample, drawn, png

TEXT = Value("string")
ROTATION = 1_000_000


@dataclass(frozen=True)
class Question:
    """One question. picture: (kind, name) as for `drawn`. The first option is right before the rotation by `turn`."""

    number: int
    picture: tuple[str, str]
    english: tuple[str, tuple[str, ...], str]
    chinese: tuple[str, tuple[str, ...], str]
    category: str
    ability: str
    turn: int = 0


QUESTIONS = (
    Question(
        7, ("location", "mmbench 0"),
        ("Which place does the picture show?", ("a beach", "a forest", "a city", "a farm"), ""),
        ("图片展示的是什么地方？", ("海滩", "森林", "城市", "农场"), ""),
        "image_scene", "coarse_perception", 1,
    ),
    Question(
        19, ("state", "mmbench 0"),
        ("What should a driver do here?", ("stop", "drive on"), "The picture shows a traffic light."),
        ("司机在这里应该怎么做？", ("停车", "继续行驶"), "图片中有一个交通信号灯。"),
        "function_reasoning", "attribute_reasoning",
    ),
    Question(
        23, ("poster", "mmbench 0"),
        ("Which word is printed on the poster?", ("MOON", "FISH", "SHIP"), ""),
        ("海报上印着哪个单词？", ("MOON", "FISH", "SHIP"), ""),
        "ocr", "finegrained_perception (instance-level)", 2,
    ),
    Question(
        31, ("arithmetic", "mmbench 0"),
        ("What is the result?", ("4", "5", "7", "9"), ""),
        ("结果是多少？", ("4", "5", "7", "9"), ""),
        "structuralized_imagetext_understanding", "logic_reasoning", 3,
    ),
    Question(
        42, ("act", "mmbench 0"),
        ("Where is the ball?", ("below the head", "above the head"), ""),
        ("球在哪里？", ("在头的下方", "在头的上方"), ""),
        "spatial_relationship", "finegrained_perception (cross-instance)", 1,
    ),
    Question(
        57, ("state", "mmbench 1"),
        ("What happens if more water is poured in?", ("it spills", "it sinks"), ""),
        ("再倒水会怎样？", ("溢出", "下沉"), ""),
        "physical_relation", "relation_reasoning",
    ),
)  # fmt: skip
SHOWN = ("beach", "red light", "MOON", "4", "kicking the ball", "full")  # by the picture of each question


def samples() -> list[Sample]:
    """The dev splits of both languages and versions."""
    return [
        Sample("lmms-lab/MMBench", "dev", _features(TEXT), _rows("english", "nan"), "en"),
        Sample("lmms-lab/MMBench", "dev", _features(Value("int64")), _rows("chinese", None), "cn"),
        Sample("opencompass/MMBench_DEV_EN_V11", "dev", _of_tsv(), _rows_of_tsv("english")),
        Sample("opencompass/MMBench_DEV_CN_V11", "dev", _of_tsv(), _rows_of_tsv("chinese")),
    ]


def _features(index: Value) -> dict[str, Value | Image]:
    first = {"index": index} | dict.fromkeys(("question", "hint", "answer", "A", "B", "C", "D", "category"), TEXT)
    return first | {"image": Image()} | dict.fromkeys(("source", "L2-category", "comment", "split"), TEXT)


def _of_tsv() -> dict[str, Value]:
    first = {"index": Value("int64")} | dict.fromkeys(("question", "hint", "A", "B", "C", "D", "answer"), TEXT)
    return first | dict.fromkeys(("category", "image", "source", "l2-category", "comment", "split"), TEXT)


def _picture(question: Question) -> dict[str, object]:
    """The first drawn picture of the kind that shows what the question is about."""
    kind, name = question.picture
    pictures = (drawn(kind, name, number) for number in range(1000))
    return png(next(picture for picture in pictures if picture.value == SHOWN[QUESTIONS.index(question)]).image)


def _rows(language: str, missing: str | None) -> list[Row]:
    rows = []
    for question in QUESTIONS:
        text, options, hint = question.english if language == "english" else question.chinese
        image = _picture(question)
        for rotation in range(len(options)):
            start = (-question.turn - rotation) % len(options)
            turned = [*options[start:], *options[:start]]
            index: int | str = question.number + rotation * ROTATION
            row: Row = {
                "index": str(index) if language == "english" else index,
                "question": text,
                "hint": hint or missing,
                "answer": "ABCD"[turned.index(options[0])],
                **dict.fromkeys("ABCD", missing),
                **dict(zip("ABCD", turned, strict=False)),
                "category": question.category,
                "image": image,
                "source": "mm-eval",
                "L2-category": question.ability,
                "comment": missing,
                "split": "dev",
            }
            rows.append(row)
    return rows


def _rows_of_tsv(language: str) -> list[Row]:
    rows = _rows(language, None)
    for row in rows:
        index = int(row["index"])
        picture = base64.b64encode(row["image"]["bytes"]).decode() if index < ROTATION else str(index % ROTATION)
        row |= {"index": index, "image": picture, "l2-category": row.pop("L2-category")}
    return rows
