"""ERQA: questions on one to three drawn pictures; the options and the instruction stand in the question."""

from typing import Any

from datasets import Image, Sequence, Value

from samples import Row, Sample, png, rng
from samples.vqav2 import scene_with

TEXT = Value("string")
FEATURES = {
    "question_id": TEXT, "question": TEXT, "question_type": TEXT, "images": Sequence(Image()), "answer": TEXT,
}  # fmt: skip
END = "Please answer directly with only the letter of the correct option and nothing else."


def samples() -> list[Sample]:
    """The test split: eight questions of four types."""
    rows: list[Row] = []

    def add(kind: str, pictures: list[Any], question: str, options: list[str]) -> None:
        listed = list(options)
        rng("erqa", len(rows)).shuffle(listed)
        choices = " ".join(f"{letter}. {text}." for letter, text in zip("ABCD", listed, strict=True))
        rows.append({
            "question_id": f"ERQA_{len(rows)}", "question": f"{question} Choices: {choices} {END}", "question_type": kind,
            "images": pictures, "answer": "ABCD"[listed.index(options[0])],
        })  # fmt: skip

    scenes = [scene_with("erqa", number) for number in range(4)]
    cells = [png(picture.image) for picture, _ in scenes]
    for number in range(4):
        picture, first = scenes[number]
        count = len([region for region in picture.regions if region.shape])
        after = scenes[(number + 1) % 4][1]
        add(
            "State Estimation",
            [cells[number]],
            f"How many things may the robot grip beside the {first.shape}?",
            [str(count - 1), *(str(count + n) for n in range(3))],
        )
        kind = ("Multi-view Reasoning", "Action Reasoning", "Multi-view Reasoning", "Trajectory Reasoning")[number]
        marked = number % 2 == 0
        shown = [*cells[number:], *cells[:number]][: 2 if marked else 3]
        add(
            kind,
            shown,
            f"{'<image> <image> ' if marked else ''}What does the first picture have?",
            [f"a {first.color} {first.shape}", f"a {after.color} car", "two doors", "nothing"],
        )
    return [Sample("FlagEval/ERQA", "test", FEATURES, rows)]
