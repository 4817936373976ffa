"""Instances for the adapter's tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from mm_eval.values.types import Answer, Instance


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    """Coloured blocks, other ones for another seed."""
    blocks = np.random.RandomState(seed).randint(0, 256, (height // 4 + 1, width // 4 + 1, 3)).astype(np.uint8)
    return Image.fromarray(blocks).resize((width, height))


def digest(image: Image.Image) -> str:
    return hashlib.sha256(repr(image.size).encode() + image.tobytes()).hexdigest()


def instance(
    text: str, pictures: Sequence[Image.Image] = (), *, chat: bool = True, doc_id: int = 0, **fields: Any
) -> Instance:
    """A question with pictures in front, as chat messages or as plain text; a continuation makes it a loglikelihood."""
    parts = [{"type": "image"} for _ in pictures] + [{"type": "text", "text": text}]
    fields.setdefault("context", [{"role": "user", "content": parts}] if chat else text)
    fields.setdefault("images", (lambda: [image.copy() for image in pictures]) if pictures else None)
    fields.setdefault("image_digests", tuple(digest(image) for image in pictures))
    kind = "loglikelihood" if "continuation" in fields else "generate_until"
    return Instance(fields.pop("request_type", kind), "a_task", doc_id, {}, **fields)


def mixed(images: bool = True, **fields: Any) -> list[Instance]:
    """Five questions with 1, 0, 2, 1 and 1 pictures of different sizes, prompts of different lengths."""
    shown: list[tuple[str, list[Image.Image]]] = [
        ("What is shown in the image?", [picture(90, 60, 1)]),
        ("No picture at all here: is there a dog?", []),
        ("Which of the two?", [picture(90, 60, 2), picture(40, 56, 3)]),
        ("Is there a person?", [picture(60, 60, 4)]),
        ("Please answer the question using a single word. What is the color of the car?", [picture(56, 120, 5)]),
    ]
    return [instance(t, p if images else [], doc_id=n, **fields) for n, (t, p) in enumerate(shown)]


def outputs(answers: Any) -> dict[tuple[int, int], Any]:
    """{(doc id, choice): output}, or the error in its place; each instance exactly once."""
    found: dict[tuple[int, int], Any] = {}
    for asked, answer in answers:
        key = (asked.doc_id, asked.choice)
        assert key not in found, f"{key} was answered twice"
        found[key] = answer.output if isinstance(answer, Answer) else answer
    return found
