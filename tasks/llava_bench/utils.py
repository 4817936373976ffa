"""LLaVA-Bench: the question, the judge's prompt with two answers, its two scores, and the score relative to GPT-4's answers.

Source: Liu et al. 2023, arXiv:2304.08485; llava/eval/{eval_gpt_review_bench,summarize_gpt_review}.py and table/rule.json of
github.com/haotian-liu/LLaVA at c121f04.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.cells import filled

from mm_eval.scoring.metrics import mean, smooth
from mm_eval.scoring.metrics.traits import declare

SYSTEM = "You are a helpful and precise assistant for checking the quality of the answer."
RULE = (
    "We would like to request your feedback on the performance of two AI assistants in response to the user question displayed above. The user asks the question on observing an image. For your reference, the visual content in the image is represented with a few sentences describing the image. \n"  # noqa: E501
    "Please rate the helpfulness, relevance, accuracy, level of details of their responses. Each assistant receives an overall score on a scale of 1 to 10, where a higher score indicates better overall performance.\n"  # noqa: E501
    "Please first output a single line containing only two values indicating the scores for Assistant 1 and 2, respectively. The two scores are separated by a space.\n"  # noqa: E501
    "In the subsequent line, please provide a comprehensive explanation of your evaluation, avoiding any potential bias and ensuring that the order in which the responses were presented does not affect your judgment."  # noqa: E501
)
"""The instruction of rule.json, the same for the three categories."""
SCORE = r"(10(?:\.0+)?|[1-9](?:\.\d+)?)"
Pair = Sequence[float]
"""[score of GPT-4's answer, score of the model's answer], each of 1 to 10."""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The question's picture."""
    return [doc["image"].convert("RGB")]


def reference(doc: Mapping[str, Any]) -> str:
    """The answer of GPT-4, which has read the description of the picture."""
    return str(filled(doc, "gpt_answer" if "gpt_answer" in doc else "answer"))


def judge_prompt(doc: Mapping[str, Any], answer: str, swapped: bool = False) -> list[dict[str, str]]:
    """The description, the question and both answers: GPT-4's first, unless `swapped`."""
    caption = doc["caption"]
    context = caption if isinstance(caption, str) else "\n".join(caption)
    first, second = (answer, reference(doc)) if swapped else (reference(doc), answer)
    asked = (
        f"[Context]\n{context}\n\n[Question]\n{doc['question']}\n\n"
        f"[Assistant 1]\n{first}\n\n[End of Assistant 1]\n\n[Assistant 2]\n{second}\n\n[End of Assistant 2]\n\n"
        f"[System]\n{RULE}\n\n"
    )
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": asked}]


def verdict(reply: str, swapped: bool = False) -> list[float] | None:
    """The two scores that stand alone on the first line of a reply, GPT-4's first; None if something else does."""
    line = reply.strip().partition("\n")[0].strip(" *")
    found = re.fullmatch(rf"{SCORE}(?:,? +|,){SCORE}", line)
    if not found:
        return None
    scores = [float(score) for score in found.groups()]
    return scores[::-1] if swapped else scores


def _means(pairs: Sequence[Pair]) -> tuple[float, float]:
    """The mean score of GPT-4's answers and the model's, rounded to three places as summarize_gpt_review.py does."""
    return round(mean([gpt for gpt, _ in pairs]), 3), round(mean([own for _, own in pairs]), 3)


def _influence(pairs: Sequence[Pair]) -> list[float]:
    """How much each pair moves the relative score, to first order."""
    total = sum(gpt for gpt, _ in pairs)
    ratio = sum(own for _, own in pairs) / total
    return [100 * (own - ratio * gpt) / total for gpt, own in pairs]


@declare(influence=_influence, smooth=True)
def relative(pairs: Sequence[Pair]) -> float:
    """The model's mean score in percent of the mean score of GPT-4's answers."""
    gpt, own = _means(pairs)
    return 100 * own / gpt


@smooth
def own_score(pairs: Sequence[Pair]) -> float:
    """The model's mean score times ten."""
    return 10 * _means(pairs)[1]


@smooth
def gpt_score(pairs: Sequence[Pair]) -> float:
    """The mean score of GPT-4's answers times ten."""
    return 10 * _means(pairs)[0]
