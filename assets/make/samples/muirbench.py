"""MuirBench: questions on two to four drawn pictures, each with a twin that the pictures can't answer."""

from typing import Any

from scenes import Scene

from samples import Row, Sample, drawn, png, rng

TASKS = (
    "Counting",
    "Visual Retrieval",
    "Difference Spotting",
    "Attribute Similarity",
    "Ordering",
    "Image-Text Matching",
)
RELATIONS = ("Independent", "Partial Similarity", "Overall Similarity", "Temporal", "Complementary", "Multiview")
NONE = "None of the choices provided"


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Image, Sequence, Value

    text = Value("string")
    return {
        "idx": text, "task": text, "image_relation": text, "image_type": text, "question": text,
        "options": Sequence(text), "answer": text, "image_list": Sequence(Image()), "counterpart_idx": text,
    }  # fmt: skip


def scenes(place: int) -> list[Scene]:
    """Four scenes without words that have different numbers of shapes."""
    found: dict[int, Scene] = {}
    for attempt in range(200):
        scene = drawn("scene", "muirbench", place, attempt)
        assert isinstance(scene, Scene)
        if not scene.word:
            found.setdefault(len(scene.things), scene)
    return [found[count] for count in sorted(found)][:4]


def pair(place: int) -> list[Row]:
    """A question and its twin, in which no option is right."""
    stream = rng("muirbench", place)
    pictures = scenes(place)
    stream.shuffle(pictures)
    wanted = stream.randrange(4)
    counts = [len(scene.things) for scene in pictures]
    if place % 2:
        question = "Which of these pictures shows {} shapes?"
        options, shown = ["<image>"] * 4 + [NONE], pictures
        answer, asked = "ABCD"[wanted], (str(counts[wanted]), "twelve")
    else:
        question = "<image> <image> How many more shapes has the {} picture than the other?"
        more, fewer = (0, 1) if counts[0] > counts[1] else (1, 0)
        options, shown = [*map(str, sorted({counts[more] - counts[fewer], 6, 7})), NONE], pictures[:2]
        answer = "ABCD"[options.index(str(counts[more] - counts[fewer]))]
        asked = (("first", "second")[more], "third")
    rows = []
    for twin, (said, right) in enumerate(zip(asked, (answer, "ABCDE"[len(options) - 1]), strict=True)):
        rows.append({
            "idx": str(2 * place + twin), "task": TASKS[place], "image_relation": RELATIONS[place], "image_type": "Drawings",
            "question": question.format(said), "options": options, "answer": right,
            "image_list": [png(scene.image) for scene in shown], "counterpart_idx": str(2 * place + 1 - twin),
        })  # fmt: skip
    return rows


def samples() -> list[Sample]:
    """Six questions and their twins."""
    return [Sample("MUIRBENCH/MUIRBENCH", "test", features(), [row for place in range(6) for row in pair(place)])]
