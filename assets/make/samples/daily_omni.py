"""Daily-Omni: two questions on each of three videos, whose words are said, as the authors' JSON and archive."""

import json

from datasets import Sequence, Value

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, tarred

TEXT = Value("string")
FEATURES = {
    "Type": TEXT, "Question": TEXT, "Choice": Sequence(TEXT), "Answer": TEXT, "video_id": TEXT, "video_category": TEXT,
    "video_duration": TEXT,
}  # fmt: skip
KINDS = {
    "color": "Comparative", "first": "Event Sequence", "order": "Event Sequence", "shape": "Inference",
    "last": "AV Event Alignment", "said": "AV Event Alignment",
}  # fmt: skip
CATEGORIES = ("Daily Life", "Music", "Sports")


def samples() -> list[Sample]:
    """Six questions."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, category in enumerate(CATEGORIES):
        name, found = f"mmeval-{place}", story("daily_omni", place)
        movies[f"Videos/{name}/{name}_video.mp4"] = movie(found, spoken=True)
        asked = questions(found, rng("daily_omni", place))
        for each in (asked[place], asked[5]):
            rows.append({
                "Type": KINDS[each.kind], "Question": each.text,
                "Choice": [f"{letter}. {text}" for letter, text in zip("ABCD", each.options, strict=True)],
                "Answer": each.letter, "video_id": name, "video_category": category, "video_duration": ("30s", "60s")[place % 2],
            })  # fmt: skip
    files = {"qa.json": json.dumps(rows, indent=1).encode(), "Videos.tar": tarred(movies)}
    return [Sample("liarliar/Daily-Omni", "test", FEATURES, rows, files=files)]
