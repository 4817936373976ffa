"""MMVU: a question with five options and an open one on each of three videos in one zip archive."""

from datasets import Value

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "video_path": TEXT, "question_type": TEXT, "question": TEXT, "choices": dict.fromkeys("ABCDE", TEXT),
    "answer": TEXT,
}  # fmt: skip


def samples() -> list[Sample]:
    """The choices of an open question are empty."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, subject in enumerate(("Art", "Mechanics", "Computer_Science")):
        found, name = story("mmvu", place), f"videos/{subject}/{place}.mp4"
        movies[name] = movie(found)
        first, _, order, *_ = questions(found, rng("mmvu", place), 5)
        rows.append({
            "id": f"validation_{len(rows)}", "video_path": name, "question_type": "multiple-choice", "question": order.text,
            "choices": dict(zip("ABCDE", order.options, strict=True)), "answer": order.letter,
        })  # fmt: skip
        rows.append({
            "id": f"validation_{len(rows)}", "video_path": name, "question_type": "open-ended", "question": first.text,
            "choices": dict.fromkeys("ABCDE", ""), "answer": first.options[first.right],
        })  # fmt: skip
    return [Sample("lmms-eval/MMVU", "validation", FEATURES, rows, files={"videos.zip": zipped(movies)})]
