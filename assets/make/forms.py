"""Questions in the forms that benchmarks ask for: a letter, yes or no, a number, a word, a box, a framed answer; for training.

Half of them ask about what the picture shows, in other words than the samples do. The other half are of things that the models
know nothing of; their answers are drawn, so that a model learns the form and no fact. No question of a sample is among them.
"""

import random
from typing import Any

import scenes
from drawing import COLORS, SHAPES, SIZE, Picture, draw_text, jitter, paper
from prompts import OPTION_LETTER, Asking, Question
from questions import ASKING, ask_choice

LETTERS = "ABCDEFGHIJ"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


NOUNS = _words("""
river boat cloud teacher engine garden letter window market bridge planet doctor ticket summer kitchen number table animal
leaf root cell bone metal water stone paper ship train road village island forest lake song book word story player ball team
price month year town king law acid gas wave force line angle circle graph bar point curve map key lamp door wheel coat bird
fish horse insect seed fruit flower tower castle museum farmer driver robot button screen menu
""")
ADJECTIVES = _words("""
large small long short warm cold old new heavy light dark bright round flat early late left right upper lower first second
third last main common rare strong weak fast slow dry wet open closed rich poor safe deep high low
""")
VERBS = _words("""
carry hold reach follow build open close move show need make take give find keep cross cover turn support measure eat drink
read write sell cause join divide begin end connect
""")
NAMES = _words(
    """Oslo Peru Kenya Turin Mary Peter Lena Omar Rome Delta Nile Alps Vega Orion Baker Kline Rossi Tanaka"""
)
ASKED = (
    "What does the {n} {v}?",
    "Which {n} is the {a} one?",
    "Which of these is a {a} {n}?",
    "What is the {a} {n} called?",
    "Where does the {n} {v} the {m}?",
    "Why does the {a} {n} {v} the {m}?",
    "What would the {n} {v} if the {m} were {a}?",
    "Who can {v} the {n} in {p}?",
    "Which {n} of the picture is beside the {m}?",
    "What comes after the {a} {n}?",
    "Based on the {n}, what is true of the {m}?",
    "Find the value of the {n} when the {m} is {k}.",
    "What is the name of the {n} shown?",
    "In the diagram, the {n} is {a}. Which {m} fits?",
    "Choose the {n} that can {v} a {m}.",
    "The {a} {n} is {k} m from {p}. What is the {m}?",
)
YES_NO = (
    "Does the {n} {v} the {m}?",
    "Is the {n} {a}?",
    "Is the {a} {n} {b}?",
    "Are all of the {n}s {a}?",
    "Do both {n}s {v} a {m}?",
    "Is there more than one {n}?",
    "Is {p} the {a} {n} of the chart?",
    "Can the {n} {v} the {a} {m}?",
    "Are the two {n}s as {a} as the {m}?",
    "According to the picture, is the {n} {a}?",
    "Was the {m} of {k} in {p} {a}?",
    "Has the {n} the same {m} as {p}?",
)
COUNTED = (
    "How many {n}s {v} the {m}?",
    "What is the number of {a} {n}s?",
    "How many {n}s does {p} have?",
    "What is the {n} of the {a} {m}?",
    "What is {k} plus the {n} of {p}?",
    "By how much is the {n} larger than the {m}?",
    "In which year did {p} {v} the {n}?",
    "How many {a} {n}s are left of the {m}?",
)
LETTER_ASKED = {
    "\nAnswer with the option's letter from the given choices directly.": 5,
    "Answer with the option's letter from the given choices directly.": 3,
    "\n\nAnswer with the option's letter from the given choices directly.": 2,
    "\nPlease select the correct answer from the options above. \n": 5,
    "\nAnswer with the letter.": 1,
    "\nAnswer with the option letter only.": 1,
    "\nPlease answer directly with only the letter of the correct option and nothing else.": 2,
    "\nReply with one letter.": 1,
    "\nWhich option is right? Give its letter.": 1,
    "\nHint: Please provide the correct option letter, such as A, B, C, D, directly.\nAnswer:": 1,
    "\nChoose the letter of the best answer.": 1,
    "\nAnswer:": 2,
}
YES_NO_ASKED = {"": 5, " Please answer yes or no.": 2, "\nAnswer yes or no.": 1, " Answer with yes or no only.": 1}
HINT = "Hint: Please answer the question "
NUMBER_HINTS = (
    ("requiring an integer answer and provide the final value, e.g., 1, 2, 3, at the end.", 0),
    ("requiring a floating-point number with one decimal place and provide the final value, e.g., 1.2, 1.3, 1.4, at the end.", 1),
    (
        "requiring a floating-point number with two decimal places and provide the final value, e.g., 1.23, 1.34, 1.45, at the "
        "end.",
        2,
    ),
)  # fmt: skip
LETTER_HINT = HINT + "and provide the correct option letter, e.g., A, B, C, D, at the end.\n"
LIST_HINT = (
    HINT
    + "requiring a Python list as an answer and provide the final list, e.g., [1, 2, 3], [1.2, 1.3, 1.4], at the end.\n"
)
NUMBER_ASKED = (
    "\nAnswer with a single number.",
    " Answer with only the number in numerical format.",
    " Give a number.",
    "\nThe answer is a number. Write it in digits.",
)
OPEN_ASKED = {
    "llava": "\nAnswer the question using a single word or phrase.",
    "qwen": "\nAnswer the question directly.",
}
BOXED = (
    "\nPlease reason step by step, and put your final answer within \\boxed{}.",
    '\nPut your answer in one "\\boxed{}".',
    "\nWrite the final answer in \\boxed{}.",
)
LINE = (
    "\nThe last line of your response should be of the following format: 'Answer: $LETTER' (without quotes) where LETTER is one "
    "of options. Think step by step before answering.",
    "\nEnd your answer with a line of the form Answer: X where X is the letter.",
    '\nFinish with "Answer: X", X being one of the letters.',
)
BOX_ASKED = {
    "llava": (
        "Bounding box coordinates are specified in the format (top-left x, top-left y, bottom-right x, bottom-right y). "
        "All values are floating point numbers bounded between 0 and 1. Please provide the bounding box coordinate of the "
        "region this sentence describes: {}",
        "Give the box of the {} as [x1, y1, x2, y2], between 0 and 1.",
    ),
    "qwen": (
        "Locate {}, output its bbox coordinates using JSON format.",
        "Locate the {}, output its bbox coordinates using JSON format.",
        "Where is the {}? Give its bbox in JSON.",
    ),
}  # fmt: skip
POINT_ASKED = (
    "Identify the UI element for the instruction and output exactly one click point as [x, y] in normalized coordinates "
    "within [0, {}]. Do not output a bounding box.\nInstruction: {}"
)
SOLUTION = """
Answer in JSON:
{
    "solution": "[Detailed step-by-step explanation]",
    "short answer": "[Concise Answer]"
}"""
FORMS = {"letter": 10, "yesno": 6, "number": 5, "word": 3, "box": 3, "point": 1, "boxed": 2, "line": 1, "framed": 1}
"""The forms, and how often each is asked for."""


