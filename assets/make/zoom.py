"""Tables with a card on which small things lie, and the conversations in which a model zooms in on the card and then answers.

A model sees a table of TABLE x TABLE pixels at SIZE x SIZE: the card is a light spot, and a thing on it has three pixels. The
card lies in one cell of CELLS x CELLS, so that the part that a call asks for is a square and is shown at SIZE x SIZE, too.
Calls, results and pictures are made by the tools of mm-eval; a test compares a conversation with what its engine sends.
"""

import random
import re
from dataclasses import dataclass, field

import scenes
from drawing import COLORS, PAPERS, SHAPES, SIZE, Color, Picture, Region, draw_shape, jitter
from PIL import Image, ImageDraw
from prompts import LETTERS, Question

from mm_eval.tools.formats.call import Call
from mm_eval.tools.formats.table import FORMATS
from mm_eval.tools.pictures import ZOOM
from mm_eval.tools.tool import Given

TABLE, CELLS = 480, 5
WIDE = TABLE // CELLS
UNIT, FORMAT = "per_mille", FORMATS["hermes"]
"""Of tiny-qwen2-vl's family."""
GROUNDS: tuple[Color, ...] = ((92, 116, 106), (118, 100, 88), (92, 100, 126), (104, 104, 104))
ASKED = {
    "\nZoom in where things are too small to see, then answer with the option's letter.": 3,
    "\nZoom in where things are too small to see, then select the correct answer from the options above by its letter.": 1,
}
"""What the tasks with tools ask for, and how often."""
SYSTEM = FORMAT.announce((ZOOM.schema(UNIT),))
PLAIN = 0.2
"""The share of questions about pictures in which all is large enough."""
NAMED = re.compile(rf"\b(?:{'|'.join([*COLORS, *SHAPES, 'left', 'right'])})\b")
"""What must be said again as it was asked."""
Text = tuple[str, str]


@dataclass
class Table(Picture):
    """A table with a card. things: on the card, from left to right, in pixels of its cell; cell: row * CELLS + column."""

    things: list[scenes.Thing] = field(default_factory=list)
    cell: int = 0

    @property
    def box(self) -> list[int]:
        """The card's cell as a call names it, in thousandths."""
        row, column = divmod(self.cell, CELLS)
        step = 1000 // CELLS
        return [step * column, step * row, step * (column + 1), step * (row + 1)]


def draw_table(rng: random.Random) -> Table:
    """Draws a table."""
    image = Image.new("RGB", (TABLE, TABLE), jitter(rng, rng.choice(GROUNDS), 14))
    pen, cell = ImageDraw.Draw(image), rng.randrange(CELLS * CELLS)
    y, x = (WIDE * place for place in divmod(cell, CELLS))
    left, top, right, bottom = (rng.randint(2, 8) for _ in range(4))
    card = (x + left, y + top, x + WIDE - 1 - right, y + WIDE - 1 - bottom)
    pen.rectangle(card, fill=jitter(rng, rng.choice(PAPERS), 6))
    count = rng.choice((2, 3, 3))
    places = sorted(rng.sample((22, 48, 74), count))
    things = []
    for place, shape, color in zip(places, rng.sample(SHAPES, count), rng.sample(list(COLORS), count), strict=True):
        across, down = place + rng.randint(-3, 3), rng.randint(22, 74)
        x0, y0, x1, y1 = draw_shape(pen, shape, x + across, y + down, rng.randint(9, 12), jitter(rng, COLORS[color]))
        things.append(scenes.Thing(shape, color, 0, (x0 - x, y0 - y, x1 - x, y1 - y)))
    seen = (value * SIZE / TABLE for value in card)
    x0, y0, x1, y1 = seen
    return Table("table", [image], regions=[Region((x0, y0, x1, y1), "square")], things=things, cell=cell)


