"""LongVideoBench: questions on six videos in a tar archive of two parts, with subtitles in another one."""

import json
from typing import Any

from samples import Row, Sample, rng
from samples._movies import RATE, STEPS, Story, movie, parts, questions, story, tarred

GROUPS = (15, 60, 600, 3600)
CATEGORIES = {
    "color": "S2A", "first": "S2E", "order": "E3E", "shape": "S2O", "last": "SSS", "said": "T3E",
}  # fmt: skip


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text, whole = Value("string"), Value("int64")
    return {
        "video_id": text, "question": text, "question_wo_referring_query": text,
        **{f"option{number}": text for number in range(5)}, "correct_choice": whole, "position": Sequence(whole),
        "topic_category": text, "question_category": text, "level": text, "id": text, "video_path": text,
        "subtitle_path": text, "duration_group": whole, "starting_timestamp_for_subtitles": Value("float64"),
        "duration": Value("float64"), "view_count": whole,
    }  # fmt: skip


def subtitles(found: Story, offset: float, by_clock: bool) -> bytes:
    """The subtitles, one for each action, in one of the two forms that the benchmark has. The last has no end in the first."""
    entries: list[dict[str, Any]] = []
    for number, word in enumerate(found.words):
        start, end = offset + number * STEPS / RATE, offset + (number + 1) * STEPS / RATE - 0.1
        text = f"Now it says {word}."
        if by_clock:
            entries.append({"start": f"00:00:{start:06.3f}", "end": f"00:00:{end:06.3f}", "line": text})
        else:
            entries.append({"timestamp": [start, None if number == len(found.words) - 1 else end], "text": text})
    return json.dumps(entries).encode()


def samples() -> list[Sample]:
    """Twelve questions with two to five options."""
    rows, movies, texts = list[Row](), dict[str, bytes](), dict[str, bytes]()
    for place in range(6):
        found, offset = story("longvideobench", place, actions=2 + place % 3), 20.0 * (place % 2)
        name = f"mm-eval-lvb-{place}"
        movies[f"videos/{name}.mp4"] = movie(found)
        texts[f"subtitles/{name}_en.json"] = subtitles(found, offset, bool(place % 2))
        for number, each in enumerate(questions(found, rng("longvideobench", place), 2 + place % 4)[place % 2 :: 3]):
            texts_of = [*each.options, *["N/A"] * 5][:5]
            rows.append({
                "video_id": name, "question": each.text, "question_wo_referring_query": each.text,
                **{f"option{n}": text for n, text in enumerate(texts_of)}, "correct_choice": each.right, "position": [0],
                "topic_category": "KC-Knowledge-Computer-Science", "question_category": CATEGORIES[each.kind],
                "level": "L1-Perception", "id": f"{name}_{number}", "video_path": f"{name}.mp4",
                "subtitle_path": f"{name}_en.json", "duration_group": GROUPS[place % 4],
                "starting_timestamp_for_subtitles": offset, "duration": found.seconds, "view_count": 0,
            })  # fmt: skip
    files = {**parts("videos.tar.part", tarred(movies)), "subtitles.tar": tarred(texts)}
    return [Sample("longvideobench/LongVideoBench", "validation", features(), rows, files=files)]
