"""CharXiv: questions on charts of arXiv papers, one that needs reasoning and four that describe, graded by a judge.

Source: Wang et al. 2024, arXiv:2406.18521; src/ of github.com/princeton-nlp/CharXiv.
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.cells import filled
from mm_eval.tasks.rules.judge_replies import binary_score, json_object

from mm_eval.values.types import found_in

from . import descriptive, reasoning

Doc = Mapping[str, Any]
SKILLS = {
    "Information Extraction": (1, 2, 3, 4, 5, 6, 7),
    "Enumeration": (8, 9, 13, 14, 15),
    "Pattern Recognition": (11, 16, 18),
    "Counting": (10, 12, 19),
    "Compositionality": (17,),
}
SKILL_OF = {question: skill for skill, questions in SKILLS.items() for question in questions}
SCORE = "score_T1"
WHOLE_FIGURE = (18, 19)
"""The question types on the layout, which name no subplot."""


def with_four_questions(dataset: Any) -> Any:
    """Each row four times, for its four descriptive questions, in the column `question_number`: 1 to 4."""
    from datasets import concatenate_datasets

    rows = len(dataset)
    copies = [dataset.add_column("question_number", [number] * rows) for number in range(1, 5)]
    return concatenate_datasets(copies).select([row + copy * rows for row in range(rows) for copy in range(4)])


def question_type(doc: Doc) -> int:
    """The number of the template of a descriptive question, 1 to 19."""
    return int(doc[f"descriptive_q{doc['question_number']}"])


def descriptive_answer(doc: Doc) -> str:
    """The right answer to a descriptive question."""
    return str(filled(doc, f"descriptive_a{doc['question_number']}"))


def descriptive_question(doc: Doc) -> str:
    """The template of the question's type, with the subplot: a row and a column, a description, or the only plot."""
    if question_type(doc) in WHOLE_FIGURE:
        return descriptive.QUESTIONS[question_type(doc)]
    place = f"For {doc['subplot_loc']}, "
    if doc["subplot_loc"] is None:
        row, column = doc["subplot_row"], doc["subplot_col"]
        place = f"For the subplot at row {row} and column {column}, " if row else "For the current plot, "
    return descriptive.QUESTIONS[question_type(doc)].format(place)


def reasoning_question(doc: Doc) -> str:
    """The question with the instruction of its answer's type. A number's says how many decimal places it has."""
    whole, _, decimals = doc["reasoning_a"].partition(".")
    form = f"a number with {len(decimals)} decimal places" if "." in doc["reasoning_a"] else "an exact integer"
    return found_in(reasoning.QUESTIONS, doc["reasoning_a_type"], "reasoning_a_type").format(
        doc["reasoning_q"], f"* Your final answer must be {form}."
    )


def judge_descriptive(doc: Doc, answer: str) -> str:
    """The official prompt with one answer; the authors' script puts five answers to questions of one type into a call."""
    kind = question_type(doc)
    introduction = (
        descriptive.INTRODUCTION.replace("<|NUM_TRIPLETS|>", "1")
        .replace("<|OVERARCHING_QUESTION|>", descriptive.GRADED_AS[kind])
        .replace("<|JSON_KEYS|>", str(["extract_answer_T1", SCORE]))
    )
    pair = f"T1:\nResponse 1: {answer}\nGround Truth 1: {descriptive_answer(doc)}\n\n"
    return introduction + descriptive.RUBRICS[descriptive.RUBRIC_OF[kind]] + pair


def judge_reasoning(doc: Doc, answer: str) -> str:
    """The official prompt of the answer's type. The answer is filled in last: what it says is not searched for places."""
    asked = found_in(reasoning.RUBRICS, doc["reasoning_a_type"], "reasoning_a_type").replace(
        "<|question|>", doc["reasoning_q"]
    )
    before, _, after = asked.replace("<|ground_truth|>", doc["reasoning_a"]).rpartition("<|response|>")
    return f"{reasoning.INTRODUCTION}{before}{answer}{after}"


def descriptive_verdict(reply: str) -> float | None:
    """0 or 1, the score of the only pair in the JSON reply."""
    found = json_object(reply)
    return binary_score(found, SCORE) if found and "extract_answer_T1" in found else None


def reasoning_verdict(reply: str) -> float | None:
    """0 or 1, the score in the JSON reply; the prompt names the other key in two ways."""
    found = json_object(reply)
    return binary_score(found, "score") if found and {"extracted_answer", "extract_answer"} & set(found) else None


def skill(doc: Doc) -> str:
    """What a descriptive question asks for, as the authors group the types."""
    return SKILL_OF[question_type(doc)]


def subplots(doc: Doc) -> str:
    """The number of subplots, in the authors' three classes."""
    count = doc["num_subplots"]
    return "1 Subplot" if count == 1 else "2-4 Subplots" if count <= 4 else "5+ Subplots"


def year(doc: Doc) -> str:
    """The year of the paper; the column has its last two digits."""
    return f"20{str(doc['year'])[-2:]}"
