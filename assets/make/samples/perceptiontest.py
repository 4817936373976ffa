"""Perception Test: twelve three-way questions on four videos in two zip archives; one file name has capitals."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

AREAS = ("memory", "abstraction", "physics", "semantics")
REASONING = ("descriptive", "explanatory", "predictive", "counterfactual")


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text = Value("string")
    return {
        "video_name": text, "question": text, "question_id": text, "options": Sequence(text), "answer_id": text, "area": text,
        "reasoning": text, "tag": Sequence(text),
    }  # fmt: skip


def samples() -> list[Sample]:
    """The answer is the number of an option, as text."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place in range(4):
        name, found = f"video_{place}", story("perceptiontest", place, actions=2 + place % 2)
        movies[f"videos/{name}.{'MP4' if place == 3 else 'mp4'}"] = movie(found)
        for number, each in enumerate(questions(found, rng("perceptiontest", place), 3)[place % 2 :: 2]):
            rows.append({
                "video_name": name, "question": each.text, "question_id": str(number), "options": list(each.options),
                "answer_id": str(each.right), "area": AREAS[len(rows) % 4], "reasoning": REASONING[len(rows) // 3],
                "tag": [each.kind],
            })  # fmt: skip
    some = list(movies.items())
    files = {f"videos_chunked_{n:02}.zip": zipped(dict(some[2 * n - 2 : 2 * n])) for n in (1, 2)}
    return [Sample("lmms-lab/PerceptionTest_Val", "validation", features(), rows, "mc_question_val", files)]
