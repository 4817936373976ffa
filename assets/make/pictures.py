"""Pictures that show one nameable thing: places, posters, landmarks, faces, artworks, sums, code, words, rules, acts.

All people, landmarks and titles are invented. Every drawing jitters its colours and places, so that two draws differ.
"""

import math
import random
from collections.abc import Callable

from drawing import COLORS, SIZE, Color, Picture, Region, draw_shape, draw_text, jitter, paper, text_size
from PIL import Image, ImageDraw

WHOLE = (0, 0, SIZE, SIZE)
Pen = ImageDraw.ImageDraw
SKY, GRASS, SAND, SEA = (150, 200, 240), (90, 170, 80), (236, 206, 130), (50, 110, 190)

LOCATIONS = ("beach", "forest", "city", "desert", "mountain", "farm")
TITLES = ("MOON", "FISH", "TREE", "SHIP", "HOME", "KING", "SUN", "BALL")
LANDMARKS = ("Varen Tower", "Ostra Bridge", "Kelmar Dome", "Lund Arch", "Pirro Wheel", "Sabel Pyramid")
FACES = ("Anna", "Bruno", "Carla", "David", "Elena", "Felix")
STYLES = ("stripes", "dots", "checks", "rings", "waves", "diamonds")
SPANISH = {
    "SOL": "sun",
    "LUNA": "moon",
    "PAN": "bread",
    "CASA": "house",
    "GATO": "cat",
    "MESA": "table",
    "VINO": "wine",
    "FLOR": "flower",
}
STATES = ("rain", "sun", "snow", "night", "red light", "yellow light", "green light", "full", "half full", "empty")
OUTPUTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16)
ACTS = ("kicking the ball", "holding the ball", "lifting the ball", "sitting on the ball")


def canvas(color: Color, rng: random.Random) -> tuple[Image.Image, Pen]:
    """A picture of one colour, jittered, and the pen to draw on it."""
    image = Image.new("RGB", (SIZE, SIZE), jitter(rng, color, 12))
    return image, ImageDraw.Draw(image)


def named(kind: str, value: str, image: Image.Image, regions: list[Region] | None = None) -> Picture:
    """A picture of one thing; without regions the whole picture is labelled by it."""
    return Picture(kind, [image], value, regions or [Region(WHOLE, label=value)])


def location(rng: random.Random) -> Picture:
    """A landscape."""
    value = rng.choice(LOCATIONS)
    image, pen = canvas(SKY, rng)
    y = rng.randint(38, 54)
    ground = {"beach": SAND, "desert": (226, 180, 90), "city": (120, 120, 125)}.get(value, GRASS)
    pen.rectangle((0, y, SIZE, SIZE), fill=jitter(rng, ground, 12))
    if value == "beach":
        pen.rectangle((0, y, SIZE, y + rng.randint(14, 24)), fill=jitter(rng, SEA, 12))
    for x in range(rng.randint(2, 10), SIZE, rng.randint(22, 27)):
        dark = jitter(rng, (30, 100, 45), 12)
        if value == "forest":
            tall = rng.randint(34, 46)
            pen.rectangle((x - 2, y, x + 2, y + 20), fill=(110, 75, 40))
            pen.polygon([(x, y - tall + 20), (x + 13, y + 12), (x - 13, y + 12)], fill=dark)
        elif value == "city":
            top = y - rng.randint(12, 34)
            pen.rectangle((x - 9, top, x + 9, y + 18), fill=jitter(rng, (110, 110, 140), 25))
            for row in range(top + 4, y + 12, 8):
                pen.rectangle((x - 6, row, x - 2, row + 3), fill=(250, 235, 130))
                pen.rectangle((x + 2, row, x + 6, row + 3), fill=(250, 235, 130))
        elif value == "desert" and rng.random() < 0.7:
            pen.rectangle((x - 2, y - 8, x + 2, y + 18), fill=dark)
            pen.rectangle((x - 8, y, x + 8, y + 3), fill=dark)
            pen.rectangle((x - 8, y - 6, x - 6, y), fill=dark)
        elif value == "mountain":
            tall = rng.randint(28, 38)
            pen.polygon([(x, y - tall), (x + 24, y + 4), (x - 24, y + 4)], fill=jitter(rng, (125, 115, 110)))
            pen.polygon([(x, y - tall), (x + 7, y - tall + 10), (x - 7, y - tall + 10)], fill=(255, 255, 255))
        elif value == "farm":
            pen.line((x, y, x - 20, SIZE), fill=jitter(rng, (150, 110, 50)), width=5)
    if value == "farm":
        x = rng.randint(14, 60)
        pen.rectangle((x, y - 14, x + 24, y + 8), fill=jitter(rng, (180, 40, 40)))
        pen.polygon([(x - 3, y - 14), (x + 27, y - 14), (x + 12, y - 26)], fill=(90, 60, 50))
    if value in ("beach", "desert"):
        draw_shape(pen, "circle", rng.randint(14, 82), rng.randint(12, 18), 8, (255, 225, 60))
    return named("location", value, image)


