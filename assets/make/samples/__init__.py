"""The samples of the release benchmarks, one module a benchmark: each has `samples() -> list[Sample]`.

A sample keeps the hub's schema (columns, types, configurations, splits) with questions and pictures of our own.
"""

import hashlib
import io
import random
from dataclasses import dataclass, field
from typing import Any

import scenes
from drawing import Picture
from pictures import DRAW
from PIL import Image

Row = dict[str, Any]


@dataclass
class Sample:
    """The rows of one split of one configuration.

    hub_id: "owner/name". split: as on the hub. config: the configuration; "default" where the hub has only one.
    features: column -> `datasets` feature, in the hub's order. rows: one mapping a document.
    files: further files of the data set, such as archives of videos: {path: content}.
    repeats: several rows show one picture, which is written once.
    """

    hub_id: str
    split: str
    features: dict[str, Any]
    rows: list[Row] = field(repr=False)
    config: str = "default"
    files: dict[str, bytes] = field(default_factory=dict, repr=False)
    repeats: bool = False


def rng(*names: object) -> random.Random:
    """A random stream of its own for these names, the same on every machine."""
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def drawn(kind: str, *names: object) -> Picture:
    """A drawn picture of 96 x 96 pixels with what is known about it; kind: "scene" or a key of pictures.DRAW."""
    stream = rng(kind, *names)
    return scenes.draw_scene(stream) if kind == "scene" else DRAW[kind](stream)


def png(image: Image.Image, name: str | None = None) -> dict[str, Any]:
    """A picture as a cell of an Image column, with at most 64 colours, so that a sample stays small."""
    buffer = io.BytesIO()
    image.convert("RGB").quantize(64).convert("P").save(buffer, "PNG", optimize=True)
    return {"bytes": buffer.getvalue(), "path": name}


def page(text: str, size: tuple[int, int] = (160, 96)) -> Image.Image:
    """A white picture with lines of black text, for documents, charts and questions in pictures."""
    from PIL import ImageDraw

    made = Image.new("RGB", size, "white")
    ImageDraw.Draw(made).multiline_text((4, 4), text, fill="black", spacing=2)
    return made
