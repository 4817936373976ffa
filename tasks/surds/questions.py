"""SURDS: the questions that the authors' script makes of the objects in the pictures, drawn with its seed.

Source: Guo et al. 2024, arXiv:2411.13112; hfdata_to_eval_vqa.py of XiandaGuo/Drive-MLLM at 7895f99.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

Row = Mapping[str, Any]
Asked = tuple[int, int, str, dict[str, str], list[str]]
"""Row, number of the pair, answer, what the prompt names, and the options."""
SEED = 42
SAME, SAME_DEPTH = "Almost the same", "Almost the same in terms of front-back position"
DIAGONAL, STRAIGHT = ("Northeast", "Southeast", "Northwest", "Southwest"), ("East", "South", "West", "North")
OPPOSITE = {"North": "South", "East": "West", "Northeast": "Southwest", "Southeast": "Northwest"}
OPPOSITE |= {second: first for first, second in OPPOSITE.items()}


def pairs(rows: Sequence[Row]) -> Iterator[tuple[int, int, int]]:
    """Each two objects of a picture: its row, and their places."""
    for row, doc in enumerate(rows):
        yield from ((row, *two) for two in combinations(range(len(doc["descs"])), 2))


def compared(rows: Sequence[Row], column: str, words: Sequence[str], least: float) -> list[Asked]:
    """Two questions on each two objects: which one has the smaller value, and which one the larger.

    least: a difference below it is none; the authors' script takes a difference of 1 m between distances for none, too.
    """
    asked = list[Asked]()
    for pair, (row, *two) in enumerate(pairs(rows)):
        names = [f"the {rows[row]['descs'][place]}" for place in two]
        options = [name.capitalize() for name in names]
        first, second = (_value(rows[row][column][place]) for place in two)
        apart = abs(first - second)
        same = apart <= least if column == "distances" else apart < least
        for word, place in zip(words, (first >= second, first < second), strict=True):
            answer = SAME if same else options[place]
            asked.append((row, pair, answer, {"first": names[0], "second": names[1], "word": word}, [*options, SAME]))
    return asked


def in_front_or_behind(rows: Sequence[Row]) -> list[Asked]:
    """Two questions on each two objects, with yes and no."""
    asked = list[Asked]()
    for pair, (row, *two) in enumerate(pairs(rows)):
        names = [f"the {rows[row]['descs'][place]}" for place in two]
        first, second = (rows[row]["depths"][place] for place in two)
        for word, yes in (("in front of", first > second), ("behind", first <= second)):
            answer = SAME_DEPTH if abs(first - second) < 0.5 else "Yes" if yes else "No"
            asked.append(
                (row, pair, answer, {"first": names[0], "word": word, "second": names[1]}, ["Yes", "No", SAME_DEPTH])
            )
    return asked


def of_single_objects(rows: Sequence[Row], wanted: str) -> list[Asked]:
    """The questions of one kind ("yaw", "xy2d", "depth") on pictures with one object, as many as there are pairs elsewhere."""
    draw = random.Random(SEED)
    single = [row for row, doc in enumerate(rows) if len(doc["descs"]) <= 1]
    asked: dict[str, list[Asked]] = {"yaw": [], "xy2d": [], "depth": []}
    for pair, row in enumerate(sorted(draw.sample(single, sum(1 for _ in pairs(rows))))):
        doc = rows[row]
        name, facing = f"the {doc['descs'][0]}", doc["yaw_descs"][0]
        turns = draw.sample(DIAGONAL, k=4), draw.sample(STRAIGHT, k=4)
        options = turns[facing in STRAIGHT]
        for camera, answer in (("North", facing), ("South", OPPOSITE[facing])):
            asked["yaw"].append((row, pair, answer, {"camera": camera, "name": name}, options))
        asked["xy2d"].append((row, pair, str(list(doc["xy2Ds"][0])), {"name": name}, []))
        ranges = [_range(*each) for each in depth_ranges(doc["depths"][0], draw)]
        asked["depth"].append((row, pair, ranges[0], {"name": name}, draw.sample(ranges, k=3)))
    return asked[wanted]


def depth_ranges(depth: float, draw: random.Random) -> list[tuple[int, int]]:
    """The right range in metres and two others: beyond it below 7 m, before it above 15 m, else one on each side."""
    length = draw.uniform(6, 7)
    low, high = round(depth - length / 2), round(depth + length / 2)
    if depth < 7:
        low = max(1, low)
    ranges = [(low, high)]
    for nearer in (depth >= 7, depth > 15):
        if nearer:
            end = low - draw.randint(1, 2)
            low = end - draw.randint(3, 4)
            least = depth <= 15 or len(ranges) == 2
            ranges.append((max(1, low) if least else low, end))
        else:
            start = high + draw.randint(1, 2)
            high = start + draw.randint(3, 4)
            ranges.append((start, high))
    return ranges


def _range(low: int, high: int) -> str:
    return "Between " + " and ".join(f"{end} {'meter' if end <= 1 else 'meters'}" for end in (low, high))


def _value(value: Any) -> float:
    """A number, or the first of a point's: how far right it is."""
    return float(value[0] if isinstance(value, Sequence) else value)


MAKE: dict[str, Callable[[Sequence[Row]], list[Asked]]] = {
    "yaw": partial(of_single_objects, wanted="yaw"),
    "xy2d": partial(of_single_objects, wanted="xy2d"),
    "depth": partial(of_single_objects, wanted="depth"),
    "distance": partial(compared, column="distances", words=("closer", "farther"), least=1),
    "left_right": partial(compared, column="xy2Ds", words=("left", "right"), least=100),
    "front_behind": in_front_or_behind,
}
"""What makes the questions of each kind."""
