"""MotionBench: rows of several questions on two videos, some without an answer, as a JSONL file and as rows."""

import json

from datasets import Value

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

TEXT = Value("string")
FEATURES = {
    "key": TEXT, "question_type": TEXT, "video_type": TEXT, "video_path": TEXT,
    "qa": [{"uid": TEXT, "question": TEXT, "answer": TEXT}],
}  # fmt: skip
KINDS = (("Motion Recognition", "public"), ("Action Order", "self-collected"))


def samples() -> list[Sample]:
    """The last question of each video has no published answer."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, (kind, source) in enumerate(KINDS):
        found, name = story("motionbench", place), f"motion_{place}.mp4"
        movies[f"{source}/{name}"] = movie(found)
        asked = questions(found, rng("motionbench", place))[place : place + 3]
        texts = [
            "\n".join([each.text, *(f"{letter}. {text}" for letter, text in zip("ABCD", each.options, strict=True))])
            for each in asked
        ]
        answers = [*(each.letter for each in asked[:2]), "NA"]
        qa = [{"uid": f"{place}-{n}", "question": text, "answer": answers[n]} for n, text in enumerate(texts)]
        rows.append({"key": str(place), "question_type": kind, "video_type": source, "video_path": name, "qa": qa})
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return [
        Sample(
            "zai-org/MotionBench",
            "test",
            FEATURES,
            rows,
            files={"video_info.meta.jsonl": lines, "videos.zip": zipped(movies)},
        )
    ]
