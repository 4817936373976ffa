"""Video-MME-v2: letters A to H, and groups of four questions on a video whose score is not the mean of theirs.

Source: Fu et al. 2026, arXiv:2604.05015; evaluation/test_video_mme_v2.py of MME-Benchmarks/Video-MME-v2 at b24176a.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.scoring.metrics.traits import declare
from mm_eval.values.errors import DocError
from mm_eval.values.types import Clip, Video

Doc = Mapping[str, Any]
Item = Mapping[str, Any]
PHRASES = (
    "Final Answer:", "The best answer is", "The correct answer is", "The answer is", "The answer", "The best option is",
    "The correct option is", "Best answer:", "Best option:", "Answer:", "Option:",
)  # fmt: skip
SIZE = 4
"""The questions of a group."""
POINTS = {
    "[1,2,3,4]": (0, 1 / 16, 4 / 16, 9 / 16, 1),
    "[1,[2,3],4]": (0, 1 / 12, 4 / 12, 7 / 12, 1),
    "[[1,2],3,4]": (0, 1 / 10, 2 / 10, 5 / 10, 1),
}
"""Of each structure of a chain: what so many right answers, one after another from the first, are worth."""
EITHER = {"[1,[2,3],4]": 1, "[[1,2],3,4]": 0}
"""The place of the first of two questions at one step, of which the second one does for the first."""
OF_GROUP = ("level", "second_head", "third_head")
"""Columns of which the group's last question decides."""


def with_groups(dataset: Any) -> Any:
    """The docs with the place of a question in its group and with what the group's last question says of the group."""
    places, last = list[int](), dict[str, int]()
    for row, video in enumerate(dataset["video_id"]):
        places.append(places[last[video]] + 1 if video in last else 0)
        last[video] = row
    dataset = dataset.add_column("place", places)
    for name in OF_GROUP:
        column = list(dataset[name])
        dataset = dataset.add_column(f"group_{name}", [str(column[last[video]]) for video in dataset["video_id"]])
    return dataset


def _name(doc: Doc) -> str:
    return str(doc["video_id"]).zfill(3)


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video."""
    return [Video(f"{_name(doc)}.mp4")]


def with_subtitles(doc: Doc) -> list[Any]:
    """The video with its words."""
    return [Video(f"{_name(doc)}.mp4", subtitles=f"{_name(doc)}.jsonl")]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question, its lettered options, and what to answer."""
    block = model_specific_prompt_kwargs
    return f"{block['pre_prompt']}Question: {doc['question']}\n{doc['options']}\n{block['post_prompt']}"


def text_with_subtitles(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str], clips: Sequence[Clip]) -> str:
    """The same behind all words of the video, whichever frames are shown."""
    said = " ".join(each.text for clip in clips for each in clip.subtitles or ())
    subtitles = f" This video's subtitles are listed below:\n{said}\n"
    block = model_specific_prompt_kwargs
    return doc_to_text(doc, {**block, "pre_prompt": block["pre_prompt"] + subtitles})


def letter_of(answer: str) -> str | None:
    """The first capital from A to H of an answer without its phrases."""
    said = answer.strip()
    for phrase in PHRASES:
        said = said.replace(phrase, "")
    found = re.search("[A-H]", said)
    return found[0] if found else None


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """The mark of a question for the mean, for its group, and for its group by the authors' script, where -1 is unread."""
    kind, structure = doc["group_type"], doc["group_structure"]
    if kind not in ("relevance", "logic") or kind == "logic" and _form(structure) not in POINTS:
        raise DocError(f"a group {kind!r} of structure {structure!r:.60} is unknown; known are {', '.join(POINTS)}.")
    letter = letter_of(results[0] or "")
    right = letter == doc["answer"]
    item = {"group": doc["video_id"], "place": doc["place"], "kind": kind, "structure": structure}
    as_script = {**item, "mark": int(right) if letter else -1}
    scores = {"acc": float(right), "score": {**item, "mark": int(right)}, "script_score": as_script}
    return scores | {"__rule__": "letter" if letter else UNPARSED}


def _form(structure: object) -> str:
    return str(structure).replace(" ", "")


def points(kind: str, structure: str, marks: Sequence[int]) -> float:
    """What a group is worth from 0 to 1: of related questions the right ones count, of a chain those up to its first mistake.

    marks: of its four questions. As in the authors' script, -1 lessens the sum of related ones, and lets a chain go on.
    """
    if kind == "relevance":
        right = sum(marks)
        return (right / SIZE) ** 2 if right > 0 else 0.0
    way = POINTS[form := _form(structure)]
    right = next((place for place, mark in enumerate(marks) if not mark), SIZE)
    return way[right + 1 if right == EITHER.get(form) and marks[right + 1] else right]


@declare(smooth=True, fraction=True, whole_clusters=True)
def mean_of_groups(items: Sequence[Item]) -> float:
    """The mean of what the groups are worth. A group that lacks a question, since its request failed, is left out."""
    groups = dict[Any, dict[int, Item]]()
    for item in items:
        groups.setdefault(item["group"], {})[item["place"]] = item
    whole = [[group[place] for place in range(SIZE)] for group in groups.values() if len(group) == SIZE]
    worth = [points(group[-1]["kind"], group[-1]["structure"], [item["mark"] for item in group]) for group in whole]
    return math.fsum(worth) / len(worth) if worth else math.nan
