"""TOMATO: two questions on each of two videos in one zip archive."""

from datasets import Sequence, Value

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "question": TEXT, "options": Sequence(TEXT), "answer": Value("int64"), "video_path": TEXT, "reason_type": TEXT,
    "demonstration_type": TEXT,
}  # fmt: skip
REASONS = ("visual_cues", "direction", "shape&trend", "count")


def samples() -> list[Sample]:
    """The answer is the place of an option; there are four to six."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, kind in enumerate(("simulated", "object")):
        found, name = story("tomato", place), f"videos/{kind}/{place:04}-00.mp4"
        movies[name] = movie(found)
        for each in questions(found, rng("tomato", place), 4 + place)[place % 2 : 4 : 2]:
            rows.append({
                "id": str(len(rows)), "question": each.text, "options": list(each.options), "answer": each.right,
                "video_path": name, "reason_type": REASONS[len(rows)], "demonstration_type": kind,
            })  # fmt: skip
    return [Sample("lmms-eval/TOMATO", "test", FEATURES, rows, files={"videos.zip": zipped(movies)})]
