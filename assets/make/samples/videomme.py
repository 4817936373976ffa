"""Video-MME: three questions on each of six videos, in two zip archives, with a voice and with subtitles for four of them."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import Asked, Story, movie, questions, story, subrip, zipped

VIDEOS = (
    ("short", "Knowledge", "Astronomy"),
    ("short", "Sports Competition", "Athletics"),
    ("medium", "Life Record", "Food"),
    ("medium", "Artistic Performance", "Magic Show"),
    ("long", "Film & Television", "Animation"),
    ("long", "Multilingual", "Multilingual"),
)
"""Duration, domain and sub-category of each."""
KINDS = {
    "color": "Attribute Perception", "first": "Action Recognition", "order": "Temporal Reasoning",
    "shape": "Object Recognition", "last": "Temporal Perception", "said": "OCR Problems",
}  # fmt: skip


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    names = ("video_id", "duration", "domain", "sub_category", "url", "videoID", "question_id", "task_type", "question")
    return {
        **{name: Value("string") for name in names},
        "options": Sequence(Value("string")),
        "answer": Value("string"),
    }


def asked(place: int, found: Story) -> list[Asked]:
    """Three of the six questions."""
    return questions(found, rng("videomme", place))[place % 2 :: 2]


def samples() -> list[Sample]:
    """Eighteen questions."""
    rows, movies, subtitles = list[Row](), dict[str, bytes](), dict[str, bytes]()
    for place, (duration, domain, sub_category) in enumerate(VIDEOS):
        name, found = f"mm-eval-{place}", story("videomme", place, actions=2 + place // 2)
        movies[f"data/{name}.mp4"] = movie(found, spoken=True)
        if place % 3 < 2:
            subtitles[f"subtitle/{name}.srt"] = subrip(found)
        for number, each in enumerate(asked(place, found), 1):
            rows.append({
                "video_id": f"{place + 1:03}", "duration": duration, "domain": domain, "sub_category": sub_category,
                "url": "", "videoID": name, "question_id": f"{place + 1:03}-{number}", "task_type": KINDS[each.kind],
                "question": each.text, "answer": each.letter,
                "options": [f"{letter}. {text}." for letter, text in zip("ABCD", each.options, strict=True)],
            })  # fmt: skip
    half = dict(list(movies.items())[:3]), dict(list(movies.items())[3:])
    files = {f"videos_chunked_{n:02}.zip": zipped(some) for n, some in enumerate(half, 1)}
    files["subtitle.zip"] = zipped(subtitles)
    return [Sample("lmms-lab/Video-MME", "test", features(), rows, "videomme", files)]
