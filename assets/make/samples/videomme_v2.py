"""Video-MME-v2: four questions with eight options on each of four videos, one for each structure of a group, and their words."""

import json

from datasets import Value

from samples import Row, Sample, rng
from samples._movies import ACTIONS, WORDS, Story, movie, story, zipped

NAMES = (
    "video_id", "url", "group_type", "group_structure", "question_id", "question", "options", "answer", "level", "second_head",
    "third_head",
)  # fmt: skip
GROUPS = (("relevance", "None"), ("logic", "[1, 2, 3, 4]"), ("logic", "[1, [2, 3], 4]"), ("logic", "[[1, 2], 3, 4]"))
OTHERS = ("it rotates", "it splits in two", "it changes its colour", "it leaves the picture", "nothing")


def asked(found: Story) -> list[tuple[str, str, list[str]]]:
    """Four questions with their right answers and what else the options say."""
    acts = [*(f"it {each}" for each in ACTIONS), *OTHERS]
    first, second = (f"it {each}" for each in found.actions)
    return [
        (f"What does the {found.shape} do first?", first, acts),
        (f"What does the {found.shape} do last?", second, acts),
        ("What is the first word?", found.words[0], [*WORDS, "FIRE", "PUSH", "PULL"]),
        ("What is the last word?", found.words[1], [*WORDS, "FIRE", "PUSH", "PULL"]),
    ]


def samples() -> list[Sample]:
    """Sixteen questions."""
    rows, movies, words = list[Row](), dict[str, bytes](), dict[str, bytes]()
    for place, (kind, structure) in enumerate(GROUPS):
        name, found = f"{place + 1:03}", story("videomme_v2", place)
        movies[f"{name}.mp4"] = movie(found)
        step = found.seconds / len(found.words)
        said = [
            {"text": text, "start_time": n * step, "end_time": (n + 1) * step} for n, text in enumerate(found.words)
        ]
        words[f"subtitle/{name}.jsonl"] = "".join(f"{json.dumps(each)}\n" for each in said).encode()
        for number, (question, right, all_options) in enumerate(asked(found), 1):
            stream = rng("videomme_v2", place, number)
            options = [right, *stream.sample(sorted({*all_options} - {right}), 7)]
            stream.shuffle(options)
            rows.append({
                "video_id": name, "url": "", "group_type": kind, "group_structure": structure,
                "question_id": f"{name}-{number}", "question": question,
                "options": "\n".join(f"{letter}. {text}." for letter, text in zip("ABCDEFGH", options, strict=True)),
                "answer": "ABCDEFGH"[options.index(right)], "level": str(1 + place % 3) if number == 4 else "None",
                "second_head": "Order" if place else "Frames Only", "third_head": "Actions" if place < 2 else "Words",
            })  # fmt: skip
    files = {"videos/01.zip": zipped(movies), **words}
    return [Sample("MME-Benchmarks/Video-MME-v2", "test", {name: Value("string") for name in NAMES}, rows, files=files)]
