"""MotionBench: questions on fine motion, several to a video in one row of the authors' file.

Source: Hong et al. 2025, arXiv:2501.02955, and lmms-eval, lmms_eval/tasks/motionbench, for the file, its columns and the prompt.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.types import Video

Doc = Mapping[str, Any]
OPTION = re.compile(r"(?:^|\n)\s*([A-F])[.):]\s*(.*?)\s*(?=\n\s*[A-F][.):]\s|$)", re.DOTALL)


def questions(dataset: Any) -> Any:
    """A doc for each question with an answer, the options a line each, as lmms-eval writes them."""
    from datasets import Dataset

    kept = ("video_path", "video_type", "question_type")
    rows = [
        {**{name: row.get(name) for name in kept}, "uid": str(each.get("uid")), "question": asked, "answer": answer}
        for row in dataset
        for each in row["qa"]
        for asked, letters in [listed(each["question"])]
        if (answer := str(each["answer"]).strip().upper()) in letters
    ]
    return Dataset.from_list(rows)


def listed(text: str) -> tuple[str, list[str]]:
    """A question with its options, a line each, and their letters."""
    options = list(OPTION.finditer(text.strip()))
    asked = " ".join(text.strip()[: options[0].start()].split()) if options else ""
    lines = [f"{each[1]}. {' '.join(each[2].split())}" for each in options]
    return "\n".join([asked, *lines]), [each[1] for each in options]


def doc_to_visual(doc: Doc) -> list[Any]:
    """The video."""
    return [Video(doc["video_path"])]


def process_results(doc: Doc, results: Sequence[Any]) -> dict[str, Any]:
    """Whether the letter is right."""
    return {"acc": float(results[0] == doc["answer"])}
