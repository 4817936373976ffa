"""Videos as the samples of the video benchmarks show them, and their questions in the benchmarks' words, for training.

A story's frames go through JPEG, since the samples' videos are compressed too. No frame of a sample is drawn: a sample's
colours are those of the palette, and here they are always moved.
"""

import io
import random
from typing import Any

from drawing import COLORS, PAPERS, SHAPES, Color, Picture, jitter
from PIL import Image
from prompts import OPTION_LETTER, RANKED, Asking, Question
from samples._movies import RATE, STEPS, WORDS, Asked, Story, acted, questions, some_actions

from mm_eval.data.video.rule import read_rule

RULES = {
    "llava": {"frames=8,ends": 8, "frames=6,ends": 1, "frames=4,ends": 1},
    "qwen": {"frames=32,starts": 6, "frames=16,starts": 1, "frames=8,starts": 2, "frames=4,starts": 1},
}
"""Which frames are shown, and how often; first the rule of the model's family."""
SHORT_RULES = {"llava": {"frames=8,ends": 6, "frames=4,ends": 1}, "qwen": {"frames=32,starts": 2, "frames=8,starts": 6}}
"""The same while questions are short: fewer frames, so that more videos are seen in the time."""
ACTIONS = {1: 10, 2: 45, 3: 35, 4: 10}
"""How many actions a story has, and how often."""
KINDS = {"order": 5, "first": 4, "last": 4, "color": 1, "shape": 1}
LETTERED = {
    "llava": {"plain": 5, "best": 2, "select": 2, "given": 1},
    "qwen": {"plain": 4, "best": 2, "select": 2, "own": 2, "given": 1},
}
SELECT = "Select the best answer to the following multiple-choice question based on the video"
ONLY_LETTER = "Respond with only the letter (A, B, C, or D) of the correct option.\n"
WATCH = (
    "Carefully watch the video and pay attention to the cause and sequence of events, the detail and movement of objects, "
    "and the action and pose of persons. Based on your observations, select the best option that accurately addresses the "
    "question.\n"
)
WATCH_DETAIL = (
    "Carefully watch this video and pay attention to every detail. Based on your observations, select the best option that "
    "accurately addresses the question.\nQuestion: "
)
CAPTIONS = (
    ("Which sentence better captures the essence of the video?", "Sentence A", "Sentence B"),
    ("Which description is a more suitable match for the video?", "Option 1", "Option 2"),
    ("Which caption matches the video better?", "Caption A", "Caption B"),
)


def draw_stories(rng: random.Random, arch: str, count: int, short: bool = False) -> list[Picture]:
    """Stories of one length, of which the same frames are shown; `moves` names what goes on at each of these."""
    actions = _weighted(rng, ACTIONS)
    total = actions * STEPS
    shown = read_rule(_weighted(rng, (SHORT_RULES if short else RULES)[arch])).places(total, total / RATE)
    return [_story(rng, actions, shown) for _ in range(count)]


def _weighted(rng: random.Random, weights: dict[Any, int]) -> Any:
    return rng.choices(list(weights), list(weights.values()))[0]


