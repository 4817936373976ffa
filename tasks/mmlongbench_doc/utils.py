"""MMLongBench-Doc: short answers to questions on long documents, by the rule of their format.

Source: Ma et al. 2024, arXiv:2407.01523; eval/eval_score.py and eval/extract_answer.py of github.com/mayubo2333/MMLongBench-Doc.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.written_numbers import is_float

from mm_eval.scoring.filters import UNPARSED
from mm_eval.scoring.filters.base import WHOLE_ANSWER
from mm_eval.scoring.metrics import smooth

from .judge_prompt import PROMPT
from .rules import clean, listed, score_of

NONE = "Not answerable"


def with_pages(dataset: Any) -> Any:
    """The docs, if their pages were drawn. ValueError else."""
    if "pages" not in dataset.column_names:
        raise ValueError("the rows name no pages. Draw them: python -m mm_eval.tasks.mmlongbench_doc.draw FOLDER")
    return dataset


def gold_answer(doc: Mapping[str, Any]) -> str | None:
    """The answer; None for the four whose answer is not of its format ("21%" as Int), which no answer can match."""
    answer: str = doc["answer"]
    return answer if score_of(answer, answer, doc["answer_format"]) == 1 else None


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """The score of one answer, and what F1 needs: whether the question has an answer, and one was given."""
    said, kind = (results[0] or "").strip(), doc["answer_format"]
    score = score_of(doc["answer"], said, kind)
    known = {"score": score, "answerable": doc["answer"] != NONE, "answered": said != NONE}
    short = kind not in ("Int", "Float") or is_float(clean(said)) or said == NONE
    return {"acc": score, "f1": known, "__rule__": WHOLE_ANSWER if short else UNPARSED}


@smooth
def f1(results: Sequence[Mapping[str, Any]]) -> float:
    """F1 of the scores of questions with an answer: recall is of these questions, precision of all that were answered."""
    right: float = sum(each["score"] for each in results if each["answerable"])
    both = sum(each["answerable"] for each in results) + sum(each["answered"] for each in results)
    return 2 * right / both if both else 0.0


def evidence(doc: Mapping[str, Any], column: str) -> list[Any]:
    """A column with a list, which is written as a text."""
    found = doc[column]
    return listed(found) if isinstance(found, str) else list(found)


def hop(doc: Mapping[str, Any]) -> str | None:
    """Whether the answer stands on one page, on several, or nowhere."""
    if doc["answer"] == NONE:
        return "unanswerable"
    return "single-page" if len(evidence(doc, "evidence_pages")) == 1 else "cross-page"


def sources(doc: Mapping[str, Any]) -> list[Any]:
    """What the answer stands in: texts, tables, charts, figures, layout."""
    return evidence(doc, "evidence_sources")


def judge_prompt(doc: Mapping[str, Any], answer: str) -> str:
    """The instruction with four examples, the question and the answer."""
    return f"{PROMPT}\n\nQuestion:{doc['question']}\nAnalysis:{answer}\n"


def extraction(reply: str) -> str | None:
    """The text behind the label; None if there is none."""
    found = reply.partition("Answer format:")[0].partition("Extracted answer:")[2]
    return found.strip() or None