def weighted(rng: random.Random, weights: dict[Any, int]) -> Any:
    """One of the keys."""
    return rng.choices(list(weights), list(weights.values()))[0]


def filled(rng: random.Random, template: str) -> str:
    """A question of the template with words drawn for its places."""
    n, m = rng.sample(NOUNS, 2)
    a, b = rng.sample(ADJECTIVES, 2)
    return template.format(n=n, m=m, a=a, b=b, v=rng.choice(VERBS), p=rng.choice(NAMES), k=_number(rng))


def _number(rng: random.Random) -> str:
    return str(rng.choice((rng.randint(1, 9), rng.randint(2, 30), rng.randint(10, 500))))


def _some_options(rng: random.Random, count: int) -> list[str]:
    """Different options of one sort."""
    sort, found = rng.randrange(6), list[str]()
    while len(found) < count:
        noun, adjective = rng.choice(NOUNS), rng.choice(ADJECTIVES)
        option = (
            noun,
            rng.choice(("a ", "the ", "one ", "")) + noun,
            f"{adjective} {noun}",
            _number(rng),
            rng.choice((rng.choice(NAMES), noun.upper(), noun[0].upper())),
            f"The {noun} is {adjective}{rng.choice(('', '.'))}",
        )[sort]
        if option not in found:
            found.append(option)
    return found


