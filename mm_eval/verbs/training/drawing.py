"""A drawing of lines, areas, dots and texts, written as SVG and as PNG: no library but Pillow, which is there anyway.

    drawing = Drawing(640, 360)
    drawing.line([(0, 0), (10, 5)], "#0072b2")
    drawing.svg(), drawing.png()

Dark on white, with text as text in the SVG, so that a paper's tools can open, scale and edit it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from mm_eval.values.safe import html, in_line

Place: TypeAlias = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
SCALE = 2
"""Pixels of the PNG for each of the drawing, as screens of today show them."""
FINE = 3
"""Shapes are drawn larger by this factor and made smaller again, so that lines are smooth."""
EDGE = 1.5
"""Thickness of the edge of a dot."""
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


@dataclass
class Drawing:
    """Shapes in the order in which they are drawn; a later one covers an earlier one. Lengths are in pixels."""

    width: float
    height: float
    title: str = ""
    _svg: list[str] = field(default_factory=list)
    _shapes: list[Callable[[Any, float], None]] = field(default_factory=list)
    _texts: list[tuple[float, float, str, float, str, str]] = field(default_factory=list)

    def line(self, places: Sequence[Place], colour: str, thick: float = 1.0) -> None:
        self._svg.append(
            f'<polyline points="{_points(places)}" fill="none" stroke="{colour}" stroke-width="{thick:g}"/>'
        )
        self._shapes.append(
            lambda pen, scale: pen.line(
                [(x * scale, y * scale) for x, y in places], colour, max(1, round(thick * scale)), "curve"
            )
        )

    def area(self, places: Sequence[Place], colour: str) -> None:
        self._svg.append(f'<polygon points="{_points(places)}" fill="{colour}"/>')
        self._shapes.append(lambda pen, scale: pen.polygon([(x * scale, y * scale) for x, y in places], colour))

    def dot(self, place: Place, radius: float, colour: str, edge: str = "") -> None:
        (x, y), stroke = place, f' stroke="{edge}" stroke-width="{EDGE:g}"' if edge else ""
        self._svg.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"{stroke}/>')

        def draw(pen: Any, scale: float) -> None:
            reach = (radius + (EDGE / 2 if edge else 0)) * scale
            box = (x * scale - reach, y * scale - reach, x * scale + reach, y * scale + reach)
            pen.ellipse(box, colour, edge or None, round(EDGE * scale) if edge else 0)

        self._shapes.append(draw)

    def text(self, x: float, y: float, text: str, size: float, colour: str, anchor: Anchor = "start") -> None:
        """A line of text. y: of its base."""
        text = in_line(text)
        self._svg.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}">{html(text)}</text>'
        )
        self._texts.append((x, y, text, size, colour, anchor))

    def svg(self) -> str:
        """The file's text."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
        head += f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="{FONT}" role="img">'
        ground = '<rect width="100%" height="100%" fill="white"/>'
        return "\n".join([head, f"<title>{html(self.title)}</title>", ground, *self._svg, "</svg>", ""])

    def png(self) -> bytes:
        """The file's content."""
        from PIL import Image, ImageDraw

        size = round(self.width * SCALE), round(self.height * SCALE)
        image = Image.new("RGB", (size[0] * FINE, size[1] * FINE), "white")
        pen = ImageDraw.Draw(image)
        for draw in self._shapes:
            draw(pen, SCALE * FINE)
        image = image.resize(size, Image.Resampling.BOX)
        pen = ImageDraw.Draw(image)
        for x, y, text, height, colour, anchor in self._texts:
            at = {"start": "ls", "middle": "ms", "end": "rs"}[anchor]
            pen.text((x * SCALE, y * SCALE), text, colour, _font(height * SCALE), at)
        out = io.BytesIO()
        image.save(out, "PNG", optimize=True)
        return out.getvalue()


def _points(places: Sequence[Place]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


@cache
def _font(size: float) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def width_of(text: str, size: float) -> float:
    """About how wide a text is."""
    return float(_font(size).getlength(text))
