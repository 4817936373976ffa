"""MINERVA: two questions with five choices on each of three videos, as the JSON file and as rows."""

import json

from datasets import Value

from samples import Row, Sample, rng
from samples._movies import ACTIONS, movie, story, zipped

TEXT = Value("string")
FEATURES = {
    "key": TEXT, "video_id": TEXT, "question": TEXT, "answer": TEXT, **{f"answer_choice_{place}": TEXT for place in range(5)},
    "answer_id": Value("int64"), "reasoning": TEXT, "question_type": TEXT, "split": TEXT, "category": TEXT,
}  # fmt: skip
DOMAINS = ("Short Films", "Sports", "Instructional")


def samples() -> list[Sample]:
    """Six questions."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, domain in enumerate(DOMAINS):
        name, found = f"drawn-vid_{place}", story("minerva", place)
        movies[f"{name}.mp4"] = movie(found)
        for number, (asked, right) in enumerate(zip(("first", "last"), found.actions, strict=True)):
            stream = rng("minerva", place, number)
            choices = [right, *stream.sample(sorted({*ACTIONS} - {right}), 4)]
            stream.shuffle(choices)
            rows.append({
                "key": f"{name}:{number}", "video_id": name, "question": f"What does the {found.shape} do {asked}? ",
                "answer": f"It {right}.", **{f"answer_choice_{n}": f"It {text}." for n, text in enumerate(choices)},
                "answer_id": choices.index(right), "reasoning": f"At 00:0{number} it {right}.",
                "question_type": "Temporal Reasoning, Event Occurence", "split": domain, "category": domain,
            })  # fmt: skip
    files = {"minerva.json": json.dumps(rows, indent=1).encode(), "videos.zip": zipped(movies)}
    return [Sample("lmms-lab-eval/minerva", "test", FEATURES, rows, files=files)]
