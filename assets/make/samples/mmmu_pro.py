"""MMMU-Pro: questions with two to ten options on one or two drawn pictures, and the same ones as pictures."""

import textwrap
from typing import Any

from drawing import COLORS, SHAPES
from scenes import Scene

from samples import Row, Sample, drawn, page, png, rng

LIMIT = 7
SUBJECTS = ("Art", "Art_Theory", "Design", "History", "Literature", "Math", "Physics", "Sociology")


def features(vision: bool) -> dict[str, Any]:
    """The hub's columns of the standard or the vision configuration."""
    from datasets import Image, Value

    text = Value("string")
    if vision:
        return {"id": text, "image": Image(), "options": text, "answer": text, "subject": text}
    pictures = {f"image_{n}": Image() for n in range(1, LIMIT + 1)}
    last = ("img_type", "answer", "topic_difficulty", "subject")
    return {
        **dict.fromkeys(("id", "question", "options", "explanation"), text),
        **pictures,
        **dict.fromkeys(last, text),
    }


def question(place: int) -> tuple[str, list[str], str, list[Scene]]:
    """(question with tokens, options, the right one, its pictures)"""
    stream = rng("mmmu_pro", place)
    scenes = [scene for n in range(99) if (scene := distinct(place, n))][: 2 if place % 4 == 3 else 1]
    thing = stream.choice(scenes[0].things)
    if place % 4 == 3:
        others = [each.name for each in scenes[1].things]
        right = next((each.name for each in scenes[0].things if each.name not in others), thing.name)
        names = [right, *(f"{color} {shape}" for color, shape in zip(COLORS, SHAPES, strict=False))]
        options = sorted(dict.fromkeys(names))[:10]
        options = options if right in options else [*options, right]
        return "What does <image 1> show that <image 2> does not?", options, right, scenes
    if place % 4 == 2:
        return (
            f"How many shapes are in <image 1>, with the {thing.name}?",
            [*"123456789", "10"],
            str(len(scenes[0].things)),
            scenes,
        )
    options = sorted(COLORS) if place % 4 == 1 else [*SHAPES, "heart", "arrow", "ring", "moon", "leaf"]
    asked = (
        f"Which colour has the {thing.shape} in <image 1>?" if place % 4 == 1 else f"<image 1> What is {thing.color}?"
    )
    return asked, options, thing.color if place % 4 == 1 else thing.shape, scenes


def distinct(place: int, attempt: int) -> Scene | None:
    """A scene in which colour and shape each tell the things apart."""
    scene = drawn("scene", "mmmu_pro", place, attempt)
    assert isinstance(scene, Scene)
    kinds = {thing.shape for thing in scene.things}, {thing.color for thing in scene.things}
    return scene if not scene.word and all(len(kind) == len(scene.things) for kind in kinds) else None


def samples() -> list[Sample]:
    """Eight questions in both configurations."""
    standard, vision = list[Row](), list[Row]()
    for place, subject in enumerate(SUBJECTS):
        asked, options, right, scenes = question(place)
        answer = "ABCDEFGHIJKL"[options.index(right)]
        shared = {"id": f"{'test' if place % 2 else 'validation'}_{subject}_{place + 3}", "options": str(options)}
        cells = {f"image_{n}": png(scenes[n - 1].image) if n <= len(scenes) else None for n in range(1, LIMIT + 1)}
        types = {"img_type": str(["Diagrams"]), "topic_difficulty": ("Easy", "Medium", "Hard")[place % 3]}
        standard.append(
            {**shared, "question": asked, "explanation": "?", **cells, **types, "answer": answer, "subject": subject}
        )
        whole = page("", (240, 230))
        for n, scene in enumerate(scenes):
            whole.paste(scene.image, (4 + 110 * n, 4))
        lines = textwrap.wrap(asked, 38) + [
            f"{letter}. {text}" for letter, text in zip("ABCDEFGHIJKL", options, strict=False)
        ]
        whole.paste(page("\n".join(lines[:2]), (232, 28)), (4, 102))
        whole.paste(page("\n".join(lines[2:8]), (116, 98)), (4, 130))
        whole.paste(page("\n".join(lines[8:]), (110, 98)), (126, 130))
        vision.append({**shared, "image": png(whole), "answer": answer, "subject": subject})
    return [
        Sample("MMMU/MMMU_Pro", "test", features(False), standard, "standard (10 options)"),
        Sample("MMMU/MMMU_Pro", "test", features(True), vision, "vision"),
    ]