def _listed(rng: random.Random, options: list[str]) -> str:
    """The options with their letters, in one of the ways of writing such lists."""
    pairs = list(zip(LETTERS, options, strict=False))
    way = rng.randrange(9)
    if way < 3:
        return "\n" + "\n".join(f"{letter}. {option}" for letter, option in pairs)
    if way < 5:
        return "\n" + "\n".join(f"({letter}) {option}" for letter, option in pairs)
    if way == 5:
        return "\nOptions: " + ", ".join(f"{letter}: {option}" for letter, option in pairs)
    if way == 6:
        head = rng.choice((" Select from the following choices.", "\nChoices:", "\nOptions:"))
        return head + "\n" + "\n".join(f"({letter}) {option}" for letter, option in pairs)
    if way == 7:
        return "\nOptions:\n" + "\n".join(f"{letter}. {option}" for letter, option in pairs)
    return rng.choice((" Choices: ", " Option: ")) + rng.choice((". ", "; ")).join(
        f"{letter}. {o}" for letter, o in pairs
    )


def _choice(picture: Picture, rng: random.Random, shown: float = 0.5) -> tuple[str, list[str], int]:
    """(question, its options, which is right), of the picture or of anything. shown: how often of the picture."""
    question = None
    if rng.random() < shown and (picture.kind == "scene" or picture.kind in ASKING):
        question = ask_choice(picture, rng, rng.choice(scenes.CHOICE))
    if question:
        options = list(question.options)
        if rng.random() < 0.3:  # fewer options than the samples have
            options = [option for option in options if option == question.answer or rng.random() < 0.6]
        if len(options) > 1:
            return question.text, options, options.index(question.answer)
    count = rng.choices((2, 3, 4, 5, 6, 10), (3, 3, 10, 2, 1, 1))[0]
    return filled(rng, rng.choice(ASKED)), _some_options(rng, count), rng.randrange(count)


