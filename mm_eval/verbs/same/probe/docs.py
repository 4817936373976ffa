"""The documents of the probe set: made of numbers, so that they are the same pixels and the same words everywhere.

Pictures are whole blocks of a colour in an array: no font and no library's way to draw decides a pixel.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from PIL import Image

COLOURS = {"red": (200, 30, 30), "green": (30, 150, 60), "blue": (40, 60, 200), "yellow": (235, 205, 40)}
GROUND = (238, 236, 230)
SIZES = [
    (32, 32), (33, 47), (56, 56), (57, 113), (99, 101), (128, 96), (224, 224), (225, 223), (300, 41), (41, 300),
    (336, 336), (337, 500), (448, 448), (449, 640), (640, 480), (800, 100), (100, 800), (1000, 1000), (1280, 720),
    (720, 1281), (1500, 300), (1344, 1344), (1920, 1080), (2016, 1512),
]  # fmt: skip
NAMES = [
    "Ada",
    "Ben",
    "Cleo",
    "Dan",
    "Eva",
    "Finn",
    "Gwen",
    "Hugo",
    "Iris",
    "Jack",
    "Kim",
    "Liam",
    "Mia",
    "Noah",
    "Olga",
    "Paul",
]
THINGS = ["lamp", "chair", "book", "clock", "vase", "drum", "kite", "sled"]
PLACES = ["attic", "cellar", "garden", "kitchen", "hall", "barn", "porch", "study"]

REASONS = {
    "sizes": "one picture, from 32 to 2,016 pixels and from square to 8:1: a server that resizes differently, or has another "
    "limit of pixels, counts other tokens",
    "several pictures": "two to six pictures: their order and what stands between them is the template's matter",
    "long prompt": "about 150 to 700 words: rotary scaling, quantised caches and sliding windows show in long prompts only",
    "system text": "a system message changes the answer: routers drop it or put a text of their own before it",
    "few-shot": "earlier turns of both speakers: templates differ in how they close a turn",
    "text": "spaces, line ends, numbers, code and other languages: tokenizers and templates trim and normalise them",
    "reasoning": "several steps with room to think: small errors of weights add up over many tokens",
    "tools": "a tool is declared and needed: declarations and calls are written by the template or read by the server's parser",
}
"""Why each kind is there."""

Doc = Mapping[str, Any]


def short(**_: object) -> dict[str, list[dict[str, Any]]]:
    """152 documents: those with one short answer."""
    makers: list[tuple[str, int, Callable[[int, random.Random], dict[str, Any]]]] = [
        ("sizes", 40, _size), ("several pictures", 24, _several), ("long prompt", 24, _long), ("system text", 28, _system),
        ("few-shot", 28, _shots), ("text", 8, _text),
    ]  # fmt: skip
    return {"test": [_doc(kind, place, make) for kind, count, make in makers for place in range(count)]}


def reasoning(**_: object) -> dict[str, list[dict[str, Any]]]:
    """24 questions of several steps."""
    return {"test": [_doc("reasoning", place, _steps) for place in range(24)]}


def tools(**_: object) -> dict[str, list[dict[str, Any]]]:
    """24 sums."""
    return {"test": [_doc("tools", place, _sum) for place in range(24)]}


def _doc(kind: str, place: int, make: Callable[[int, random.Random], dict[str, Any]]) -> dict[str, Any]:
    """A row; each has the same columns. shots: questions and answers of earlier turns. pictures: (width, height, colours)."""
    made = make(place, random.Random(f"{kind} {place}"))
    return {"kind": kind, "number": place, "system": "", "shots": [], "pictures": [], **made}


def _size(place: int, draw: random.Random) -> dict[str, Any]:
    width, height = SIZES[place % len(SIZES)]
    count = draw.randint(1, 4)
    colours = draw.sample(list(COLOURS), count)
    if place % 2:
        return {
            "pictures": [[width, height, *colours]],
            "question": "Which colours does this picture show from left to right? Answer with their names only.",
            "answer": " ".join(colours),
        }
    question = "How many coloured stripes does this picture show? Answer with one number."
    return {"pictures": [[width, height, *colours]], "question": question, "answer": str(count)}


def _several(place: int, draw: random.Random) -> dict[str, Any]:
    count = 2 + place % 5
    right, colour = draw.randrange(count), draw.choice(list(COLOURS))
    others = [each for each in COLOURS if each != colour]
    shown = [[*draw.choice(SIZES[2:15]), colour if n == right else draw.choice(others)] for n in range(count)]
    question = f"Which of these pictures, counted from 1, is {colour}? Answer with one number."
    return {"pictures": shown, "question": question, "answer": str(right + 1)}


def _long(place: int, draw: random.Random) -> dict[str, Any]:
    facts = []
    for _ in range(18 + 3 * place):
        facts.append(f"{draw.choice(NAMES)} keeps a {draw.choice(THINGS)} in the {draw.choice(PLACES)}.")
    code, at = draw.randint(1000, 9999), draw.randrange(len(facts))
    facts.insert(at, f"The number of the safe is {code}.")
    return {
        "question": f"{' '.join(facts)}\n\nWhat is the number of the safe? Answer with it only.",
        "answer": str(code),
    }


def _system(place: int, draw: random.Random) -> dict[str, Any]:
    word, first, second = draw.choice(THINGS), draw.randint(2, 9), draw.randint(2, 9)
    rule = f"You are a terse assistant. End every answer with the word {word}, whatever is asked."
    return {"system": rule, "question": f"What is {first} times {second}?", "answer": f"{first * second} {word}"}


def _shots(place: int, draw: random.Random) -> dict[str, Any]:
    words = draw.sample(NAMES, 3 + place % 3)
    shots = [[f"Turn round: {word}", word[::-1].lower()] for word in words[:-1]]
    return {"shots": shots, "question": f"Turn round: {words[-1]}", "answer": words[-1][::-1].lower()}


_TEXTS = [
    ("  Repeat exactly, with its spaces:  a  b   c ", "a  b   c"),
    ("Repeat this list:\n- one\n- two\n\n- three\n", "three"),
    ("What does this print?\n```python\nprint(sum(range(5)))\n```", "10"),
    ("Write 1234567.89 with commas.", "1,234,567.89"),
    ("Comment dit-on « bonjour » en anglais ? Un seul mot.", "hello"),
    ("法国的首都是哪里？只回答城市名。", "巴黎"),
    ("Wie viele Buchstaben hat das Wort Straße? Antworte mit einer Zahl.", "6"),
    ('Complete: {"a": 1, "b": [2, 3', "]}"),
]


def _text(place: int, draw: random.Random) -> dict[str, Any]:
    question, answer = _TEXTS[place]
    return {"question": question, "answer": answer}


def _steps(place: int, draw: random.Random) -> dict[str, Any]:
    first, second = draw.sample(NAMES, 2)
    boxes, each, given, sold = draw.randint(3, 9), draw.randint(4, 12), draw.randint(2, 9), draw.randint(1, 3)
    left = boxes * each - given - sold * 2
    question = (
        f"{first} has {boxes} boxes with {each} pens in each. {first} gives {given} pens to {second}, and sells {sold} pairs of "
        "pens. How many pens are left? Think step by step, then give the number on a last line."
    )
    return {"question": question, "answer": str(left)}


def _sum(place: int, draw: random.Random) -> dict[str, Any]:
    first, second, third = draw.randint(10_000, 99_999), draw.randint(100, 999), draw.randint(10_000, 99_999)
    return {
        "question": f"What is {first} * {second} + {third}? Use the calculator.",
        "answer": str(first * second + third),
    }


def picture(shown: Sequence[Any]) -> Image.Image:
    """Upright stripes of the colours on a light ground, with a border; pictures are (width, height, colours)."""
    width, height, *colours = shown
    pixels = np.full((int(height), int(width), 3), GROUND, np.uint8)
    top, parts = max(1, int(height) // 8), 2 * len(colours) + 1
    for place, colour in enumerate(colours):
        left, right = (int(width) * (2 * place + 1)) // parts, (int(width) * (2 * place + 2)) // parts
        pixels[top : int(height) - top, left:right] = COLOURS[colour]
    return Image.fromarray(pixels)


def pictures(doc: Doc) -> list[Image.Image]:
    """The pictures of a document."""
    return [picture(shown) for shown in doc["pictures"]]


def text(doc: Doc) -> str:
    """The whole prompt as running text, for models without a chat template."""
    parts = [doc["system"], *(f"{asked}\n{said}" for asked, said in doc["shots"]), doc["question"]]
    return "\n\n".join(part for part in parts if part)


def messages(doc: Doc) -> list[dict[str, Any]]:
    """The chat of a document: system text, earlier turns, then pictures and question."""

    def turn(role: str, said: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": said}]}

    earlier = [turn("system", doc["system"])] if doc["system"] else []
    for asked, said in doc["shots"]:
        earlier += [turn("user", asked), turn("assistant", said)]
    shown = [{"type": "image", "url": picture(each)} for each in doc["pictures"]]
    return [*earlier, {"role": "user", "content": [*shown, {"type": "text", "text": doc["question"]}]}]


def right(doc: Doc, results: Sequence[str]) -> dict[str, float]:
    """The share of the answers that have all words of the right one, in their order."""
    wanted = _words(doc["answer"])
    found = [_inside(wanted, _words(answer)) for answer in results]
    return {"right": sum(found) / len(found)}


def _words(said: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", said.lower())


def _inside(wanted: Sequence[str], words: Sequence[str]) -> bool:
    rest = iter(words)
    return bool(wanted) and all(word in rest for word in wanted)
