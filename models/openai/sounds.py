"""Sounds in a request: the forms in which servers take them, and a tone that shows whether one hears at all."""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import pi, sin
from typing import Final

from mm_eval.data.sound.forms import MIME
from mm_eval.values.errors import DataError
from mm_eval.values.types import Audible

WAYS: Final = {
    "input_audio": ("wav", "mp3"),
    "data_url": ("wav", "mp3"),
    "audio_url": ("wav", "mp3", "flac", "ogg"),
}
"""The ways in which a sound is sent, and the forms of files that servers take in each: a part of OpenAI's protocol (vLLM and
llama.cpp read it too), the same with a data URL in place of the bare data (DashScope), and vLLM's and SGLang's own part."""
HINT = "audio=input_audio, data_url or audio_url in --model_args chooses how sounds are sent."
MEGABYTE = 1_000_000


def sound_part(sound: Audible, put: Callable[[bytes], str], way: str, most: int) -> dict[str, object]:
    """A sound as a part of a message: its own file where the server takes its form, else a WAV as it is stored.

    put: gives what stands for base64. most: bytes of a file. Raises DataError for a larger one, or one that can't be read.
    """
    form, content = sound.encoded(WAYS[way])
    if len(content) > most:
        size = f"{len(content) / MEGABYTE:.1f} MB as {form}, more than {most / MEGABYTE:g} MB"
        what = f"a sound of {sound.duration:.1f} s has {size}."
        raise DataError(what, hint="Raise max_audio_mb if the server takes larger requests.")
    return part_of(form, put(content), way)


def part_of(form: str, data: str, way: str) -> dict[str, object]:
    """A file of sound as a part of a message. data: its base64, or what stands for it."""
    url = f"data:{MIME[form]};base64,{data}"
    if way == "audio_url":
        return {"type": "audio_url", "audio_url": {"url": url}}
    return {"type": "input_audio", "input_audio": {"data": url if way == "data_url" else data, "format": form}}


def tone(seconds: float = 1.0, rate: int = 16_000) -> bytes:
    """A WAV file with a tone of 440 Hz."""
    count = round(seconds * rate)
    body = struct.pack(f"<{count}h", *(round(8000 * sin(2 * pi * 440 * n / rate)) for n in range(count)))
    of_samples = (16, 1, 1, rate, 2 * rate, 2, 16)
    head = struct.pack("<4sI8sIHHIIHH4sI", b"RIFF", 36 + len(body), b"WAVEfmt ", *of_samples, b"data", len(body))
    return head + body
