"""MLVU: two questions for each of its seven tasks, each on a video of its own; the question holds the options."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

TASKS = ("plotQA", "needle", "ego", "count", "order", "anomaly_reco", "topic_reasoning")


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Value

    text = Value("string")
    return {"video_name": text, "duration": Value("float64"), "question": text, "answer": text, "task_type": text}


def samples() -> list[Sample]:
    """Fourteen questions."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, task in enumerate(2 * TASKS):
        name, found = f"{task}_mm-eval-{place}.mp4", story("mlvu", task, place, actions=2 + place % 2)
        movies[name] = movie(found)
        each = questions(found, rng("mlvu", task, place))[place % 6]
        options = [f"({letter}) {text}" for letter, text in zip("ABCD", each.options, strict=True)]
        rows.append({
            "video_name": name, "duration": found.seconds, "question": "\n".join([each.text, *options]),
            "answer": each.letter, "task_type": task,
        })  # fmt: skip
    some = list(movies.items())
    files = {"video_part_1.zip": zipped(dict(some[:7])), "video_part_2.zip": zipped(dict(some[7:]))}
    return [Sample("sy1998/MLVU_dev", "test", features(), rows, files=files)]
