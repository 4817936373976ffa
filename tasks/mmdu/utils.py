"""MMDU: conversations on several pictures, and a judge that rates each answer in six respects and overall.

Source: Liu et al. 2024, arXiv:2406.11833; model_generation and scores/{prompt,statistic}.py of Liuziyu77/MMDU at 98a1a39.
"""

import ast
import json
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.mmdu.prompts import SYSTEM, asked

from mm_eval.scoring.metrics import mean, smooth
from mm_eval.values.errors import DocError

Doc = Mapping[str, Any]
Scores = dict[str, list[int | float]]
MARK = "<ImageHere>"
RESPECTS = {
    "judge_score": "Overall Score",
    "creativity": "Creativity",
    "richness": "Richness",
    "visual_perception": "Visual Perception",
    "logical_coherence": "Logical Coherence",
    "answer_accuracy": "Answer Accuracy",
    "image_relationship": "Image Relationship Understanding",
}
"""The keys of the judge's dictionary, by metric."""


def doc_to_visual(doc: Doc) -> list[Any]:
    """The pictures of the first question."""
    marks, there = sum(question.count(MARK) for question in doc["questions"]), len(doc["image"])
    if marks > there:
        raise DocError(f"its questions show {marks} pictures, and it has {there}.")
    return list(doc["image"][: doc["questions"][0].count(MARK)])


def doc_to_text(doc: Doc) -> str:
    """The first question, with its pictures at their places."""
    return str(doc["questions"][0]).replace(MARK, "<image>")


def references(doc: Doc) -> str:
    """The reference answers to all questions, as a model's answers are scored."""
    return json.dumps(doc["answers"], ensure_ascii=False)


def next_turn(doc: Doc, answers: Sequence[Any]) -> dict[str, Any] | None:
    """The next question, with its pictures at their places."""
    turn, parts = len(answers), list[dict[str, Any]]()
    if turn >= len(doc["questions"]):
        return None
    shown = sum(question.count(MARK) for question in doc["questions"][:turn])
    for place, text in enumerate(doc["questions"][turn].split(MARK)):
        parts += [{"type": "image", "image": doc["image"][shown + place - 1]}] if place else []
        parts += [{"type": "text", "text": text}] if text else []
    return {"role": "user", "content": parts}


def answers_of(doc: Doc, answer: str) -> list[str]:
    """The model's answer to each question, empty where it gave none. A single text is taken for the answer to each of them."""
    turns = len(doc["questions"])
    try:
        found = json.loads(answer)
    except ValueError:
        found = None
    texts = list(map(str, found)) if isinstance(found, list) else [answer] * turns
    return [*texts, *[""] * turns][:turns]


def judge_prompt(doc: Doc, answer: str, verdicts: Sequence[Any]) -> list[dict[str, Any]] | None:
    """The question about the next answer that is not empty, with all pictures of the conversation behind it."""
    said = answers_of(doc, answer)
    turns = [turn for turn, text in enumerate(said) if text.strip()][len(verdicts) :]
    if not turns:
        return None
    text = asked(doc["questions"][turns[0]], doc["answers"][turns[0]], said[turns[0]])
    pictures = [{"type": "image", "image": picture} for picture in doc["image"]]
    return [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": [{"type": "text", "text": text}, *pictures]},
    ]


def verdict(reply: str) -> dict[str, int | float] | None:
    """The seven scores of 1 to 10 in the dictionary from the first to the last brace of a reply; None if one is missing."""
    text = reply[reply.find("{") : reply.rfind("}") + 1]
    try:
        found = ast.literal_eval(text) if len(text) < 1000 else None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    stated = found if isinstance(found, dict) else {}
    scores = {name: stated[key] for name, key in RESPECTS.items() if type(stated.get(key)) in (int, float)}
    return scores if len(scores) == len(RESPECTS) and all(1 <= score <= 10 for score in scores.values()) else None


def total(verdicts: Sequence[Mapping[str, Any]], doc: Doc, answer: str) -> Scores:
    """The scores of each turn; an empty answer, about which nothing is asked, has the lowest."""
    rest = iter(verdicts)
    turns = [next(rest) if text.strip() else dict.fromkeys(RESPECTS, 1) for text in answers_of(doc, answer)]
    return {name: [turn[name] for turn in turns] for name in RESPECTS}


def lowest(doc: Doc) -> Scores:
    """The scores of a conversation without any answer."""
    return total([], doc, "[]")


def ends(doc: Doc) -> tuple[Scores, Scores]:
    """The lowest and the highest scores."""
    return lowest(doc), {name: [10] * len(doc["questions"]) for name in RESPECTS}


@smooth
def over_turns(docs: Sequence[Sequence[float]]) -> float:
    """Ten times the mean over the turns of all conversations, as the authors report it."""
    return 10 * mean([score for of_doc in docs for score in of_doc])
