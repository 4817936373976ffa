"""ChartQAPro: questions on charts, some within a conversation or with a paragraph.

Source: Masry et al. 2025, arXiv:2504.05506; evaluate_predictions.py of github.com/vis-nlp/ChartQAPro. The columns are those that
lmms-eval's task reads (lmms_eval/tasks/chartqapro).
"""

import ast
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from mm_eval.scoring.metrics.generation import edit_distance
from mm_eval.types import shown_picture

from .prompts import prompt

Doc = Mapping[str, Any]

TOLERANCE, LEAST_LIKENESS = 0.05, 0.5
_BARE_WORD = re.compile(r"(?<!['\w])\w[^,]*?(?!['\w])")


def doc_to_visual(doc: Doc) -> list[Any]:
    """The chart; the hub has the bytes of its file."""
    return [shown_picture(doc["image"])]


def doc_to_text(doc: Doc) -> str:
    """The paragraph, the prompt of the type, the conversation and the question."""
    *earlier, question = doc["Question"]
    said = [text for pair in zip(earlier, doc["Answer"][:-1], strict=True) for text in pair]
    lead = f"Conversation: {said} " if doc["Question Type"] == "Conversational" else ""
    paragraph = f"{doc['Paragraph']}\n" if doc["Paragraph"] else ""
    return f"{paragraph}{prompt(doc['Question Type'])}\n{lead}Question: {question}"


def right_answer(doc: Doc) -> str:
    """The answer to the last question, without full stops around it."""
    return str(doc["Answer"][-1]).strip(".").strip("\n")


def listed(text: str) -> list[str]:
    """The parts of an answer that is a Python list; else the answer alone."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return [text]
    return [str(part).strip(" '") for part in found] if isinstance(found, list) and found else [text]


def quoted(text: str) -> str:
    """A list with quotes around its bare words, if that makes it a Python list ("[Lima, Oslo]"); else the text as it is."""
    whole = text.strip()
    if not re.match(r"^\[(.*)\]$", whole):
        return text
    made = "[" + _BARE_WORD.sub(r"'\g<0>'", whole[1:-1]) + "]"
    try:
        return str(ast.literal_eval(made))
    except (ValueError, SyntaxError):
        return text


def gold_answer(doc: Doc) -> str:
    """The right answer in a form that is read: a list has quotes around its parts."""
    right = right_answer(doc)
    parts = listed(quoted(right))
    return str(parts) if len(parts) > 1 else right


def number(text: str) -> float | None:
    """The number that a text is, with or without a percent sign."""
    try:
        return float(text.strip().strip("%"))
    except ValueError:
        return None


def likeness(right: str, said: str) -> float:
    """1 for a number within 5%, 0 for another one; for texts 1 minus their normalised edit distance, 0 from half of it on."""
    right, said = right.strip().strip("%").strip(), said.strip().strip("%").strip()
    expected, given = number(right), number(said)
    if expected is not None and given is not None:
        return float(abs(given - expected) <= TOLERANCE * abs(expected) if expected else not given)
    one, other = " ".join(right.lower().split()), " ".join(said.lower().split())
    distance = edit_distance(one, other) / max(len(one), len(other), 1)
    return 1 - distance if distance < LEAST_LIKENESS else 0.0


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """The mean over the parts of the right answer or of the given one, whichever are more. A year must be equal as text."""
    said = listed(results[0].strip(".").strip("\n"))
    right = listed(quoted(right_answer(doc)))
    years = doc["Year"][-1:] if doc["Question Type"] == "Conversational" else doc["Year"]
    flags = (years * len(right) if len(years) < len(right) else years) + ["NO"] * len(said)
    scores = []
    for part, answer, year in zip_longest(right, said, flags[: max(len(right), len(said))]):
        if part is None or answer is None:
            scores.append(0.0)
        elif year.upper() == "YES":
            scores.append(float(part.strip().lower() == answer.strip().lower()))
        else:
            scores.append(likeness(part, answer))
    return {"relaxed_accuracy": sum(scores) / len(scores)}
