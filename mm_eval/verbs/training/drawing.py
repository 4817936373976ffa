"""A drawing of lines, areas, dots and texts as SVG, for pages.

    drawing = Drawing(640, 360)
    drawing.line([(0, 0), (10, 5)], "#0072b2")
    drawing.svg()

Dark on white, with text as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from mm_eval.values.safe import html

Place: TypeAlias = tuple[float, float]
Anchor = Literal["start", "middle", "end"]
EDGE = 1.5
"""Thickness of the edge of a dot."""
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"


@dataclass
class Drawing:
    """Shapes in the order in which they are drawn; a later one covers an earlier one. Lengths are in pixels."""

    width: float
    height: float
    title: str = ""
    _shapes: list[str] = field(default_factory=list)

    def line(self, places: Sequence[Place], colour: str, thick: float = 1.0) -> None:
        points = _points(places)
        self._shapes.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{thick:g}"/>')

    def area(self, places: Sequence[Place], colour: str) -> None:
        self._shapes.append(f'<polygon points="{_points(places)}" fill="{colour}"/>')

    def dot(self, place: Place, radius: float, colour: str, edge: str = "") -> None:
        (x, y), stroke = place, f' stroke="{edge}" stroke-width="{EDGE:g}"' if edge else ""
        self._shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"{stroke}/>')

    def text(self, x: float, y: float, text: str, size: float, colour: str, anchor: Anchor = "start") -> None:
        """A line of text. y: of its base."""
        looks = f'font-size="{size:g}" fill="{colour}" text-anchor="{anchor}"'
        self._shapes.append(f'<text x="{x:.1f}" y="{y:.1f}" {looks}>{html(text)}</text>')

    def svg(self) -> str:
        """The drawing's text."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
        head += f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="{FONT}" role="img">'
        ground = '<rect width="100%" height="100%" fill="white"/>'
        return "\n".join([head, f"<title>{html(self.title)}</title>", ground, *self._shapes, "</svg>", ""])


def _points(places: Sequence[Place]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


@cache
def _font(size: float) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def width_of(text: str, size: float) -> float:
    """About how wide a text is."""
    return float(_font(size).getlength(text))
