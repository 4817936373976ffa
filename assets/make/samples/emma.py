"""EMMA-mini: two or three questions a subject on drawn pictures, with options, with pictures as options, and open."""

from typing import Any

from scenes import Scene

from samples import Row, Sample, drawn, png, rng

SUBJECTS = ("Chemistry", "Coding", "Math", "Physics")
CATEGORIES = {
    "Chemistry": ["Knowledge-based counting", "Structure Recognition"], "Coding": ["Legend;Color & Texture", "Gridline"],
    "Math": ["Pattern Inference", "2D Transformation"], "Physics": ["Path Tracing", "3d Field Simulation"],
}  # fmt: skip
LIMIT = 5


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Image, Sequence, Value

    text = Value("string")
    pictures = {f"image_{n}": Image() for n in range(1, LIMIT + 1)}
    last = ("solution", "subject", "task", "category", "source", "type", "context")
    first = {"pid": text, "question": text, "options": Sequence(text), "answer": text}
    return {**first, **pictures, **dict.fromkeys(last, text)}


def scene(subject: str, place: int, number: int) -> Scene:
    """The first scene of this name without a word in which colours tell the things apart."""
    for attempt in range(100):
        made = drawn("scene", "emma", subject, place, number, attempt)
        assert isinstance(made, Scene)
        if len({thing.color for thing in made.things}) == len(made.things) > 1 + number and not made.word:
            return made
    raise ValueError(subject)


def row(subject: str, place: int) -> Row:
    """A question of a subject; its kind goes by its place."""
    stream = rng("emma", subject, place)
    shown = [scene(subject, place, n) for n in range(2 if place == 1 else 1)]
    thing = stream.choice(shown[0].things)
    kind = "Multiple choice" if subject == "Chemistry" else "Multiple Choice"
    options: Any = None
    if place == 2:
        kind, question, answer = "Open-ended", "<image_1>\nHow many shapes are there?", str(len(shown[0].things))
        options = [] if subject == "Math" else None
    elif place == 1:
        kinds = [{each.name for each in picture.things} for picture in shown]
        name = min(kinds[0] - kinds[1] or {thing.name})
        question, options, answer = f"Which picture has a {name}?", ["<image_2>", "<image_1>"], "B"
    else:
        options = sorted({each.shape for each in shown[0].things} | {"star", "cross", "circle"})
        question, answer = f"<image_1>\nWhich shape is {thing.color}?", "ABCDEFGH"[options.index(thing.shape)]
    cells = {f"image_{n}": png(shown[n - 1].image) if n <= len(shown) else None for n in range(1, LIMIT + 1)}
    return {
        "pid": f"{subject}_{place + 1}", "question": question, "options": options, "answer": answer, **cells, "solution": None,
        "subject": subject, "task": "Vis Choose Code" if subject == "Coding" else "", "category": CATEGORIES[subject][place % 2],
        "source": "drawn", "type": kind, "context": "Shapes don't overlap." if subject == "Physics" else "",
    }  # fmt: skip


def samples() -> list[Sample]:
    """Ten documents, at least two a configuration; only Chemistry and Math have open questions."""
    found = []
    for subject in SUBJECTS:
        places = range(3 if subject in ("Chemistry", "Math") else 2)
        rows = [row(subject, place) for place in places]
        found.append(Sample("luckychao/EMMA-mini", "test", features(), rows, subject))
    return found
