"""VSI-Bench: two questions of each of its ten kinds, on four videos in three zip archives."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

KINDS = ("object_rel_direction_easy", "object_rel_direction_medium", "object_rel_direction_hard", "object_rel_distance",
         "route_planning", "obj_appearance_order")  # fmt: skip
NUMBERS = {
    "object_counting": ("How many actions does the {} do?", "{actions}"),
    "object_abs_distance": ("How many pixels does the {} move in one frame, when it moves?", "3.5"),
    "object_size_estimation": ("How many seconds does the video last?", "{seconds}"),
    "room_size_estimation": ("What is the width of the picture, in pixels?", "96"),
}
SOURCES = ("arkitscenes", "scannet", "scannetpp", "scannet")


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text = Value("string")
    names = ("dataset", "scene_name", "question_type", "question", "ground_truth")
    return {"id": Value("int64"), **dict.fromkeys(names, text), "options": Sequence(text)}


def samples() -> list[Sample]:
    """Twelve questions with options and eight with a number."""
    rows, movies = list[Row](), {source: dict[str, bytes]() for source in SOURCES}
    for place, source in enumerate(SOURCES):
        found, scene = story("vsi_bench", place, actions=2 + place % 2), f"scene_{place}"
        movies[source][f"{source}/{scene}.mp4"] = movie(found)
        about = {"dataset": source, "scene_name": scene}
        facts = {"actions": len(found.actions), "seconds": found.seconds}
        for number, each in enumerate(questions(found, rng("vsi_bench", place), 4)[place % 2 :: 2]):
            kind = KINDS[(3 * place + number) % len(KINDS)]
            options = [f"{letter}. {text}" for letter, text in zip("ABCD", each.options, strict=True)]
            rows.append(
                {**about, "question_type": kind, "question": each.text, "ground_truth": each.letter, "options": options}
            )
        for kind in list(NUMBERS)[2 * (place % 2) :][:2]:
            question, answer = NUMBERS[kind]
            rows.append({
                **about, "question_type": kind, "question": question.format(found.shape), "ground_truth": answer.format(**facts),
                "options": None,
            })  # fmt: skip
    numbered = [{"id": number, **row} for number, row in enumerate(rows)]
    files = {f"{source}.zip": zipped(some) for source, some in movies.items()}
    return [Sample("nyu-visionx/VSI-Bench", "test", features(), numbered, "full", files)]
