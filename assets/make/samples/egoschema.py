"""EgoSchema: five-way questions on 24 videos in one zip archive."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text = Value("string")
    return {"question_idx": text, "question": text, "video_idx": text, "option": Sequence(text), "answer": text}


def samples() -> list[Sample]:
    """Forty-eight questions, enough to tell one rule for the frames from another (`mm-eval prompts --video`)."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place in range(24):
        name, found = f"mm-eval-ego-{place}", story("egoschema", place, actions=2 + place % 2)
        movies[f"videos/{name}.mp4"] = movie(found)
        for each in questions(found, rng("egoschema", place), 5)[place % 3 : place % 3 + 2]:
            options = [f"{letter}. {text}" for letter, text in zip("ABCDE", each.options, strict=True)]
            rows.append({
                "question_idx": str(len(rows)), "question": each.text, "video_idx": name, "option": options,
                "answer": str(each.right),
            })  # fmt: skip
    return [Sample("lmms-lab/egoschema", "test", features(), rows, "Subset", {"videos_chunked_01.zip": zipped(movies)})]
