"""NExT-QA: twelve five-way questions on four videos in one zip archive, with every type of question."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

TYPES = ("CW", "CH", "TN", "TP", "TC", "DC", "DL", "DO")


def features() -> dict[str, Any]:
    """The columns of the benchmark's test.csv."""
    from datasets import Value

    names = (
        "video",
        "frame_count",
        "width",
        "height",
        "question",
        "answer",
        "qid",
        "type",
        *(f"a{n}" for n in range(5)),
    )
    numbers = ("video", "frame_count", "width", "height", "answer", "qid")
    return {name: Value("int64" if name in numbers else "string") for name in names}


def samples() -> list[Sample]:
    """The answer is the number of an option."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place in range(4):
        name, found = 1000000000 + place, story("nextqa", place, actions=2 + place % 2)
        movies[f"NExTVideo/{name}.mp4"] = movie(found)
        for qid, each in enumerate(questions(found, rng("nextqa", place), 5)[place % 2 :: 2]):
            rows.append({
                "video": name, "frame_count": len(found.frames), "width": 96, "height": 96, "qid": qid,
                "question": each.text.rstrip("?").lower(), "answer": each.right, "type": TYPES[len(rows) % len(TYPES)],
                **{f"a{n}": text for n, text in enumerate(each.options)},
            })  # fmt: skip
    return [Sample("lmms-lab/NExTQA", "test", features(), rows, "MC", {"videos.zip": zipped(movies)})]
