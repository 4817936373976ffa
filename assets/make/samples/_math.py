"""Small pictures for problems of mathematics: dots, bars, sides, clocks, dice; all drawn from their numbers."""

import math
from collections.abc import Sequence

from PIL import Image, ImageDraw

SIZE = 112


def _canvas() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGB", (SIZE, SIZE), "white")
    return image, ImageDraw.Draw(image)


def dots(count: int, color: str = "navy") -> Image.Image:
    """So many dots in rows of five."""
    image, pen = _canvas()
    for n in range(count):
        x, y = 16 + 20 * (n % 5), 16 + 20 * (n // 5)
        pen.ellipse((x - 6, y - 6, x + 6, y + 6), fill=color)
    return image


def bars(values: Sequence[int], labels: Sequence[str]) -> Image.Image:
    """A bar chart with the values above the bars."""
    image, pen = _canvas()
    wide = (SIZE - 16) // len(values)
    for n, (value, label) in enumerate(zip(values, labels, strict=True)):
        x, tall = 10 + n * wide, 70 * value // max(values)
        pen.rectangle((x, 92 - tall, x + wide - 8, 92), fill=("teal", "orange", "purple", "crimson", "gray")[n % 5])
        pen.text((x, 80 - tall), str(value), fill="black")
        pen.text((x, 96), label, fill="black")
    return image


def rectangle(wide: str, tall: str) -> Image.Image:
    """A rectangle with its two sides named."""
    image, pen = _canvas()
    pen.rectangle((22, 30, 94, 78), outline="black", width=2)
    pen.text((52, 82), wide, fill="black")
    pen.text((4, 48), tall, fill="black")
    return image


def triangle(sides: Sequence[str]) -> Image.Image:
    """A right-angled triangle; sides: the upright one, the lower one, the long one."""
    image, pen = _canvas()
    pen.polygon([(24, 20), (24, 86), (96, 86)], outline="black")
    pen.rectangle((24, 78, 32, 86), outline="black")
    for place, side in zip(((4, 48), (54, 90), (64, 40)), sides, strict=True):
        pen.text(place, side, fill="black")
    return image


def clock(hour: int, minute: int) -> Image.Image:
    """A clock's face."""
    image, pen = _canvas()
    pen.ellipse((8, 8, 104, 104), outline="black", width=2)
    for n in range(12):
        angle = math.radians(30 * n)
        pen.line(
            (
                56 + 42 * math.sin(angle),
                56 - 42 * math.cos(angle),
                56 + 46 * math.sin(angle),
                56 - 46 * math.cos(angle),
            ),
            fill="black",
            width=2,
        )
    for angle, length, width in ((30 * (hour % 12) + minute / 2, 24, 4), (6 * minute, 38, 2)):
        turned = math.radians(angle)
        pen.line((56, 56, 56 + length * math.sin(turned), 56 - length * math.cos(turned)), fill="black", width=width)
    return image


def cells(rows: Sequence[str]) -> Image.Image:
    """A grid of characters; "#" is a dark cell."""
    image, pen = _canvas()
    side = 100 // max(len(rows), max(map(len, rows)))
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            box = (6 + x * side, 6 + y * side, 6 + (x + 1) * side, 6 + (y + 1) * side)
            pen.rectangle(box, fill="dimgray" if text == "#" else "white", outline="black")
            if text not in "# ":
                pen.text((box[0] + side // 2 - 3, box[1] + side // 2 - 6), text, fill="black")
    return image


def parabola(a: float, c: float) -> Image.Image:
    """The curve y = a x^2 + c between -5 and 5."""
    image, pen = _canvas()
    pen.line((0, 56, SIZE, 56), fill="gray")
    pen.line((56, 0, 56, SIZE), fill="gray")
    points = [(56 + x, 56 - 10 * (a * (x / 10) ** 2 + c)) for x in range(-50, 51, 2)]
    pen.line([point for point in points if -20 <= point[1] <= SIZE + 20], fill="crimson", width=2)
    return image
