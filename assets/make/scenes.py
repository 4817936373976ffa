"""Scenes of coloured shapes and a word, and the questions that MME and SEED-Bench ask of such things."""

import random
from dataclasses import dataclass, field

from drawing import (
    CELL,
    COLORS,
    GRID,
    SHAPES,
    SIZE,
    WORDS,
    Box,
    Picture,
    Region,
    draw_shape,
    draw_text,
    jitter,
    paper,
    text_size,
)
from prompts import Question, with_options

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six")
PLACES = (
    "top left",
    "top center",
    "top right",
    "middle left",
    "center",
    "middle right",
    "bottom left",
    "bottom center",
    "bottom right",
)
OPPOSITE = {"left": "right", "right": "left", "above": "below", "below": "above", "top": "bottom", "bottom": "top"}
YES_NO = ("existence", "count", "position", "color", "OCR")
PLURALS = {"cross": "crosses"}
CHOICE = (
    "Instance Identity",
    "Instance Attributes",
    "Instance Location",
    "Instances Counting",
    "Spatial Relation",
    "Text Understanding",
)


@dataclass(frozen=True)
class Thing:
    """One shape of a scene; cell is row * 3 + column."""

    shape: str
    color: str
    cell: int
    box: Box

    @property
    def name(self) -> str:
        """ "red circle" """
        return f"{self.color} {self.shape}"

    @property
    def row(self) -> int:
        """0 is the top row."""
        return self.cell // GRID

    @property
    def column(self) -> int:
        """0 is the left column."""
        return self.cell % GRID


@dataclass
class Scene(Picture):
    """A picture of one to five shapes in a 3 x 3 grid, and in half of the pictures a word."""

    things: list[Thing] = field(default_factory=list)
    word: str = ""

    @property
    def unique(self) -> list[Thing]:
        """The things whose name (colour and shape) says which one is meant."""
        names = [thing.name for thing in self.things]
        return [thing for thing in self.things if names.count(thing.name) == 1]