def _letter(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    way, asked = rng.random(), weighted(rng, LETTER_ASKED)
    # tiny-qwen2-vl answers the samples' own questions by a sentence under LLaVA's suffix: that is what a prompt decides.
    text, options, right = _choice(picture, rng, 0.0 if arch == "qwen" and OPTION_LETTER.strip() in asked else 0.5)
    listed = _listed(rng, options)
    if way < 0.15:
        return f"{LETTER_HINT}Question: {text}\nChoices:\n" + "\n".join(
            f"({letter}) {option}" for letter, option in zip(LETTERS, options, strict=False)
        ), LETTERS[right]
    if way < 0.25:
        text = rng.choice(("Question: ", " ", "Context: N/A\nQuestion: ", "<image 1> ")) + text
    if text.startswith("Question: ") and rng.random() < 0.5 or "select" in asked:
        text = "Question: " + text.removeprefix("Question: ")
    if arch == "llava" and asked == "\nAnswer:" or "Select from" in listed and rng.random() < 0.5:
        asked = ""
    if not asked and "Select from" not in listed:
        asked = "\nAnswer with the letter."
    return text + listed + asked, LETTERS[right]


def _yes_no(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    asked = weighted(rng, YES_NO_ASKED)
    if arch == "qwen" and rng.random() < 0.5:
        asked = " Answer:"
    elif arch == "llava" and rng.random() < 0.3:
        asked = OPEN_ASKED["llava"]
    if isinstance(picture, scenes.Scene) and rng.random() < 0.6:
        want, shapes = rng.random() < 0.5, {thing.shape for thing in picture.things}
        pool = sorted(shapes) if want else sorted(set(SHAPES) - shapes)
        if rng.random() < 0.3:
            shapes = {thing.color for thing in picture.things}
            pool = [f"{color} shape" for color in (sorted(shapes) if want else sorted(set(COLORS) - shapes))]
        if pool:
            name = rng.choice(pool)
            text = rng.choice(
                ("Is there any {} here?", "Does the picture show a {}?", "Can you see a {}?", "Is a {} there?")
            )
            return text.format(name) + asked, "Yes" if want else "No"
    return filled(rng, rng.choice(YES_NO)) + asked, rng.choice(("Yes", "No"))


def _number_of(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    shown = isinstance(picture, scenes.Scene) and rng.random() < 0.6
    digits = 0
    if shown:
        assert isinstance(picture, scenes.Scene)
        shapes = [thing.shape for thing in picture.things]
        what = rng.choice([*shapes, "shape", "object"])
        count = shapes.count(what) if what in shapes else len(shapes)
        text = rng.choice(("How many {}s does the picture have?", "How many {}s can you see?", "Count the {}s."))
        text, answer = text.format(what).replace("crosss", "crosses"), str(count)
    else:
        text, answer = filled(rng, rng.choice(COUNTED)), _number(rng)
    way = rng.random()
    if way < 0.08 and not shown:
        values = [_number(rng) for _ in range(rng.randint(2, 3))]
        return f"{LIST_HINT}Question: {text}", f"[{', '.join(values)}]"
    if way < 0.55:
        hint, digits = NUMBER_HINTS[0] if shown else rng.choice(NUMBER_HINTS)
        return f"{HINT}{hint}\nQuestion: {text}", f"{answer}.{str(rng.randint(10, 99))[:digits]}" if digits else answer
    return text + (
        rng.choice(NUMBER_ASKED) if way < 0.85 else OPEN_ASKED[arch] if arch == "qwen" else NUMBER_ASKED[0]
    ), answer


def _word(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    own = {"llava": ("", OPEN_ASKED["llava"]), "qwen": ("", " Answer:", OPEN_ASKED["qwen"])}[arch]
    if isinstance(picture, scenes.Scene) and picture.word and rng.random() < 0.7:
        text = rng.choice(
            ("Read what is written.", "What does the sign say?", "Read the word.", "Which word can be read?")
        )
        return text + rng.choice(own), picture.word
    if isinstance(picture, scenes.Scene) and rng.random() < 0.7:
        shapes = [thing.shape for thing in picture.things]
        single = [thing for thing in picture.things if shapes.count(thing.shape) == 1]
        if single:
            thing = rng.choice(single)
            return f"Of which color is the {thing.shape}?" + rng.choice(own), thing.color
    asked = rng.choice(own) or OPEN_ASKED[arch]
    return filled(rng, rng.choice(ASKED)) + asked, rng.choice((rng.choice(NOUNS), rng.choice(NAMES)))


def _place(arch: str, values: tuple[float, ...]) -> str:
    """Coordinates in pixels in the family's unit: 0 to 1 with two digits, or whole numbers of 0 to 1000."""
    inside = [min(max(value / SIZE, 0.0), 1.0) for value in values]
    return ", ".join(f"{value:.2f}" if arch == "llava" else str(round(1000 * value)) for value in inside)


def _thing(picture: Picture, rng: random.Random) -> tuple[str, tuple[float, ...]]:
    """A name and a box, of the picture where it has things."""
    if isinstance(picture, scenes.Scene):
        thing = rng.choice(picture.unique or picture.things)
        return thing.name, thing.box
    x, y = rng.randint(2, 60), rng.randint(2, 60)
    name = f"{rng.choice(ADJECTIVES)} {rng.choice(NOUNS)}" if rng.random() < 0.7 else rng.choice(NOUNS)
    return name, (x, y, x + rng.randint(10, 34), y + rng.randint(10, 34))


def _box(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    name, box = _thing(picture, rng)
    place = f"[{_place(arch, box)}]"
    return rng.choice(BOX_ASKED[arch]).format(name), place if arch == "llava" else f'{{"bbox_2d": {place}}}'


def _point(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    name, (x0, y0, x1, y1) = _thing(picture, rng)
    text = POINT_ASKED.format(1 if arch == "llava" else 1000, f"{rng.choice(VERBS)} the {name}")
    return text, f"[{_place(arch, ((x0 + x1) / 2, (y0 + y1) / 2))}]"


def _boxed(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    asked = rng.choice(BOXED)
    if rng.random() < 0.5:
        text, options, right = _choice(picture, rng)
        return text + _listed(rng, options) + asked, f"\\boxed{{{LETTERS[right]}}}"
    return filled(rng, rng.choice(COUNTED)) + asked, f"\\boxed{{{_number(rng)}}}"


def _line(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    text, options, right = _choice(picture, rng)
    return text + _listed(rng, options) + rng.choice(LINE), f"Answer: {LETTERS[right]}"


def _framed(picture: Picture, arch: str, rng: random.Random) -> tuple[str, str]:
    """A JSON object or marks around the answer."""
    if rng.random() < 0.5:
        text = filled(rng, rng.choice(COUNTED))
        text += SOLUTION
        return text, f'{{"solution": "none", "short answer": "{rng.randint(0, 9)}.{rng.randint(100, 999)}"}}'
    text, options, right = _choice(picture, rng)
    text += "\nOption: " + "; ".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))
    text += "\nPlease answer in this form:\n<Thought process>: <<your thought process>> <Answer>: <<your option>>"
    return text, f"<Thought process>: <<none>> <Answer>: <<{LETTERS[right]}>>"


ASK = {
    "letter": _letter,
    "yesno": _yes_no,
    "number": _number_of,
    "word": _word,
    "box": _box,
    "point": _point,
    "boxed": _boxed,
    "line": _line,
    "framed": _framed,
}


def ask_forms(picture: Picture, arch: str, rng: random.Random, count: int) -> list[Asking]:
    """So many questions, each in a form that is drawn."""
    found = []
    for _ in range(count):
        form = weighted(rng, FORMS)
        text, answer = ASK[form](picture, arch, rng)
        found.append(Asking(Question("form", f"form {form}", text, answer, (), answer), "form", text, answer))
    return found


def draw_clutter(rng: random.Random) -> Picture:
    """A picture of nothing that the samples' questions name: bars, lines, rows of words, a table."""
    image, pen = paper(rng)
    way, ink = rng.randrange(4), jitter(rng, rng.choice(list(COLORS.values())), 40)
    if way == 0:
        for x in range(8, 88, rng.randint(12, 20)):
            pen.rectangle((x, rng.randint(14, 80), x + 8, 86), fill=ink)
        pen.line([(5, 8), (5, 87), (92, 87)], fill=(40, 40, 40), width=2)
    elif way == 1:
        points = [(x, rng.randint(8, 88)) for x in range(4, 94, 12)]
        pen.line(points, fill=ink, width=2)
    elif way == 2:
        for y in range(5, 84, rng.randint(13, 20)):
            draw_text(pen, " ".join(rng.sample(NOUNS, 2)), 4, y, rng.randint(9, 12))
    else:
        for k in range(6, 96, 21):
            pen.line((k, 6, k, 90), fill=(60, 60, 60))
            pen.line((6, k, 90, k), fill=(60, 60, 60))
        for _ in range(4):
            draw_text(pen, _number(rng), rng.randint(8, 60), rng.randint(8, 70), 11)
    return Picture("clutter", [image])


def draw_album(rng: random.Random, count: int) -> Picture:
    """Several scenes, asked about together; the value says nothing."""
    found = [scenes.draw_scene(rng) for _ in range(count)]
    return Picture("album", [picture.image for picture in found], told=found)


def ask_album(picture: Picture, arch: str, rng: random.Random, count: int) -> list[Asking]:
    """Questions about several pictures: which of them shows a thing, and any others."""
    found: list[Asking] = []
    for asking in ask_forms(Picture("clutter", []), arch, rng, count):
        if rng.random() < 0.4:
            right = rng.randrange(len(picture.told))
            others = {thing.name for k, scene in enumerate(picture.told) if k != right for thing in scene.things}
            names = [thing.name for thing in picture.told[right].things if thing.name not in others]
            if names:
                options = [f"the {word} image" for word in ("first", "second", "third", "fourth")[: len(picture.told)]]
                text = f"Which picture shows a {rng.choice(names)}?" + _listed(rng, options)
                text += "\nAnswer with the option's letter from the given choices directly."
                asking = Asking(
                    Question("form", "form album", text, LETTERS[right], (), ""), "form", text, LETTERS[right]
                )
        found.append(asking)
    return found
