"""WorldSense: two questions on each of three videos, of which one needs the voice."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

VIDEOS = (("Tech & Science", "Physics"), ("Daily Life", "Pets"), ("Music", "Piano"))
"""Domain and sub-category of each."""
KINDS = {
    "color": ("Recognition", "Attribute Recognition"), "first": ("Recognition", "Event Recognition"),
    "order": ("Understanding", "Event Sorting"), "shape": ("Recognition", "Object Existence Recognition"),
    "last": ("Understanding", "Temporal Localization"), "said": ("Recognition", "Audio Recognition"),
}  # fmt: skip
"""Kind and task."""


def features() -> dict[str, Any]:
    """The columns that lmms-eval's code reads, with those of VLMEvalKit's table."""
    from datasets import Sequence, Value

    text = Value("string")
    names = (
        "video", "video_path", "duration", "domain", "sub_category", "task_domain", "task_type", "subtitle_path",
        "audio_path", "video_caption", "question", "answer",
    )  # fmt: skip
    lists = {"candidates": Sequence(text), "audio_class": Sequence(text)}
    return {"index": Value("int64"), **dict.fromkeys(names, text), **lists}


def samples() -> list[Sample]:
    """Six questions."""
    rows, movies = list[Row](), dict[str, bytes]()
    for place, (domain, sub_category) in enumerate(VIDEOS):
        name, found = f"mmeval{place:02}", story("worldsense", place)
        movies[f"videos/{name}.mp4"] = movie(found, spoken=True)
        asked = questions(found, rng("worldsense", place))
        for each in (asked[place], asked[5]):
            kind, task = KINDS[each.kind]
            rows.append({
                "index": len(rows), "video": name, "video_path": f"./videos/{name}.mp4", "duration": "<1min", "domain": domain,
                "sub_category": sub_category, "task_domain": kind, "task_type": task, "subtitle_path": f"./subtitles/{name}.srt",
                "audio_path": f"./audios/{name}.wav", "video_caption": "", "question": each.text, "answer": each.letter,
                "candidates": [f"{letter}. {text}" for letter, text in zip("ABCD", each.options, strict=True)],
                "audio_class": ["Speech"],
            })  # fmt: skip
    return [Sample("lmms-lab/worldsense", "test", features(), rows, files={"worldsense_videos_1.zip": zipped(movies)})]