def ask_table(table: Table, rng: random.Random) -> Question:
    """A question about the things on the card, as V* Bench asks: what one is like, or on which side of another it is."""
    first, second = rng.sample(table.things, 2)
    way = rng.random()
    if way < 0.4:
        text, answer, pool = f"What color is the {first.shape}?", first.color, list(COLORS)
        sentence = f"The {first.shape} is {first.color}."
    elif way < 0.6:
        text, answer, pool = f"What shape is the {first.color} object?", first.shape, list(SHAPES)
        sentence = f"The {first.color} object is a {first.shape}."
    else:
        text = f"Is the {first.shape} on the left or right side of the {second.shape}?"
        side = "left" if first.box[0] < second.box[0] else "right"
        pool = [f"The {first.shape} is on the {side} side of the {second.shape}." for side in ("left", "right")]
        answer = sentence = pool[side == "right"]
        return Question("choice", "relative_position", text, answer, tuple(_mixed(rng, pool)), sentence, side)
    options = _mixed(rng, [answer, *rng.sample([other for other in pool if other != answer], 3)])
    return Question("choice", "direct_attributes", text, answer, tuple(options), sentence, answer)


def _mixed(rng: random.Random, options: list[str]) -> list[str]:
    return rng.sample(options, len(options))


def look(table: Table) -> tuple[str, str, Image.Image]:
    """(the call that shows the card, the text of its result, its picture), by the tool itself."""
    arguments = {"bbox_2d": table.box}
    found = ZOOM.call(arguments, Given(table.frames, UNIT))
    return FORMAT.write(Call(ZOOM.name, arguments)), found.text, found.pictures[0]


def shown(image: Image.Image) -> Image.Image:
    """A square picture at the size at which the model sees it."""
    return image if image.size == (SIZE, SIZE) else image.resize((SIZE, SIZE), Image.Resampling.BICUBIC)


@dataclass
class Chain:
    """A conversation behind the system turn.

    parts: ("told", text), ("picture", "") or ("said", text), the last one said. pictures: those of the parts, at SIZE x SIZE.
    matter: of each said text the characters that decide (their index, what for).
    """

    question: Question
    parts: list[Text]
    pictures: list[Picture]
    matter: list[list[tuple[int, str]]]


def draw_chain(rng: random.Random) -> Chain:
    """A conversation about a table, or about a scene in which nothing is small: it is answered at once."""
    scene = scenes.draw_scene(rng)
    asked = scenes.ask_choice(scene, rng.choice(scenes.CHOICE), rng) if rng.random() < PLAIN else None
    if asked is not None:
        return chain(scene, asked, rng)
    table = draw_table(rng)
    return chain(table, ask_table(table, rng), rng)


def chain(picture: Picture, question: Question, rng: random.Random) -> Chain:
    """The conversation in which the question about the picture is answered."""
    listed = "".join(f"\n{letter}. {option}" for letter, option in zip(LETTERS, question.options, strict=False))
    asked = question.text + listed + rng.choices(list(ASKED), list(ASKED.values()))[0]
    whole = Picture(picture.kind, [shown(picture.image)], regions=picture.regions)
    parts: list[Text] = [("told", "<|im_start|>user\n"), ("picture", ""), ("told", asked)]
    pictures, matter = [whole], []
    if isinstance(picture, Table):
        call, text, part = look(picture)
        numbers = [call.index("[") + 1]
        while len(numbers) < 4:
            numbers.append(call.index(", ", numbers[-1]) + 2)
        matter.append([(place, "box") for place in numbers])
        opening, closing = FORMAT.reply
        parts += [("said", call), ("told", f"\n<|im_start|>user\n{opening}"), ("picture", ""), ("told", text + closing)]
        regions = [Region(thing.box, thing.shape, thing.color) for thing in picture.things]
        pictures.append(Picture("part", [shown(part)], regions=regions))
    # The question is said again behind the picture that answers it: a model of this size reads pictures before questions. It
    # names what is true and no letter: matching it with the options of the first turn was not learnt in the time there was.
    answer = f"{question.text} {question.sentence}"
    true = answer.rindex(question.truth)
    others = [(found.start(), "word") for found in NAMED.finditer(answer) if found.start() != true]
    matter.append([*others, (true, "truth")])
    return Chain(question, [*parts, ("said", answer)], pictures, matter)
