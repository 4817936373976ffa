"""Instances for the adapter's tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from mm_eval.data.places import Places
from mm_eval.data.sound.clip import Sound, sound_of
from mm_eval.values.types import AUDIO_MARK, IMAGE_MARK, Answer, Instance


def picture(width: int, height: int, seed: int = 0) -> Image.Image:
    """Coloured blocks, other ones for another seed."""
    blocks = np.random.RandomState(seed).randint(0, 256, (height // 4 + 1, width // 4 + 1, 3)).astype(np.uint8)
    return Image.fromarray(blocks).resize((width, height))


def digest(image: Image.Image) -> str:
    return hashlib.sha256(repr(image.size).encode() + image.tobytes()).hexdigest()


def sound(seconds: float, tone: float, rate: int = 16_000, channels: int = 1) -> Sound:
    """A tone with noise, the same for the same numbers."""
    times = np.arange(round(seconds * rate)) / rate
    noise = np.random.RandomState(int(tone)).randn(len(times), channels)
    samples = 0.4 * np.sin(2 * np.pi * tone * times)[:, None] + 0.1 * noise
    found = sound_of({"array": samples.astype(np.float32).T, "sampling_rate": rate}, Places())
    assert found is not None
    return found


def instance(
    text: str,
    pictures: Sequence[Image.Image] = (),
    sounds: Sequence[Sound] = (),
    *,
    chat: bool = True,
    doc_id: int = 0,
    **fields: Any,
) -> Instance:
    """A question with pictures and sounds in front, as chat or plain text; a continuation makes it a loglikelihood."""
    parts = (
        [{"type": "image"} for _ in pictures] + [{"type": "audio"} for _ in sounds] + [{"type": "text", "text": text}]
    )
    if sounds:
        fields |= {"sounds": lambda: list(sounds), "heard": tuple(each.heard for each in sounds)}
        if not chat:
            text = f"{IMAGE_MARK}\n" * len(pictures) + f"{AUDIO_MARK}\n" * len(sounds) + text
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
