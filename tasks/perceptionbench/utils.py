"""PerceptionBench: pictures at their marks, the judge's question, and what it says behind [judge].

Source: Moonshot AI 2026, arXiv:2607.24957; vlmeval/dataset/perceptionbench.py of VLMEvalKit at e8e78f0.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.cells import filled, filled_list

from mm_eval.types import shown_picture
from mm_eval.values.errors import DocError
from mm_eval.values.types import IMAGE_MARK, at_image_marks

from .prompts import JUDGE

Doc = Mapping[str, Any]
_PLACE = re.compile(r"\{(problem|assistant_answer|reference_answer)\}")
_BEFORE_DIGIT, _OTHERS, _LINE = re.compile(r"\\+[ 0-9-]"), re.compile(r"\\+(?![ 0-9-])"), re.compile(r"\\+n")


def _placed(doc: Doc) -> tuple[str, list[int]]:
    """The question with a mark for each picture, and the numbers of the pictures. A mark without a picture is text."""
    count, problem = len(filled_list(doc, "image")), filled(doc, "problem")
    known = "|".join(map(str, range(count, 0, -1)))
    text, numbers = at_image_marks(problem, rf"<\|image_({known})\|>") if count else (problem, [])
    unused = [number for number in range(1, count + 1) if number not in numbers]
    return text + IMAGE_MARK * len(unused), [*numbers, *unused]


def doc_to_text(doc: Doc) -> str:
    """The question, each picture at its mark, and those without a mark at the end."""
    return _placed(doc)[0]


def doc_to_visual(doc: Doc) -> list[Any]:
    """The pictures in the order of their marks; the hub has them as data URLs."""
    return [shown_picture(doc["image"][number - 1]) for number in _placed(doc)[1]]


def doc_to_target(doc: Doc) -> str:
    """The right answer, which may stand in JSON."""
    answer = filled(doc, "answer")
    if isinstance(answer, str) and answer.strip().startswith("{"):
        try:
            answer = json.loads(answer)
        except ValueError:
            return str(answer)
    found = answer.get("answer", doc["answer"]) if isinstance(answer, Mapping) else answer
    if found is None:
        raise DocError("'answer' holds an answer that is null: there is nothing to compare with.")
    return str(found)


def with_plain_backslashes(text: str) -> str:
    """The text as the judge is shown it: backslashes in a row are one, those before an n are a new line.

    Before a blank, a digit or a hyphen they are two and a blank, and that character is gone, as in VLMEvalKit.
    """
    return _LINE.sub("\n", _OTHERS.sub(r"\\", _BEFORE_DIGIT.sub(r"\\\\ ", text))).strip()


def judge_prompt(doc: Doc, answer: str) -> str:
    """The question with its marks, the answer, and the right one."""
    parts = {"problem": doc["problem"], "assistant_answer": answer, "reference_answer": doc_to_target(doc).strip()}
    shown = {name: with_plain_backslashes(text) for name, text in parts.items()}
    return _PLACE.sub(lambda place: shown[place[1]], JUDGE)


def verdict(reply: str) -> int | None:
    """1 for "true" behind the last [judge], else 0 for "false"; None without either, and without [reason]."""
    if "[reason]" not in reply or "[judge]" not in reply:
        return None
    said = reply.rpartition("[judge]")[2].lower()
    return 1 if "true" in said else 0 if "false" in said else None
