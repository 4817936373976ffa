"""Videos of eight frames in which one shape moves, grows, shrinks or changes its colour, and questions about them."""

import random

from drawing import COLORS, PAPERS, SHAPES, SIZE, Picture, Region, draw_shape, jitter
from PIL import Image, ImageDraw
from prompts import Question, with_options

FRAMES = 8
ACTIONS = ("moves left", "moves right", "moves up", "moves down", "grows", "shrinks", "changes color")
NEXT = {
    "moves left": "it reaches the left edge",
    "moves right": "it reaches the right edge",
    "moves up": "it reaches the top edge",
    "moves down": "it reaches the bottom edge",
    "grows": "it gets even bigger",
    "shrinks": "it gets even smaller",
}
THEN = ", then "
TYPES = ("Action Recognition", "Action Prediction", "Procedure Understanding")


def _path(rng: random.Random, actions: list[str]) -> list[tuple[float, float, float, bool]]:
    """(x, y, radius, second colour?) of each frame; every action takes an equal share of the frames."""
    share = FRAMES // len(actions)
    stride = (42 if len(actions) == 1 else 30) / share
    x, y, r = rng.randint(42, 54) * 1.0, rng.randint(42, 54) * 1.0, rng.randint(12, 14) * 1.0
    # Start off the middle, so that the way to go has room.
    for action in actions:
        dx, dy = _direction(action)
        x, y = x - dx * stride * share / 2, y - dy * stride * share / 2
    if actions[0] == "shrinks":
        r = 22.0
    elif actions[0] == "grows":
        r = 7.0
    changed, path = False, []
    for action in actions:
        dx, dy = _direction(action)
        scale = {"grows": 1.0, "shrinks": -1.0}.get(action, 0.0) * (15 if len(actions) == 1 else 10) / share
        for step in range(share):
            x, y, r = x + dx * stride, y + dy * stride, max(3.0, r + scale)
            changed = changed or (action == "changes color" and step >= share // 2)
            path.append((x, y, r, changed))
    return path


def _direction(action: str) -> tuple[int, int]:
    return {"moves left": (-1, 0), "moves right": (1, 0), "moves up": (0, -1), "moves down": (0, 1)}.get(action, (0, 0))


def draw_video(rng: random.Random, procedure: bool | None = None) -> Picture:
    """Draws a video of one action, or where `procedure` of two; the value names them, as in "grows, then moves up"."""
    if procedure is None:
        procedure = rng.random() < 0.4
    actions = rng.sample(ACTIONS, 2) if procedure else [rng.choice(ACTIONS)]
    while set(actions) in ({"grows", "shrinks"}, {"moves left", "moves right"}, {"moves up", "moves down"}):
        actions = rng.sample(ACTIONS, 2)
    shape = rng.choice(SHAPES)
    before, after = rng.sample(list(COLORS), 2)
    fills = [jitter(rng, COLORS[before]), jitter(rng, COLORS[after])]
    back = jitter(rng, rng.choice(PAPERS), 6)
    frames, regions = [], []
    for x, y, r, changed in _path(rng, actions):
        image = Image.new("RGB", (SIZE, SIZE), back)
        box = draw_shape(ImageDraw.Draw(image), shape, round(x), round(y), round(r), fills[changed])
        frames.append(image)
        regions.append(Region(box, shape, after if changed else before))
    moves = [action for action in actions for _ in range(FRAMES // len(actions))]
    return Picture("video", frames, THEN.join(actions), regions, moves)


def ask_video(video: Picture, category: str, rng: random.Random) -> Question | None:
    """A question of one of SEED-Bench's video types, or None where it does not fit the video."""
    shape, value = video.regions[0].shape, video.value
    if category == "Procedure Understanding" and THEN in value:
        first, second = value.split(THEN)
        others = [action for action in ACTIONS if action not in (first, second)]
        pool = [value, f"{second}{THEN}{first}", f"{first}{THEN}{rng.choice(others)}"]
        pool.append(f"{rng.choice(others)}{THEN}{second}")
        text, sentence = f"What does the {shape} do, in which order?", f"The {shape} {value}."
        return with_options(rng, category, text, value, tuple(pool), sentence)
    if category == "Action Recognition" and value in ACTIONS:
        text, sentence = f"What does the {shape} do in the video?", f"The {shape} {value}."
        return with_options(rng, category, text, value, ACTIONS, sentence)
    if category == "Action Prediction" and value in NEXT:
        text, sentence = f"What will the {shape} do next?", f"The {shape} {value}, so {NEXT[value]}."
        return with_options(rng, category, text, NEXT[value], tuple(NEXT.values()), sentence)
    return None
