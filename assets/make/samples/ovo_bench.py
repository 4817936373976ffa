"""OVO-Bench: a question of each of its twelve tasks on clips of four videos, as the authors' JSON file and as rows."""

import json
from typing import Any

from datasets import Sequence, Value

from samples import Row, Sample, rng
from samples._movies import ACTIONS, Story, movie, story, tarred

TEXT, NUMBER = Value("string"), Value("int64")
FEATURES = {
    "id": NUMBER, "task": TEXT, "video": TEXT, "realtime": Value("float64"), "question": TEXT, "answer": TEXT,
    "options": Sequence(TEXT), "gt": NUMBER, "activity": TEXT,
    "test_info": [{"realtime": Value("float64"), "count": NUMBER, "step": TEXT, "type": NUMBER}],
}  # fmt: skip
CHOICES = {
    "EPM": "What did the {0} do first?", "ASI": "What did the {0} do after it {1}?", "HLD": "What did the {0} eat?",
    "STU": "What does the {0} do now?", "OJR": "What can be seen?", "ATR": "What is the color of the {0}?",
    "ACR": "What is the {0} doing?", "OCR": "Which word is written on the {0}?", "FPD": "What will the {0} do next?",
}  # fmt: skip
UNKNOWN = "Unable to answer"


def choice(task: str, found: Story) -> tuple[str, list[str]]:
    """The right answer and what else the options say."""
    if task in ("HLD", "OCR"):
        return UNKNOWN, ["an apple", "a leaf", "STOP"]
    if task == "OJR":
        return f"a {found.shape}", ["a cat", "a house", "a tree"]
    if task == "ATR":
        return found.color, ["as grey as slate", "transparent", "striped"]
    return f"it {found.actions[0 if task in ('EPM', 'ACR') else 1]}", [f"it {each}" for each in ACTIONS]


def part(found: Story, steps: int) -> bytes:
    """The clip of the first actions."""
    return movie(Story(found.shape, found.color, found.actions, found.words, found.frames[: 8 * steps]))


def samples() -> list[Sample]:
    """Nine questions with options, and three that are asked at two times each."""
    rows, clips = list[Row](), dict[str, bytes]()

    def add(task: str, video: str, **stated: Any) -> None:
        rows.append({"id": len(rows), "task": task, "video": f"drawn/{video}.mp4", **stated})

    for number, (task, asked) in enumerate(CHOICES.items()):
        stream, found = rng("ovo_bench", task), story("ovo_bench", number % 3)
        right, others = choice(task, found)
        options = [right, *stream.sample(sorted({*others} - {right}), 3 if number else 1)]
        stream.shuffle(options)
        clips[f"chunked_videos/{len(rows)}.mp4"] = part(found, 2 if task in ("ASI", "STU") else 1)
        add(task, str(number % 3), realtime=found.seconds, question=asked.format(found.shape, found.actions[0]),
            answer=right, options=options, gt=options.index(right))  # fmt: skip
    found = story("ovo_bench", 0)
    times = [found.seconds / 2, found.seconds]
    timed: list[tuple[str, dict[str, str], list[dict[str, Any]]]] = [
        ("REC", {"activity": f"let the {found.shape} move"}, [{"count": 1}, {"count": 2}]),
        ("SSR", {}, [{"step": f"the {found.shape} {found.actions[1]}", "type": kind} for kind in (0, 1)]),
        ("CRR", {"question": f"What does the {found.shape} do last?", "answer": "It moves."}, [{"type": 0}, {"type": 1}]),
    ]  # fmt: skip
    for task, stated, infos in timed:
        for place in range(2):
            clips[f"chunked_videos/{len(rows)}_{place}.mp4"] = part(found, place + 1)
        add(
            task,
            f"3_{task}",
            **stated,
            test_info=[{"realtime": t, **info} for t, info in zip(times, infos, strict=True)],
        )
    archive = tarred(clips)
    half = len(archive) // 2
    files = {
        "ovo_bench_new.json": json.dumps(rows, indent=1).encode(),
        "chunked_videos.tar.partaa": archive[:half], "chunked_videos.tar.partab": archive[half:],
    }  # fmt: skip
    return [Sample("JoeLeelyf/OVO-Bench", "test", FEATURES, [_whole(row) for row in rows], files=files)]


def _whole(row: Row) -> Row:
    """The row with null in the columns that its task lacks."""
    infos = row.get("test_info")
    names = ("realtime", "count", "step", "type")
    whole = {name: row.get(name) for name in FEATURES}
    return whole | {"test_info": infos and [{name: info.get(name) for name in names} for info in infos]}
