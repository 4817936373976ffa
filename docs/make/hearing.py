"""The table of docs/guides/hearing.md, made of the model families when the documentation is built."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from mm_eval.models.hf.families import FAMILIES, NEEDS
from mm_eval.models.hf.prompts.sounds import SoundInput
from mm_eval.models.hf.transcriber import TRANSCRIBERS
from tables import table

KEPT = {
    "all": "whole",
    "window": "its extractor's window (`n_samples`)",
    "windows": "`max_audio_len` of its processor, in whole windows",
}


def made() -> str:
    """The table."""
    columns = ("model type", "beside", "how much of a sound it gets", "sounds in a prompt", "batches")
    text: str = table(columns, rows())
    return text


def rows() -> Iterator[list[str]]:
    """The cells of each type that hears, of those that transcribe, and of those that are refused."""
    for name, family in sorted(FAMILIES.items()):
        if (kind := family.sound) is not None:
            beside = "text" if not family.sees else "text, pictures"
            yield [f"`{name}`", beside, kept(kind), most(kind), batches(kind) if family.batched else "no"]
    for name, transcriber in sorted(TRANSCRIBERS.items()):
        batches_of = "up to a window" if transcriber.window else "no"
        yield [f"`{name}`", "nothing: `--model whisper`", "whole", "1, and none without", batches_of]
    for name, package in sorted(NEEDS.items()):
        yield [f"`{name}`", f"refused: its processor needs {package}", "", "", ""]


def kept(kind: SoundInput) -> str:
    """How much of a sound the processor keeps, in words."""
    return f"{kind.keeps / 16_000:g} s" if isinstance(kind.keeps, int) else KEPT[kind.keeps]


def most(kind: SoundInput) -> str:
    """How many sounds a prompt may have, in words."""
    if kind.needed:
        return "1, and none without"
    return "any" if kind.most is None else str(kind.most)


def batches(kind: SoundInput) -> str:
    """Which prompts share a batch, in words."""
    if kind.chunk == inf:
        return "without sound"
    return f"sounds of {kind.chunk:g} s and more" if kind.chunk else "yes"
