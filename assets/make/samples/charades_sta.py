"""Charades-STA: twelve actions in five videos, with the seconds in which they happen, in two zip archives."""

from typing import Any

from samples import Row, Sample
from samples._movies import RATE, STEPS, movie, story, zipped


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    return {"video": Value("string"), "caption": Value("string"), "timestamp": Sequence(Value("float16"))}


def samples() -> list[Sample]:
    """A question for each action."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place in range(5):
        name, found = f"MMEV{place}.mp4", story("charades_sta", place, actions=2 + place % 2)
        movies[f"Charades_v1_480/{name}"] = movie(found)
        for number, action in enumerate(found.actions):
            start, end = (times * STEPS / RATE for times in (number, number + 1))
            rows.append({"video": name, "caption": f"the {found.shape} {action}", "timestamp": [start, end]})
    some = list(movies.items())
    files = {f"Charades_v1_480_part_{n}.zip": zipped(dict(some[3 * n - 3 : 3 * n])) for n in (1, 2)}
    return [Sample("lmms-lab/charades_sta", "test", features(), rows, files=files)]
