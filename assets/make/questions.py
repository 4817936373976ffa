"""Questions about the pictures of pictures.py, and the questions that training asks of any picture."""

import random
from dataclasses import dataclass

import scenes
from drawing import Picture
from pictures import ACTS, DRAW, FACES, LANDMARKS, LOCATIONS, OUTPUTS, SPANISH, STATES, STYLES, TITLES
from prompts import Question, with_options
from videos import TYPES as VIDEO_TYPES
from videos import ask_video, draw_video


@dataclass(frozen=True)
class Asking:
    """How a kind of picture is asked about; {} stands for a value of the pool."""

    yes_no: str
    category: str
    choice: str
    seed_type: str
    sentence: str
    pool: tuple[str, ...]


ASKING = {
    "location": Asking(
        "Is this a picture of a {}?",
        "scene",
        "Which place is shown in the image?",
        "Scene Understanding",
        "The place is a {}.",
        LOCATIONS,
    ),
    "poster": Asking(
        'Is this film titled "{}"?',
        "posters",
        "What is the title of the film?",
        "Text Understanding",
        'The title is "{}".',
        TITLES,
    ),
    "landmark": Asking(
        "Is this a picture of the {}?",
        "landmark",
        "Which landmark is shown in the image?",
        "Scene Understanding",
        "The landmark is the {}.",
        LANDMARKS,
    ),
    "face": Asking(
        "Is the name of this person {}?",
        "celebrity",
        "What is the name of this person?",
        "Instance Identity",
        "The person is {}.",
        FACES,
    ),
    "artwork": Asking(
        "Is this artwork made of {}?",
        "artwork",
        "What is the artwork made of?",
        "Instance Attributes",
        "The artwork is made of {}.",
        STYLES,
    ),
    "arithmetic": Asking(
        "Is the answer to the arithmetic question in the image {}?",
        "numerical_calculation",
        "What is the answer to the arithmetic question in the image?",
        "Visual Reasoning",
        "The answer is {}.",
        tuple(str(n) for n in range(1, 11)),
    ),
    "code": Asking(
        "Is the output of the Python code in the image {}?",
        "code_reasoning",
        "What is the output of the Python code in the image?",
        "Visual Reasoning",
        "The output is {}.",
        tuple(str(n) for n in OUTPUTS),
    ),
    "translation": Asking(
        'Is "{}" the English translation of the Spanish word in the image?',
        "text_translation",
        "What is the English translation of the Spanish word in the image?",
        "Text Understanding",
        'The translation is "{}".',
        tuple(SPANISH.values()),
    ),
    "act": Asking(
        "Is the person {}?",
        "interaction",
        "What is the person doing with the ball?",
        "Instance Interaction",
        "The person is {}.",
        ACTS,
    ),
}

RULES = {
    "Do people need an umbrella here?": "rain",
    "Are sunglasses useful here?": "sun",
    "Can people build a snowman here?": "snow",
    "Do people need a lamp to read here?": "night",
    "May cars drive on now?": "green light",
    "Must cars stop now?": "red light",
    "Will the light turn red next?": "yellow light",
    "Will more water make this glass spill?": "full",
    "Has someone drunk a part of the water?": "half full",
    "Should someone fill this glass again?": "empty",
}
"""Common sense: the one state of its family in which the answer is Yes; one each, so that no guess is better."""

FAMILIES = (STATES[:4], STATES[4:7], STATES[7:])
ADVICE: dict[str, tuple[str, tuple[str, ...]]] = {
    "weather": ("What is most useful here?", ("an umbrella", "sunglasses", "snow boots", "a lamp")),
    "light": ("What should a driver do now?", ("stop", "get ready to stop", "drive on", "ask for water")),
    "glass": ("What should a waiter do with the glass?", ("nothing", "fill it up", "fill it again", "break it")),
}
STATE_SENTENCE = {
    "rain": "It is raining.",
    "sun": "The sun is shining.",
    "snow": "It is snowing.",
    "night": "It is night.",
    "red light": "The light is red.",
    "yellow light": "The light is yellow.",
    "green light": "The light is green.",
    "full": "The glass is full.",
    "half full": "The glass is half full.",
    "empty": "The glass is empty.",
}


