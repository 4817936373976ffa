"""HallusionBench: answers, questions and figures that are all right (a question has several figures, a figure several questions).

Source: Guan et al. 2024, arXiv:2310.14566, and evaluation.py and utils.py of github.com/tianyi-lab/HallusionBench.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.cells import filled
from mm_eval.tasks.rules.judge_replies import lone_grade
from mm_eval.tasks.rules.whole_groups import whole_groups

from mm_eval.values.types import found_in

ANSWERS = {"0": "no", "1": "yes"}
UNCLEAR = "unclear"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """yes or no."""
    return found_in(ANSWERS, str(doc["gt_answer"]), "gt_answer")


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """Whether the answer is right, with the question and the figure that it belongs to.

    Both keys begin with the category. They are texts: `mm-eval compare` reads them from JSON, where a tuple is a list.
    A question of the category VS without a picture (figure 0) belongs to no figure.
    """
    right = float(results[0] == doc_to_target(doc))
    of_set = f"{doc['category']}/{doc['subcategory']}/{doc['set_id']}"
    no_picture = doc["category"] == "VS" and str(doc["figure_id"]) == "0"
    item = {
        "right": right,
        "question": f"{of_set}/{doc['question_id']}",
        "figure": None if no_picture else f"{of_set}/{doc['figure_id']}",
    }
    scores: dict[str, Any] = {"aAcc": right, "qAcc": item, "average": item}
    return scores if no_picture else {**scores, "fAcc": item}


questions_right = whole_groups("question")
"""The share of questions that are answered right for every figure."""
figures_right = whole_groups("figure")
"""The share of figures of which every question is answered right."""
average = whole_groups("question", "figure", with_items=True)
"""The mean of the shares of right answers, questions and figures: the number that releases print."""


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """The authors' prompt, with the question, the right answer in a sentence and the model's answer."""
    return (
        "Imagine you are an intelligent teacher. Thoroughly read the question, reference answer and the prediction answer to "
        "ensure a clear understanding of the information provided. Assess the correctness of the predictions. "
        "If the prediction answer does not conflict with the reference answer, please generate “correct”. If the prediction "
        "answer conflict with the reference answer, please generate “incorrect”. If the prediction answer is unclear about the "
        f'answer, please generate "unclear". \n\n Question:{doc["question"]}\n'
        f"Reference answer: {filled(doc, 'gt_answer_details')}\nPrediction answer:{answer}\nOutput:"
    )


def verdict(reply: str, doc: Mapping[str, Any]) -> str | None:
    """The answer that a grade stands for: the right word, the other one, or "unclear". None if no lone grade is stated."""
    grade, right = lone_grade(reply, ("correct", "incorrect", UNCLEAR)), doc_to_target(doc)
    if grade is None:
        return None
    wrong = next(word for word in ANSWERS.values() if word != right)
    return {"correct": right, "incorrect": wrong, UNCLEAR: UNCLEAR}[grade]


def verdict_range(doc: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a wrong and a right answer give."""
    return process_results(doc, [UNCLEAR]), process_results(doc, [doc_to_target(doc)])
