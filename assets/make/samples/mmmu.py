"""MMMU (lmms-lab/MMMU): one question a subject on one or two pictures; with options, with pictures as options, and open."""

from typing import Any

from drawing import COLORS
from scenes import Scene

from samples import Row, Sample, drawn, png, rng

SUBJECTS = (
    "Accounting", "Agriculture", "Architecture_and_Engineering", "Art", "Art_Theory", "Basic_Medical_Science", "Biology",
    "Chemistry", "Clinical_Medicine", "Computer_Science", "Design", "Diagnostics_and_Laboratory_Medicine", "Economics",
    "Electronics", "Energy_and_Power", "Finance", "Geography", "History", "Literature", "Manage", "Marketing", "Materials",
    "Math", "Mechanical_Engineering", "Music", "Pharmacy", "Physics", "Psychology", "Public_Health", "Sociology",
)  # fmt: skip
LIMIT = 7


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Image, Value

    text = Value("string")
    pictures = {f"image_{n}": Image() for n in range(1, LIMIT + 1)}
    last = ("img_type", "answer", "topic_difficulty", "question_type", "subfield")
    return {
        **dict.fromkeys(("id", "question", "options", "explanation"), text),
        **pictures,
        **dict.fromkeys(last, text),
    }


def scene(subject: str, number: int, things: int = 1) -> Scene:
    """The first scene of this name with at least so many things that differ in colour."""
    for attempt in range(100):
        made = drawn("scene", "mmmu", subject, number, attempt)
        assert isinstance(made, Scene)
        if len({thing.color for thing in made.things}) == len(made.things) >= things and not made.word:
            return made
    raise ValueError(subject)


def row(place: int, subject: str) -> Row:
    """The question of a subject; its kind goes round with its place."""
    stream = rng("mmmu", subject)
    first, second = scene(subject, 1, 2), scene(subject, 2)
    thing = stream.choice(first.things)
    pictures, kind, options = [first], "multiple-choice", list[str]()
    if place % 5 == 0:
        question = f"<image 1> Which shape is {thing.color}?"
        options = sorted({other.shape for other in first.things} | {"star", "cross", "circle"})
        answer = "ABCDEFG"[options.index(thing.shape)]
    elif place % 5 == 1:
        question = f"What is the colour of the {thing.shape} at {thing.cell % 3 + 1} from the left in <image 1>?"
        options = sorted(COLORS)[stream.randrange(2) :]
        options = options if thing.color in options else sorted(COLORS)
        answer = "ABCDEFG"[options.index(thing.color)]
    elif place % 5 == 2:
        pictures = [first, second]
        question = f"Only one of the pictures shows a {thing.name} among {len(first.things)} shapes. Which one?"
        options, answer = ["<image 2>", "<image 1>"], "B"
    elif place % 5 == 3:
        question, kind, answer = "How many shapes does <image 1> show?", "open", str(len(first.things))
    else:
        pictures, kind = [first, second], "open"
        question = f"Look at <image 2> and <image 1>. One has {len(first.things)} shapes."
        question += f" Which colour has the {thing.shape} in its row {thing.row + 1}?"
        answer = str([thing.color, f"the {thing.color} one"])
    cells = {f"image_{n}": png(pictures[n - 1].image) if n <= len(pictures) else None for n in range(1, LIMIT + 1)}
    return {
        "id": f"validation_{subject}_{place % 30 + 1}", "question": question, "options": str(options), "explanation": "",
        **cells, "img_type": str(["Diagrams"] * len(pictures)), "answer": answer,
        "topic_difficulty": ("Easy", "Medium", "Hard")[place % 3], "question_type": kind, "subfield": "Shapes",
    }  # fmt: skip


def samples() -> list[Sample]:
    """One document a subject, in the merged edition: thirty files of the other one would take seven times the room."""
    rows = [row(place, subject) for place, subject in enumerate(SUBJECTS)]
    return [Sample("lmms-lab/MMMU", "validation", features(), rows)]
