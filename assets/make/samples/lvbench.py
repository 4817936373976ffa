"""LVBench: two questions, which carry their options, on each of two videos in one zip archive."""

from datasets import Sequence, Value

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

TEXT = Value("string")
FEATURES = {
    "video_path": TEXT, "uid": TEXT, "question": TEXT, "answer": TEXT, "question_type": Sequence(TEXT), "time_reference": TEXT,
}  # fmt: skip
KINDS = (["entity recognition"], ["event understanding", "temporal grounding"], ["summarization"], ["reasoning"])


def samples() -> list[Sample]:
    """The benchmark's videos last an hour; these last two seconds."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place in range(2):
        found, name = story("lvbench", place), f"{place:011}.mp4"
        movies[f"videos/{name}"] = movie(found)
        for each in questions(found, rng("lvbench", place))[place % 2 : 4 : 2]:
            options = "\n".join(f"({letter}) {text}" for letter, text in zip("ABCD", each.options, strict=True))
            rows.append({
                "video_path": name, "uid": str(len(rows)), "question": f"{each.text}\n{options}", "answer": each.letter,
                "question_type": KINDS[len(rows)], "time_reference": "00:00-00:02",
            })  # fmt: skip
    return [Sample("lmms-eval/LVBench", "train", FEATURES, rows, files={"videos.zip": zipped(movies)})]