def _story(rng: random.Random, count: int, shown: list[int]) -> Picture:
    actions, shape, color = some_actions(rng, count), rng.choice(SHAPES), rng.choice(list(COLORS))
    fill, paper = _moved(rng, COLORS[color], 18), _moved(rng, rng.choice(PAPERS), 6)
    frames = acted(actions, shape, fill, paper, rng.uniform(13.0, 15.0))
    quality = rng.randint(50, 90)
    told = Story(shape, color, tuple(actions), tuple(rng.sample(WORDS, count)), frames)
    moves = [actions[place // STEPS] for place in shown]
    return Picture("story", [_compressed(frames[place], quality) for place in shown], told=told, moves=moves)


def _moved(rng: random.Random, color: Color, by: int) -> Color:
    found = color
    while found == color:
        found = jitter(rng, color, by)
    return found


def _compressed(image: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer).convert("RGB")


def ask_story(picture: Picture, arch: str, rng: random.Random, short: bool = False) -> list[Asking]:
    """Questions about a story, each in the words of some benchmark, and some that ask for a word.

    short: without the benchmarks' long instructions, so that ten fit where seven do.
    """
    told = picture.told
    assert isinstance(told, Story)
    found = []
    for _ in range(10 if short else 7):
        options = rng.choices((2, 3, 4, 5), (1, 2, 5, 2))[0]
        by_kind = {asked.kind: asked for asked in questions(told, rng, options)}
        kind = _weighted(rng, KINDS)
        if len(told.actions) == 1 and kind in ("order", "last"):
            kind = "first"
        asked, form = by_kind[kind], rng.random()
        if form < (0.4 if short else 0.55):
            found.append(_lettered(asked, "plain" if short else _weighted(rng, LETTERED[arch]), arch, rng))
        elif form < 0.75:
            found.append(_opened(asked))
        elif form < 0.85 and kind in ("order", "first"):
            found.append(_statement(asked, told, rng))
        elif form < 0.93 and kind in ("order", "first"):
            found.append(_captions(asked, rng))
        elif form < 0.96:
            found.append(_counted(told))
        else:
            found.append(_opened(asked))
    return found


def _lettered(asked: Asked, form: str, arch: str, rng: random.Random) -> Asking:
    """A question with options, answered by a letter."""
    question = asked.text
    round_letters = form == "best"
    options = [
        f"({letter}) {text}" if round_letters else f"{letter}. {text}"
        for letter, text in zip("ABCDE", asked.options, strict=False)
    ]
    if form == "select" and rng.random() < 0.5:
        options = [f"{option}." for option in options]
    listed = "\n".join(options)
    if form == "plain":
        question = rng.choice((question, question, f"Question: {question}", question.rstrip("?").lower()))
        text = f"{question}\n{listed}{OPTION_LETTER}" + rng.choice(("", "", "\n"))
    elif form == "own":
        text = f"{question}\n{listed}\nAnswer:"
    elif form == "given":
        text = f"{question}\n{listed}\nPlease directly give the best option:"
    elif form == "select":
        if arch == "llava":
            text = f"{SELECT} and the subtitles. {ONLY_LETTER}{question}\n{listed}\n{OPTION_LETTER}"
        else:
            text = f"\nThese are the frames of a video. {SELECT}. {ONLY_LETTER}Question: {question}\n{listed}\nAnswer: "
    elif arch == "llava":
        text = rng.choice((
            f"Question:{question}\nOption:\n{listed}\nOnly give the best option.\n",
            f"{question}\n{listed}\nOnly give the best option.\nBest option: (",
        ))  # fmt: skip
    else:
        text = rng.choice((
            f"{WATCH}Question: {question}\nOptions:\n{listed}\nOnly give the best option.\nBest option:(",
            f"{WATCH_DETAIL}{question}\n{listed}\nOnly give the best option.\nBest option: (",
        ))  # fmt: skip
    answer = asked.options[asked.right]
    ends: list[tuple[str, int, int | str]] = []
    if question in text:
        ends.append(("truths", text.index(question) + len(question) - 1, _truth(answer)))
    if len(options) == 4:
        start = text.index(listed)
        for number, option in enumerate(options):
            start = text.index(option, start) + len(option)
            ends.append(("options", start - 1, int(number == asked.right)))
    return Asking(_question("choice", asked, answer), form, text, asked.letter, ends)


def _truth(answer: str) -> str:
    """The word that tells an action from others; of two actions that of the first."""
    return " " + answer.split(",")[0].split()[-1]


def _question(kind: str, asked: Asked, answer: str) -> Question:
    return Question(kind, f"story {asked.kind}", asked.text, answer, asked.options, answer)


def _opened(asked: Asked) -> Asking:
    """The question without options, answered by the right one's text."""
    answer = asked.options[asked.right]
    end = len(asked.text) - 1
    return Asking(
        _question("open", asked, answer), "open", asked.text + RANKED, " " + answer, [("truths", end, _truth(answer))]
    )


def _statement(asked: Asked, told: Story, rng: random.Random) -> Asking:
    """Whether one of the options is true of the video."""
    right = asked.options[asked.right]
    wrong = [option for option in asked.options if option not in told.actions and option != right]
    said = right if rng.random() < 0.5 or not wrong else rng.choice(wrong)
    text = f"Is it true that it {said}?\nPlease answer yes or no:"
    answer = "Yes" if said == right else "No"
    return Asking(_question("yesno", asked, answer), "statement", text, answer)


def _captions(asked: Asked, rng: random.Random) -> Asking:
    """Which of two captions is true, answered by its label."""
    right = asked.options[asked.right]
    pair = [right, rng.choice([option for option in asked.options if option != right])]
    rng.shuffle(pair)
    text, *labels = rng.choice(CAPTIONS)
    lines = [f"{label}: It {said}." for label, said in zip(labels, pair, strict=True)]
    asking = "\n".join([text, *lines, "Please directly give the best option:"])
    answer = labels[pair.index(right)]
    return Asking(_question("caption", asked, answer), "captions", asking, answer)


def _counted(told: Story) -> Asking:
    """How many actions there are."""
    text, answer = f"How many actions does the {told.shape} do?", str(len(told.actions))
    asked = Asked("count", text, (answer,), 0)
    begin = "These are frames of a video.\n"
    written = f"{begin}{text}\nPlease answer the question using a single word or phrase."
    return Asking(
        _question("open", asked, answer), "count", written, answer, [("truths", len(begin + text) - 1, " " + answer)]
    )
