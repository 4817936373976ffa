"""BabyVision: what is boxed, the judge's question about it, and three passes.

Source: Chen et al. 2026, arXiv:2601.06521; {evaluate_model,utils,compute_score}.py of UniPat-AI/BabyVision at 7f92fd4.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from mm_eval.tasks.rules.cells import filled, filled_list

from mm_eval.values.errors import DocError

from .prompts import BOX, JUDGE

Doc = Mapping[str, Any]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BOX, _BRACE = re.compile(r"\\boxed\{"), re.compile(r"[{}]")
_FRAME = re.compile(r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>")


def doc_to_text(doc: Doc) -> str:
    """The question, its options if it has some, and the demand for a box."""
    listed = ""
    if doc["ansType"] != "blank":
        options = [f"({letter}) {text}" for letter, text in zip(LETTERS, filled_list(doc, "options"), strict=False)]
        listed = "\nChoices:\n" + "\n".join(options)
    return f"{filled(doc, 'question')}{listed}\n{BOX}"


def doc_to_target(doc: Doc) -> str:
    """The letter of the right option, or the text for the blank."""
    if doc["ansType"] == "blank":
        return str(filled(doc, "blankAns"))
    right, options = int(filled(doc, "choiceAns")), len(filled_list(doc, "options"))
    if not 0 <= right < options:
        raise DocError(f"'choiceAns' is {right}, and there are {options} options, counted from 0.")
    return LETTERS[right]


def gold_answer(doc: Doc) -> str:
    """The right answer in a box, as it is asked for."""
    return f"\\boxed{{{doc_to_target(doc)}}}"


def boxed(answer: str) -> str | None:
    r"""The content of the last \boxed{} with balanced braces, else of the last <|begin_of_box|>; None where there is neither.

    A box within a box belongs to it. The authors' pattern also takes some unbalanced braces that stand three deep.

    >>> boxed(r"First \boxed{1}, then \boxed{\text{two}}"), boxed("It is 3.")
    ('\\text{two}', None)
    """
    opened, closed = list[int](), dict[int, int]()
    for brace in _BRACE.finditer(answer):
        if brace[0] == "{":
            opened.append(brace.start())
        elif opened:
            closed[opened.pop()] = brace.start()
    found, after = list[str](), 0
    for box in _BOX.finditer(answer):
        end = closed.get(box.end() - 1)
        if end is not None and box.start() >= after:
            found.append(answer[box.end() : end])
            after = end
    if not found:
        found = [content.strip() for content in _FRAME.findall(answer)]
    return found[-1] if found else None


def judge_prompt(doc: Doc, answer: str) -> str:
    """The question as it was asked, the right answer, and what is boxed: the word None where nothing is."""
    return JUDGE.format(question=doc_to_text(doc), groundtruth=doc_to_target(doc), modeloutput=boxed(answer))


def verdict(reply: str) -> int | None:
    """1 where "true" stands anywhere in the reply, else 0 for "false"; None without either."""
    said = reply.lower()
    return 1 if "true" in said else 0 if "false" in said else None


def passes(references: Any, verdicts: Sequence[float]) -> list[float]:
    """The verdicts on a document's answers, the first of them being of the first pass."""
    return list(verdicts)


def deviation(documents: Sequence[Any]) -> float:
    """The standard deviation of the passes' shares of right answers, with the number of passes as divisor."""
    rows = [row if isinstance(row, list) else [row] for row in documents]  # one answer a document: one pass
    return pstdev([fmean(of_pass) for of_pass in zip(*rows, strict=True)]) if rows else 0.0