def draw_scene(rng: random.Random) -> Scene:
    """Draws a scene; the word takes a whole row, so that no shape covers it."""
    image, pen = paper(rng)
    cells = list(range(GRID * GRID))
    word, regions = "", []
    if rng.random() < 0.55:
        word = rng.choice(WORDS)
        row = rng.randrange(GRID)
        cells = [cell for cell in cells if cell // GRID != row]
        pixels = rng.randint(22, 26)
        width, height = text_size(pen, word, pixels)
        x = rng.randint(2, max(2, SIZE - width - 3))
        y = row * CELL + rng.randint(2, max(2, CELL - height - 3))
        regions.append(Region(draw_text(pen, word, x, y, pixels), label=word))
    rng.shuffle(cells)
    # Half of the scenes repeat one shape: without that nearly every count would be one.
    same = rng.choice(SHAPES) if rng.random() < 0.5 else None
    things = []
    for place in range(rng.choice([1, 2, 2, 3, 3, 4, 4, 5])):
        shape = same if same and (place == 0 or rng.random() < 0.65) else rng.choice(SHAPES)
        color = rng.choice(list(COLORS))
        x = cells[place] % GRID * CELL + CELL // 2 + rng.randint(-2, 2)
        y = cells[place] // GRID * CELL + CELL // 2 + rng.randint(-2, 2)
        box = draw_shape(pen, shape, x, y, rng.randint(9, 13), jitter(rng, COLORS[color]))
        things.append(Thing(shape, color, cells[place], box))
        regions.append(Region(box, shape, color))
    return Scene("scene", [image], regions=regions, things=things, word=word)


def _existence(scene: Scene, rng: random.Random, want: bool) -> Question | None:
    thing = rng.choice(scene.things)
    name = thing.name
    if not want:
        # Most false things differ from a true one in one property only: a model must bind colour to shape.
        false = {f"{color} {thing.shape}" for color in COLORS} | {f"{thing.color} {shape}" for shape in SHAPES}
        if rng.random() > 0.6:
            false = {f"{color} {shape}" for color in COLORS for shape in SHAPES}
        left = sorted(false - {other.name for other in scene.things})
        if not left:
            return None
        name = rng.choice(left)
    sentence = f"There is {'a' if want else 'no'} {name} in the image."
    return Question("yesno", "existence", f"Is there a {name} in this image?", "Yes" if want else "No", (), sentence)


def _counted(scene: Scene, rng: random.Random, objects: bool) -> tuple[str, int]:
    """Something that can be counted and its number; the number is drawn first, since most shapes come once."""
    shapes = [thing.shape for thing in scene.things]
    counts = {shape: shapes.count(shape) for shape in sorted(set(shapes))}
    if objects:
        return "object", len(shapes)
    number = rng.choice(sorted(set(counts.values())))
    return rng.choice([shape for shape, n in counts.items() if n == number]), number


def _plural(what: str) -> str:
    return PLURALS.get(what, what + "s")


def _count(scene: Scene, rng: random.Random, want: bool) -> Question:
    what, n = _counted(scene, rng, rng.random() < 0.3)
    asked = n if want else rng.choice([k for k in (n - 1, n - 1, n + 1, n + 1, n + 2, n - 2) if 1 <= k <= 5])
    text = f"Are there {NUMBERS[asked]} {_plural(what)} in this image?"
    if asked == 1:
        text = f"Is there only one {what} in this image?"
    sentence = f"There {'is one ' + what if n == 1 else f'are {NUMBERS[n]} {_plural(what)}'} in the image."
    return Question("yesno", "count", text, "Yes" if want else "No", (), sentence, NUMBERS[n])


def _color(scene: Scene, rng: random.Random, want: bool) -> Question | None:
    shapes = [thing.shape for thing in scene.things]
    single = [thing for thing in scene.things if shapes.count(thing.shape) == 1]
    if not single:
        return None
    thing = rng.choice(single)
    asked = thing.color if want else rng.choice([color for color in COLORS if color != thing.color])
    text = f"Is the color of the {thing.shape} {asked}?"
    return Question(
        "yesno", "color", text, "Yes" if want else "No", (), f"The {thing.shape} is {thing.color}.", thing.color
    )


def _position(scene: Scene, rng: random.Random, want: bool) -> Question | None:
    things = scene.unique
    answer = "Yes" if want else "No"
    pairs = [(a, b) for a in things for b in things if a.column != b.column or a.row != b.row]
    pairs = [(a, b) for a, b in pairs if a is not b]
    if pairs and rng.random() < 0.6:
        a, b = rng.choice(pairs)
        across = a.column != b.column and (a.row == b.row or rng.random() < 0.5)
        true = ("left" if a.column < b.column else "right") if across else ("above" if a.row < b.row else "below")
        asked = true if want else OPPOSITE[true]
        relation, truth = (f"on the {side} of" if across else side for side in (asked, true))
        text = f"Is the {a.name} {relation} the {b.name}?"
        sentence, mentions = f"The {a.name} is {truth} the {b.name}.", ((a.name, a.cell), (b.name, b.cell))
        return Question("yesno", "position", text, answer, (), sentence, true, mentions)
    sided = [(thing, side) for thing in things for side in _sides(thing)]
    if not sided:
        return None
    thing, side = rng.choice(sided)
    asked = side if want else OPPOSITE[side]
    text = f"Is the {thing.name} on the {asked} side of this image?"
    sentence = f"The {thing.name} is on the {side} side."
    return Question("yesno", "position", text, answer, (), sentence, side, ((thing.name, thing.cell),))


def _sides(thing: Thing) -> list[str]:
    sides = (["left", "", "right"][thing.column], ["top", "", "bottom"][thing.row])
    return [side for side in sides if side]


def _ocr(scene: Scene, rng: random.Random, want: bool) -> Question | None:
    if not scene.word:
        return None
    others = [word for word in WORDS if word != scene.word and word.isdigit() == scene.word.isdigit()]
    text = f'Is the text in this image "{scene.word if want else rng.choice(others)}"?'
    return Question("yesno", "OCR", text, "Yes" if want else "No", (), f'The text is "{scene.word}".', scene.word)


ASK_YES_NO = dict(zip(YES_NO, (_existence, _count, _position, _color, _ocr), strict=True))


def ask_yes_no(scene: Scene, category: str, rng: random.Random, want: bool) -> Question | None:
    """A question of an MME category whose answer is Yes where `want`, or None where the scene has no such question."""
    return ASK_YES_NO[category](scene, rng, want)


def ask_choice(scene: Scene, category: str, rng: random.Random) -> Question | None:
    """A question of a SEED-Bench type with four options, or None where the scene has no such question."""
    shapes = [thing.shape for thing in scene.things]
    colors = [thing.color for thing in scene.things]
    things = scene.unique
    pool: tuple[str, ...]
    mentions: tuple[tuple[str, int], ...] = ()
    if category == "Instance Identity":
        things = [thing for thing in scene.things if colors.count(thing.color) == 1]
    elif category == "Instance Attributes":
        things = [thing for thing in scene.things if shapes.count(thing.shape) == 1]
    pairs = [(a, b) for a in things for b in things if (a.row == b.row) != (a.column == b.column)]
    if category == "Instances Counting":
        what, n = _counted(scene, rng, objects=False)
        text, answer, pool = f"How many {_plural(what)} are there in the image?", NUMBERS[n], NUMBERS[1:6]
        sentence = f"There {'is one ' + what if n == 1 else f'are {NUMBERS[n]} {_plural(what)}'}."
    elif category == "Text Understanding" and scene.word:
        text, answer = "What text is written in the image?", scene.word
        pool, sentence = tuple(w for w in WORDS if w.isdigit() == answer.isdigit()), f'The text is "{answer}".'
    elif category == "Spatial Relation" and pairs:
        a, b = rng.choice(pairs)
        answer = ("left" if a.column < b.column else "right") if a.row == b.row else "below"
        answer = "above" if a.row < b.row else answer
        text, pool = f"Where is the {a.name} relative to the {b.name}?", ("left", "right", "above", "below")
        sentence, mentions = f"The {a.name} is {answer}.", ((a.name, a.cell), (b.name, b.cell))
    elif category == "Instance Identity" and things:
        thing = rng.choice(things)
        text, answer, pool = f"What shape is the {thing.color} object?", thing.shape, SHAPES
        sentence = f"The {thing.color} object is a {answer}."
    elif category == "Instance Attributes" and things:
        thing = rng.choice(things)
        text, answer, pool = f"What color is the {thing.shape}?", thing.color, tuple(COLORS)
        sentence = f"The {thing.shape} is {answer}."
    elif category == "Instance Location" and things:
        thing = rng.choice(things)
        text, answer, pool = f"Where is the {thing.name} in the image?", PLACES[thing.cell], PLACES
        sentence, mentions = f"The {thing.name} is in the {answer}.", ((thing.name, thing.cell),)
    else:
        return None
    return with_options(rng, category, text, answer, pool, sentence, mentions)