def poster(rng: random.Random) -> Picture:
    """A film poster: a symbol with its title below."""
    value = rng.choice(TITLES)
    back = rng.choice([(40, 45, 90), (120, 30, 50), (30, 90, 90), (70, 60, 70)])
    image, pen = canvas(back, rng)
    pixels = rng.randint(22, 25)
    width, height = text_size(pen, value, pixels)
    y = SIZE - height - rng.randint(4, 9)
    text = draw_text(pen, value, (SIZE - width) // 2 + rng.randint(-6, 6), y, pixels, (250, 250, 240))
    x, y, light = rng.randint(34, 62), rng.randint(29, 37), jitter(rng, (230, 200, 90), 20)
    if value == "MOON":
        pen.ellipse((x - 20, y - 20, x + 20, y + 20), fill=light)
        pen.ellipse((x - 10, y - 22, x + 28, y + 16), fill=image.getpixel((1, 1)))
    elif value == "FISH":
        pen.ellipse((x - 22, y - 11, x + 14, y + 11), fill=light)
        pen.polygon([(x + 10, y), (x + 26, y - 11), (x + 26, y + 11)], fill=light)
    elif value == "TREE":
        pen.rectangle((x - 4, y, x + 4, y + 24), fill=(120, 80, 40))
        pen.ellipse((x - 17, y - 24, x + 17, y + 8), fill=jitter(rng, (70, 170, 80)))
    elif value == "SHIP":
        pen.polygon([(x - 26, y + 8), (x + 26, y + 8), (x + 16, y + 22), (x - 16, y + 22)], fill=light)
        pen.polygon([(x, y - 24), (x, y + 4), (x + 20, y + 4)], fill=(245, 245, 245))
    elif value == "HOME":
        pen.rectangle((x - 16, y - 4, x + 16, y + 22), fill=light)
        pen.polygon([(x - 22, y - 4), (x + 22, y - 4), (x, y - 24)], fill=jitter(rng, (200, 60, 50)))
    elif value == "KING":
        points = [(-22, 16), (-22, -14), (-11, 2), (0, -20), (11, 2), (22, -14), (22, 16)]
        pen.polygon([(x + dx, y + dy) for dx, dy in points], fill=light)
    elif value == "SUN":
        for k in range(8):
            dx, dy = 25 * math.cos(k * math.pi / 4), 25 * math.sin(k * math.pi / 4)
            pen.line((x, y, x + dx, y + dy), fill=light, width=4)
        pen.ellipse((x - 14, y - 14, x + 14, y + 14), fill=light)
    else:
        pen.ellipse((x - 19, y - 19, x + 19, y + 19), fill=jitter(rng, (240, 240, 240), 10))
        pen.line((x - 19, y, x + 19, y), fill=(200, 40, 40), width=6)
    return named("poster", value, image, [Region((0, 0, SIZE, 58), label=value), Region(text, label=value)])


def landmark(rng: random.Random) -> Picture:
    """An invented building, always in its own form and about its own colour."""
    value = rng.choice(LANDMARKS)
    image, pen = canvas((190, 215, 240), rng)
    floor = rng.randint(74, 84)
    pen.rectangle((0, floor, SIZE, SIZE), fill=jitter(rng, (130, 165, 120), 15))
    x, size = rng.randint(40, 56), rng.randint(-4, 4)
    if value == "Varen Tower":
        red = jitter(rng, (200, 50, 50))
        pen.polygon([(x, 8), (x + 4, 8), (x + 15 + size, floor), (x - 11 - size, floor)], fill=red)
        pen.rectangle((x - 9, 40, x + 13, 45), fill=(250, 250, 250))
    elif value == "Ostra Bridge":
        blue = jitter(rng, (50, 80, 180))
        pen.rectangle((0, floor - 14, SIZE, floor - 8), fill=blue)
        for tower in (x - 24, x + 24):
            pen.rectangle((tower - 3, 28 + size, tower + 3, floor + 4), fill=blue)
            pen.line((tower, 28 + size, tower - 24, floor - 12), fill=blue, width=2)
            pen.line((tower, 28 + size, tower + 24, floor - 12), fill=blue, width=2)
    elif value == "Kelmar Dome":
        pen.rectangle((x - 26, floor - 22, x + 26, floor), fill=jitter(rng, (235, 230, 215), 10))
        pen.pieslice((x - 24, 26 + size, x + 24, floor + 18 - size), 180, 360, fill=jitter(rng, (225, 180, 40)))
    elif value == "Lund Arch":
        gray = jitter(rng, (130, 125, 125))
        pen.arc((x - 30, 24 + size, x + 30, floor + 40), 180, 360, fill=gray, width=13)
    elif value == "Pirro Wheel":
        purple, y = jitter(rng, (140, 50, 170)), 44 + size
        for k in range(4):
            dx, dy = 30 * math.cos(k * math.pi / 4), 30 * math.sin(k * math.pi / 4)
            pen.line((x - dx, y - dy, x + dx, y + dy), fill=purple, width=2)
        pen.ellipse((x - 30, y - 30, x + 30, y + 30), outline=purple, width=5)
        pen.line((x, y, x, floor), fill=(60, 60, 60), width=5)
    else:
        pen.polygon([(x, 22 + size), (x + 38, floor), (x - 38, floor)], fill=jitter(rng, (230, 190, 90)))
        pen.polygon([(x, 22 + size), (x + 38, floor), (x + 8, floor)], fill=jitter(rng, (190, 145, 60)))
    return named("landmark", value, image)


def face(rng: random.Random) -> Picture:
    """A cartoon face; the name follows from hair colour, hair length, glasses, beard and hat."""
    value = rng.choice(FACES)
    image, pen = paper(rng)
    x, y, r = rng.randint(42, 54), rng.randint(48, 56), rng.randint(23, 27)
    hair = {"Anna": (240, 210, 70), "Bruno": (30, 25, 25), "Carla": (200, 70, 30), "David": (150, 150, 150)}
    color = jitter(rng, hair.get(value, (60, 40, 25)), 15)
    if value in ("Anna", "Elena"):
        pen.rectangle((x - r - 6, y - 8, x + r + 6, y + r + 12), fill=color)
    pen.pieslice((x - r - 5, y - r - 8, x + r + 5, y + r), 180, 360, fill=color)
    skin = rng.choice([(245, 210, 180), (225, 180, 140), (180, 130, 95)])
    pen.ellipse((x - r, y - r, x + r, y + r), fill=jitter(rng, skin, 10))
    if value in ("Bruno", "David"):
        pen.pieslice((x - r, y - r, x + r, y + r), 25, 155, fill=color)
    for eye in (x - 9, x + 9):
        pen.ellipse((eye - 2, y - 7, eye + 2, y - 3), fill=(20, 20, 40))
        if value in ("Carla", "Elena"):
            pen.ellipse((eye - 7, y - 12, eye + 7, y + 2), outline=(20, 20, 20), width=2)
    pen.arc((x - 9, y + 2, x + 9, y + 15), 20, 160, fill=(170, 40, 50), width=2)
    if value in ("David", "Felix"):
        hat = jitter(rng, (40, 80, 200) if value == "David" else (40, 150, 60))
        pen.rectangle((x - r - 6, y - r + 4, x + r + 6, y - r + 9), fill=hat)
        pen.rectangle((x - r + 5, y - r - 14, x + r - 5, y - r + 6), fill=hat)
    return named("face", value, image)


def artwork(rng: random.Random) -> Picture:
    """A framed pattern of two colours."""
    value = rng.choice(STYLES)
    ground, ink = rng.sample([*COLORS.values(), (245, 245, 240), (240, 150, 40)], 2)
    image, pen = canvas(ground, rng)
    fill, step, start = jitter(rng, ink), rng.randint(13, 18), rng.randint(2, 12)
    across = rng.random() < 0.5
    for k in range(start - step, SIZE, step):
        if value == "stripes":
            pen.rectangle((k, 0, k + step // 2, SIZE) if across else (0, k, SIZE, k + step // 2), fill=fill)
        elif value == "rings":
            outer = (48 - k // 2, 48 - k // 2, 48 + k // 2, 48 + k // 2)
            if k > 0:
                pen.ellipse(outer, outline=fill, width=3)
        elif value == "waves":
            pen.line([(t, k + 5 * math.sin(t / 5)) for t in range(0, SIZE, 2)], fill=fill, width=4)
        for row, j in enumerate(range(start - step, SIZE, step)):
            middle = (k + step / 2, j + step / 2)
            if value == "dots":
                draw_shape(pen, "circle", *middle, step * 0.3, fill)
            elif value == "checks" and (row + (k - start) // step) % 2:
                pen.rectangle((k, j, k + step - 1, j + step - 1), fill=fill)
            elif value == "diamonds":
                (a, b), h = middle, step * 0.45
                pen.polygon([(a - h, b), (a, b - h), (a + h, b), (a, b + h)], fill=fill)
    pen.rectangle((0, 0, SIZE - 1, SIZE - 1), outline=jitter(rng, (120, 80, 40), 15), width=6)
    return named("artwork", value, image)


def _written(rng: random.Random, pen: Pen, text: str, x: int, y: int, pixels: int) -> list[Region]:
    """Writes character by character, so that each one has its region; spaces advance only."""
    regions = []
    for char in text:
        if char != " ":
            box = draw_text(pen, char, x, y + (pixels // 3 if char in "-+*=" else 0), pixels)
            regions.append(Region((box[0] - 1, y, box[2] + 1, y + pixels), label=char))
        x += int(text_size(pen, char, pixels)[0]) + 4 if char != " " else 5
    return regions


def arithmetic(rng: random.Random) -> Picture:
    """A sum or difference of digits; the value is its result, each one as likely, so that no guess is better."""
    value = rng.randint(1, 10)
    pairs = [(a, b) for a in range(1, 6) for b in range(1, 6)]
    texts = [f"{a} + {b}" for a, b in pairs if a + b == value] + [f"{a} - {b}" for a, b in pairs if a - b == value]
    image, pen = paper(rng)
    regions = _written(rng, pen, rng.choice(texts), rng.randint(6, 24), rng.randint(18, 52), rng.randint(26, 30))
    return named("arithmetic", str(value), image, regions)


def code(rng: random.Random) -> Picture:
    """A Python call of print with a sum or product, over three lines so that the digits stay large."""
    value = rng.choice(OUTPUTS)
    pairs = [(a, b) for a in range(1, 5) for b in range(1, 5)]
    texts = [f"{a} + {b}" for a, b in pairs if a + b == value] + [f"{a} * {b}" for a, b in pairs if a * b == value]
    image, pen = canvas((250, 250, 246), rng)
    pen.rectangle((0, 0, 5, SIZE), fill=jitter(rng, (60, 90, 160), 25))
    x, y, pixels = rng.randint(10, 18), rng.randint(6, 14), rng.randint(21, 24)
    draw_text(pen, "print(", x, y, pixels, (40, 60, 150))
    regions = _written(rng, pen, rng.choice(texts), x + rng.randint(8, 14), y + 30, pixels)
    draw_text(pen, ")", x, y + 56, pixels, (40, 60, 150))
    return named("code", str(value), image, regions)


def translation(rng: random.Random) -> Picture:
    """A Spanish word on a card; the value is its English translation."""
    word = rng.choice(list(SPANISH))
    image, pen = paper(rng)
    pixels = rng.randint(22, 25)
    width, height = text_size(pen, word, pixels)
    x, y = rng.randint(8, SIZE - width - 8), rng.randint(14, SIZE - height - 14)
    card = rng.choice([(255, 235, 160), (205, 235, 255), (255, 215, 215)])
    pen.rectangle((x - 7, y - 8, x + width + 7, y + height + 8), fill=jitter(rng, card, 10), outline=(120, 120, 120))
    return named("translation", SPANISH[word], image, [Region(draw_text(pen, word, x, y, pixels), label=word)])


def state(rng: random.Random) -> Picture:
    """Weather, a traffic light or a glass of water: what common sense is asked about."""
    value = rng.choice(STATES)
    if value in STATES[:4]:
        sky = {"rain": (150, 160, 175), "sun": (120, 190, 245), "snow": (205, 215, 228), "night": (20, 22, 60)}[value]
        image, pen = canvas(sky, rng)
        ground = (250, 250, 252) if value == "snow" else (50, 80, 55) if value == "night" else (100, 170, 85)
        pen.rectangle((0, rng.randint(70, 80), SIZE, SIZE), fill=jitter(rng, ground, 5))
        x, y = rng.randint(24, 72), rng.randint(18, 26)
        if value in ("sun", "night"):
            light = (255, 220, 50) if value == "sun" else (240, 240, 210)
            draw_shape(pen, "circle", x, y, rng.randint(11, 14), light)
        else:
            pen.ellipse((x - 26, y - 12, x + 26, y + 10), fill=jitter(rng, (105, 110, 122), 10))
        for _ in range(26):
            a, b = rng.randint(2, 92), rng.randint(34, 90)
            if value == "rain":
                pen.line((a, b, a - 3, b + 9), fill=(40, 70, 200), width=2)
            elif value == "snow":
                pen.ellipse((a - 2, b - 2, a + 2, b + 2), fill=(255, 255, 255), outline=(170, 180, 200))
            elif value == "night" and b < 70:
                pen.point((a, b - 30), fill=(255, 255, 230))
    elif value.endswith("light"):
        image, pen = canvas((170, 205, 235), rng)
        x, y = rng.randint(36, 60), rng.randint(6, 14)
        pen.rectangle((x - 3, y + 60, x + 3, SIZE), fill=(80, 80, 80))
        pen.rectangle((x - 15, y, x + 15, y + 66), fill=jitter(rng, (50, 50, 50), 10))
        for k, color in enumerate(("red", "yellow", "green")):
            lit = jitter(rng, COLORS[color]) if value.startswith(color) else (95, 95, 95)
            draw_shape(pen, "circle", x, y + 12 + 21 * k, 9, lit)
    else:
        image, pen = paper(rng)
        x, y, w, h = rng.randint(22, 38), rng.randint(12, 24), rng.randint(32, 38), rng.randint(54, 60)
        level = {"full": 0.08, "half full": 0.5, "empty": 1.0}[value] * h
        if value != "empty":
            pen.rectangle((x, y + level, x + w, y + h), fill=jitter(rng, (70, 140, 235)))
        pen.line([(x, y), (x, y + h), (x + w, y + h), (x + w, y)], fill=(60, 60, 70), width=3)
    return named("state", value, image)


def act(rng: random.Random) -> Picture:
    """A stick figure doing something with a ball."""
    value = rng.choice(ACTS)
    image, pen = paper(rng)
    ink, x, floor, side = jitter(rng, (40, 40, 50), 20), rng.randint(38, 58), rng.randint(86, 91), rng.choice((-1, 1))
    low = 16 if value == ACTS[3] else 0
    hip, neck, ball = floor - 28 + low // 2, floor - 54 + low // 2, (x + side * 22, floor - 8)
    feet = [(x - 9, floor), (x + 9, floor)]
    hands = [(x - 15, neck + 20), (x + 15, neck + 20)]
    if value == ACTS[0]:
        feet[(side + 1) // 2] = (x + side * 16, floor - 10)
        ball = (x + side * 27, floor - 10)
    elif value == ACTS[1]:
        ball = (x + side * 22, neck + 18)
        hands = [(x + side * 14, neck + 14), (x + side * 14, neck + 21)]
    elif value == ACTS[2]:
        ball = (x, neck - 26)
        hands = [(x - 8, neck - 20), (x + 8, neck - 20)]
    else:
        ball = (x, hip + 10)
        feet = [(x - 18, floor), (x + 18, floor)]
    box = draw_shape(pen, "circle", *ball, 9, jitter(rng, rng.choice(list(COLORS.values())[:5])))
    pen.line((x, neck, x, hip), fill=ink, width=3)
    for foot, hand in zip(feet, hands, strict=True):
        pen.line((x, hip, *foot), fill=ink, width=3)
        pen.line((x, neck + 6, *hand), fill=ink, width=3)
    draw_shape(pen, "circle", x, neck - 8, 8, ink)
    return named("act", value, image, [Region(WHOLE, label=value), Region(box, "circle")])


DRAW: dict[str, Callable[[random.Random], Picture]] = {
    "location": location,
    "poster": poster,
    "landmark": landmark,
    "face": face,
    "artwork": artwork,
    "arithmetic": arithmetic,
    "code": code,
    "translation": translation,
    "state": state,
    "act": act,
}
