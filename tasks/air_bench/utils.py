"""AIR-Bench: the letter at the beginning or the end of an answer, and a judge that compares an open answer with GPT-4's.

Source: Yang et al. 2024, arXiv:2402.07729; score_foundation.py, score_chat.py and cal_score.py of OFA-Sys/AIR-Bench at 9832476.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from mm_eval.tasks.rules.end_letter import process_results, right_letter

__all__ = ["judge_prompt", "process_results", "right_letter", "score", "scores"]

Doc = Mapping[str, Any]
PROMPT = (
    "You are a helpful and precise assistant for checking the quality of the answer.\n"
    "[Detailed Audio Description]\n{sound}\n[Question]\n{question}\n"
    "[The Start of Assistant 1s Answer]\n{first}\n[The End of Assistant 1s Answer]\n"
    "[The Start of Assistant 2s Answer]\n{second}\n[The End of Assistant 2s Answer]\n[System]\n"
    "We would like to request your feedback on the performance of two AI assistants in response to the user question "
    "and audio description displayed above. AI assistants are provided with detailed audio descriptions and questions.\n"
    "Please rate the helpfulness, relevance, accuracy, and comprehensiveness of their responses. "
    "Each assistant receives an overall score on a scale of 1 to 10, where a higher score indicates better overall performance. "
    "Please output a single line containing only two values indicating the scores for Assistant 1 and 2, respectively. "
    "The two scores are separated by a space."
)


def judge_prompt(doc: Doc, answer: str, verdicts: Sequence[Any]) -> str | None:
    """The answer behind GPT-4's, then before it; None at the end, and for an empty answer."""
    if len(verdicts) == 2 or not answer.strip():
        return None
    texts = [str(doc["answer_gt"]), answer]
    first, second = texts[::-1] if verdicts else texts
    return PROMPT.format(sound=doc["meta_info"], question=doc["question"], first=first, second=second)


def scores(reply: str) -> list[int] | None:
    """The two whole numbers from 1 to 10 that a reply is, with a blank between them."""
    found = reply.strip().replace("\n", "").split(" ")
    with suppress(ValueError):
        numbers = [int(number) for number in found]
        return numbers if len(numbers) == 2 and all(1 <= number <= 10 for number in numbers) else None
    return None


def score(verdicts: Sequence[Sequence[int]], doc: Doc, answer: str) -> float:
    """The mean of the answer's scores in both places; 1 for an empty answer."""
    return (verdicts[0][1] + verdicts[1][0]) / 2 if verdicts else 1.0
