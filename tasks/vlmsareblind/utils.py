"""BlindTest, "Vision language models are blind": what a short answer to a question on a simple figure says.

Source: Rahmanzadehgervi et al. 2024, arXiv:2407.06581; the rule is that of lmms-eval (lmms_eval/tasks/vlmsareblind/utils.py).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.cells import filled

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
_NUMBER, _LETTER = re.compile(r"\d+"), re.compile(r"[a-z]")
_GRIDS = (
    re.compile(r"\{(\d+)\}\s*\{(\d+)\}"),
    re.compile(r"\((\d+)\s*,\s*(\d+)\)"),
    re.compile(r"rows=\{(\d+)\}\scolumns=\{(\d+)\}"),
)
_COUNTED = {
    "line plot intersections",
    "subway connections",
    "olympic counting - circles",
    "olympic counting - pentagons",
    "nested squares",
}


def doc_to_target(doc: Doc) -> str:
    """The right answer in the form that the prompt asks for: `groundtruth`, and for grids "rows={3} columns={4}"."""
    rows, comma, columns = str(filled(doc, "groundtruth")).partition(",")
    return f"rows={{{rows.strip()}}} columns={{{columns.strip()}}}" if comma else rows


def kind(doc: Doc) -> str:
    """One of the paper's eight tasks: the two kinds of grids are one."""
    return "Counting Grid" if doc["task"].lower().startswith("counting grid") else str(doc["task"])


def read(answer: str, task: str) -> str | None:
    """What an answer says, in the form of the column `groundtruth` in small letters; None if it has no such form."""
    said, task = answer.strip().lower(), task.lower()
    if task == "touching circles":
        return said if said in ("yes", "no") else None
    if task.startswith("counting grid"):
        found = next((match for form in _GRIDS if (match := form.search(said))), None)
        return f"{found[1]},{found[2]}" if found else None
    form = _NUMBER if task in _COUNTED else _LETTER if task == "circled letter" else None
    found = form.search(said) if form else None
    return found[0] if found else None


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """1 for the right answer, for the mean over questions and, with its task, for the mean over tasks."""
    said = read(results[0] or "", doc["task"])
    score = float(said == "".join(doc["groundtruth"].split()).lower())
    return {"accuracy": score, "task_mean": (kind(doc), score), "__rule__": UNPARSED if said is None else "form"}