def ask_yes_no(picture: Picture, rng: random.Random, want: bool, category: str = "") -> Question | None:
    """A question whose answer is Yes where `want`; a scene needs the category too."""
    answer = "Yes" if want else "No"
    if isinstance(picture, scenes.Scene):
        return scenes.ask_yes_no(picture, category, rng, want)
    if picture.kind == "state":
        family = next(states for states in FAMILIES if picture.value in states)
        fitting = [q for q, yes in RULES.items() if yes in family and (picture.value == yes) == want]
        sentence = STATE_SENTENCE[picture.value]
        return Question("yesno", "commonsense_reasoning", rng.choice(fitting), answer, (), sentence, picture.value)
    asking = ASKING[picture.kind]
    asked = picture.value if want else rng.choice([value for value in asking.pool if value != picture.value])
    sentence = asking.sentence.format(picture.value)
    return Question("yesno", asking.category, asking.yes_no.format(asked), answer, (), sentence, picture.value)


def ask_choice(picture: Picture, rng: random.Random, category: str = "") -> Question | None:
    """A question with four options; a scene and a video need the SEED-Bench type too."""
    if isinstance(picture, scenes.Scene):
        return scenes.ask_choice(picture, category, rng)
    if picture.kind == "video":
        return ask_video(picture, category, rng)
    if picture.kind == "state":
        number = next(k for k, states in enumerate(FAMILIES) if picture.value in states)
        text, options = list(ADVICE.values())[number]
        answer = options[FAMILIES[number].index(picture.value)]
        return with_options(rng, "Visual Reasoning", text, answer, options, STATE_SENTENCE[picture.value])
    asking = ASKING[picture.kind]
    sentence = asking.sentence.format(picture.value)
    return with_options(rng, asking.seed_type, asking.choice, picture.value, asking.pool, sentence)


HEAVY = {"arithmetic": 3, "code": 3, "translation": 2, "state": 2}
"""Pictures that come more often than others: those that must be read and computed."""
AGAIN = {"arithmetic": 5, "code": 5, "translation": 3, "state": 2, "poster": 4, "artwork": 5, "act": 2}
"""The same for a model that is trained on: by what it forgets first."""


def draw_other(rng: random.Random, heavy: dict[str, int] = HEAVY) -> Picture:
    """A picture that is no scene of shapes. heavy: how often a kind comes, if not once."""
    kinds = list(DRAW)
    return DRAW[rng.choices(kinds, [heavy.get(kind, 1) for kind in kinds])[0]](rng)


def questions_for(picture: Picture, rng: random.Random, mix: tuple[int, int, int]) -> list[Question]:
    """Questions that training packs behind one picture.

    mix: at most so many yes/no, four-way and open questions for a scene. Other pictures know one question of a sort
    only, so they get a Yes and a No for each two of the yes/no questions, half of the four-way ones and the open ones.
    """
    if picture.kind == "scene":
        yes_no, choices = list(scenes.YES_NO), list(scenes.CHOICE)
        rng.shuffle(yes_no)
        found = [ask_yes_no(picture, rng, rng.random() < 0.5, category) for category in yes_no]
        asked = [question for question in found if question][: mix[0]]
        for opened, number in ((False, mix[1]), (True, mix[2])):
            rng.shuffle(choices)
            four = [question for category in choices if (question := ask_choice(picture, rng, category))][:number]
            asked += [question.opened() if opened else question for question in four]
        return asked
    if picture.kind == "video":
        found = [ask_choice(picture, rng, category) for category in VIDEO_TYPES * max(1, mix[1] // 2)]
        asked = [question for question in found if question]
        return asked + [question.opened() for question in asked]
    pairs = [ask_yes_no(picture, rng, want) for want in (True, False) * max(1, mix[0] // 2)]
    closed = [ask_choice(picture, rng) for _ in range(max(1, mix[1] // 2))]
    words = [question.opened() for _ in range(mix[2]) if (question := ask_choice(picture, rng))]
    return [question for question in pairs + closed if question] + words


def draw_training(
    rng: random.Random, video: bool = False, scene: float = 0.65, heavy: dict[str, int] = HEAVY
) -> Picture:
    """A picture as training sees them. scene: the share of scenes of shapes."""
    if video:
        return draw_video(rng)
    return scenes.draw_scene(rng) if rng.random() < scene else draw_other(rng, heavy)
