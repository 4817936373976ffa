"""LogicVista: pictures with lettered shapes, and questions with one or two right letters."""

from typing import Any

from PIL import Image, ImageDraw

from samples import Row, Sample, png, rng

SKILLS = ("inductive", "deductive", "numerical", "spatial", "mechanical")
SIDES = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6}


def features() -> dict[str, Any]:
    """The columns of the benchmark's own file, with the picture."""
    from datasets import Image as Picture
    from datasets import Sequence, Value

    text, texts = Value("string"), Sequence(Value("string"))
    return {
        "image": Picture(), "question": text, "answer": text, "reasoning": text, "skill": texts, "broad_capability": texts,
        "specific_capability": texts, "imagesource": text, "sourcelink": text,
    }  # fmt: skip


def picture(shapes: list[str]) -> Image.Image:
    """The shapes in a row, each with its letter."""
    made = Image.new("RGB", (40 * len(shapes), 60), "white")
    pen = ImageDraw.Draw(made)
    for place, shape in enumerate(shapes):
        pen.regular_polygon((40 * place + 20, 24, 16), SIDES[shape], fill="steelblue", outline="black")
        pen.text((40 * place + 16, 44), "ABCDE"[place], fill="black")
    return made


def row(place: int) -> Row:
    """A question on a row of shapes."""
    stream = rng("logicvista", place)
    shapes = stream.sample(sorted(SIDES), 4)
    odd = stream.randrange(4)
    if place % 4 == 3:
        right = [letter for letter, shape in zip("ABCD", shapes, strict=True) if SIDES[shape] % 2]
        question, answer = "Which two choices (A-D) have an odd number of sides?", ", ".join(right)
    elif place % 4 == 2:
        count = SIDES[shapes[odd]]
        question, answer = f"Which choice (A, B, C or D) has {count} sides?", "ABCD"[odd]
    else:
        shapes = [shapes[0] if n != odd else shapes[1] for n in range(4)]
        question, answer = "Which choice (A, B, C or D) is the odd one out?", "ABCD"[odd]
    return {
        "image": png(picture(shapes)), "question": question, "answer": answer, "reasoning": f"The answer is {answer}.",
        "skill": [SKILLS[place % 5]], "broad_capability": ["diagram"], "specific_capability": ["odd one out"],
        "imagesource": "drawn", "sourcelink": "",
    }  # fmt: skip


def samples() -> list[Sample]:
    """Ten documents."""
    return [Sample("lscpku/LogicVista", "test", features(), [row(place) for place in range(10)])]
