"""OVO-Bench: three kinds of questions about the part of a video that has been seen so far.

Source: Li et al. 2025, arXiv:2501.05510; constant.py and utils/OVOBenchScore.py of JoeLeelyf/OVO-Bench at c34093f.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED
from mm_eval.values.types import Video

Doc = Mapping[str, Any]
BACKWARD, REALTIME = ("EPM", "ASI", "HLD"), ("STU", "OJR", "ATR", "ACR", "OCR", "FPD")
FORWARD = ("REC", "SSR", "CRR")
LETTERS = "ABCDEFGH"


def backward(dataset: Any) -> Any:
    """The questions about the past."""
    return _of(dataset, BACKWARD)


def realtime(dataset: Any) -> Any:
    """The questions about the present."""
    return _of(dataset, REALTIME)


def forward(dataset: Any) -> Any:
    """Those that are asked at several times, a document for each time: `part` is its number, `asked` what holds at it."""
    rows = _of(dataset, FORWARD)
    places = [(row, part) for row, times in enumerate(rows["test_info"]) for part in range(len(times))]
    asked = [rows["test_info"][row][part] for row, part in places]
    rows = rows.select([row for row, _ in places])
    return rows.add_column("part", [part for _, part in places]).add_column("asked", asked)


def _of(dataset: Any, tasks: Sequence[str]) -> Any:
    return dataset.select([row for row, task in enumerate(dataset["task"]) if task in tasks])


def doc_to_visual(doc: Doc) -> list[Any]:
    """The clip, which ends when the question is asked."""
    return [Video(f"chunked_videos/{doc['id']}.mp4")]


def part_to_visual(doc: Doc) -> list[Any]:
    """The clip of one of several times."""
    return [Video(f"chunked_videos/{doc['id']}_{doc['part']}.mp4")]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """The question and its options in one line."""
    options = "; ".join(f"{letter}. {option}" for letter, option in zip(LETTERS, doc["options"], strict=False))
    return model_specific_prompt_kwargs["form"].format(question=doc["question"], options=f"{options};")


def part_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str]) -> str:
    """How often something was done, whether a step is being done, or whether a question can be answered by now."""
    said = {"REC": doc.get("activity"), "SSR": doc["asked"].get("step"), "CRR": doc.get("question")}[doc["task"]]
    forms = {task: model_specific_prompt_kwargs[task] for task in FORWARD}
    return forms[doc["task"]].format(said)


def letter(doc: Doc) -> str:
    """The letter of the right option."""
    return LETTERS[doc["gt"]]


def part_to_target(doc: Doc) -> str:
    """A number, or Yes or No."""
    return str(int(doc["asked"]["count"])) if doc["task"] == "REC" else "Yes" if doc["asked"]["type"] else "No"


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """Right if the right letter occurs in the reply at all."""
    reply = results[0] or ""
    is_read = any(each in reply for each in LETTERS[: len(doc["options"])])
    return _scored(doc, letter(doc) in reply, is_read)


def process_part(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """Right if all digits of the reply in a row are the number, or if the word occurs in it, or is its first letter alone."""
    reply, target = results[0] or "", part_to_target(doc)
    if doc["task"] == "REC":
        digits = "".join(re.findall(r"\d", reply))
        return _scored(doc, digits == target, bool(digits))
    is_read = reply in ("Y", "N") or "Yes" in reply or "No" in reply
    return _scored(doc, target in reply or reply == target[0], is_read)


def _scored(doc: Doc, right: bool, is_read: bool) -> dict[str, Any]:
    """The score for the mean of the tasks' means, and for the mean of all."""
    rule = "answer" if is_read else UNPARSED
    return {"score": (doc["task"], float(right)), "acc": float(right), "__rule__": rule}
