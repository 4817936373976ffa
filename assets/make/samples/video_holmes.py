"""Video-Holmes: questions with six options on two videos, as the hub's JSON file and as rows; one lacks the sixth option."""

import json

from datasets import Value

from samples import Row, Sample, rng
from samples._movies import ACTIONS, movie, story, zipped

TEXT = Value("string")
FEATURES = {
    "video ID": TEXT, "Question ID": Value("int64"), "Question Type": TEXT, "Question": TEXT,
    "Options": dict.fromkeys("ABCDEF", TEXT), "Answer": TEXT, "Explanation": TEXT,
}  # fmt: skip
KINDS = (("TCI", "What does the {0} do first?"), ("CTI", "What does the {0} do last?"))


def samples() -> list[Sample]:
    """Two questions for each of two videos."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place in range(2):
        found, name = story("video_holmes", place), f"holmes_{place}"
        movies[f"videos_cropped/{name}.mp4"] = movie(found)
        for number, (kind, asked) in enumerate(KINDS):
            stream = rng("video_holmes", place, number)
            right = found.actions[-number]
            options = [right, *stream.sample([each for each in ACTIONS if each != right], 5 - place * number)]
            stream.shuffle(options)
            rows.append({
                "video ID": name, "Question ID": number + 1, "Question Type": kind, "Question": asked.format(found.shape),
                "Options": dict(zip("ABCDEF", (f"It {text}" for text in options), strict=False)),
                "Answer": "ABCDEF"[options.index(right)], "Explanation": f"The {found.shape} {right}.",
            })  # fmt: skip
    files = {"test_Video-Holmes.json": json.dumps(rows, indent=1).encode(), "videos.zip": zipped(movies)}
    return [Sample("TencentARC/Video-Holmes", "test", FEATURES, rows, files=files)]
