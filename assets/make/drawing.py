"""What every drawn picture shares: size, palette, words, fonts, shapes and labelled regions."""

import math
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from PIL import Image, ImageDraw, ImageFont

SIZE, GRID = 96, 3
CELL = SIZE // GRID
Color = tuple[int, int, int]
Box = tuple[float, float, float, float]
COLORS: dict[str, Color] = {
    "red": (214, 40, 40),
    "green": (40, 160, 60),
    "blue": (40, 80, 214),
    "yellow": (240, 205, 30),
    "purple": (140, 50, 170),
    "black": (20, 20, 20),
}
SHAPES = ("circle", "square", "triangle", "star", "cross")
WORDS = ("STOP", "EXIT", "OPEN", "SALE", "TAXI", "CAFE", "BANK", "MILK", "12", "25", "37", "48", "50", "64")
PAPERS: tuple[Color, ...] = (
    (255, 255, 255),
    (238, 238, 238),
    (250, 240, 222),
    (222, 236, 250),
    (226, 245, 226),
)


@dataclass(frozen=True)
class Region:
    """A part of a picture and what is to be seen there; shape, color and label are empty where they do not apply."""

    box: Box
    shape: str = ""
    color: str = ""
    label: str = ""


@dataclass
class Picture:
    """A drawn picture (or the frames of a video) with the facts that questions are made of.

    kind: which drawing it is. value: what it shows, for all kinds but "scene". moves: the action at each frame of a video.
    told: the Story that a video tells.
    """

    kind: str
    frames: list[Image.Image]
    value: str = ""
    regions: list[Region] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    told: Any = None

    @property
    def image(self) -> Image.Image:
        """The only frame of a still picture."""
        (image,) = self.frames
        return image


@cache
def font(pixels: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font embedded in Pillow, so that no font file is needed."""
    return ImageFont.load_default(size=pixels)


def jitter(rng: random.Random, color: Color, by: int = 18) -> Color:
    """The colour moved by up to `by` in each channel, so that no two pictures are alike."""
    red, green, blue = (max(0, min(255, channel + rng.randint(-by, by))) for channel in color)
    return red, green, blue


def paper(rng: random.Random) -> tuple[Image.Image, ImageDraw.ImageDraw]:
    """An empty light picture and the pen to draw on it."""
    image = Image.new("RGB", (SIZE, SIZE), jitter(rng, rng.choice(PAPERS), 6))
    return image, ImageDraw.Draw(image)


def polygon(shape: str, x: float, y: float, r: float) -> list[tuple[float, float]]:
    """The corners of a triangle, star or cross around (x, y)."""
    if shape == "triangle":
        return [(x, y - r), (x + r, y + r), (x - r, y + r)]
    if shape == "star":
        reach = [r * 1.1 if corner % 2 == 0 else r * 0.45 for corner in range(10)]
        return [(x + d * math.sin(k * math.pi / 5), y - d * math.cos(k * math.pi / 5)) for k, d in enumerate(reach)]
    t = r * 0.38
    arm = [(t, -r), (t, -t), (r, -t), (r, t), (t, t), (t, r), (-t, r), (-t, t), (-r, t), (-r, -t), (-t, -t), (-t, -r)]
    return [(x + dx, y + dy) for dx, dy in arm]


def draw_shape(pen: ImageDraw.ImageDraw, shape: str, x: float, y: float, r: float, fill: Color) -> Box:
    """Draws one of SHAPES and returns its box."""
    box = (x - r, y - r, x + r, y + r)
    if shape == "circle":
        pen.ellipse(box, fill=fill)
    elif shape == "square":
        pen.rectangle(box, fill=fill)
    else:
        pen.polygon(polygon(shape, x, y, r), fill=fill)
    return box


def draw_text(pen: ImageDraw.ImageDraw, text: str, x: float, y: float, pixels: int, fill: Color = (30, 30, 30)) -> Box:
    """Writes text with its ink starting at (x, y) and returns the ink's box."""
    x0, y0, x1, y1 = pen.textbbox((0, 0), text, font=font(pixels))
    pen.text((x - x0, y - y0), text, font=font(pixels), fill=fill)
    return (x, y, x + x1 - x0, y + y1 - y0)


def text_size(pen: ImageDraw.ImageDraw, text: str, pixels: int) -> tuple[int, int]:
    """Width and height of the text's ink."""
    x0, y0, x1, y1 = pen.textbbox((0, 0), text, font=font(pixels))
    return int(x1 - x0), int(y1 - y0)
