"""The prompts of lmms-eval's `llm_judge` module, word by word, and how their replies are read.

A reply is read only if it says nothing but its verdict. lmms-eval takes any "1" in a reply for a pass ("0. There are 10
errors"), and (1, 8) from "Assistant 1: 8, Assistant 2: 6".
"""

from __future__ import annotations

import json
import re
from typing import Any

BINARY = (
    "You are a strict evaluator assessing answer correctness. You must output {positive} for fully "
    "correct answers and {negative} for any other case.\n"
    "\n"
    "# Input\n"
    "Question:\n"
    "```\n"
    "{question}\n"
    "```\n"
    "Ground Truth Answer:\n"
    "```\n"
    "{answer}\n"
    "```\n"
    "Model Prediction:\n"
    "```\n"
    "{prediction}\n"
    "```\n"
    "\n"
    "# Evaluation Rules\n"
    "- The model prediction may contain the reasoning process, you should spot the final answer from it.\n"
    "- For multiple-choice questions: Score {positive} if the predicted answer matches the ground truth "
    "answer, it can be directly in option letters or the content of the options.\n"
    "- For open-ended questions:\n"
    "  * Score {positive} if the prediction matches the answer semantically, it can be in different "
    "format.\n"
    "  * Score {negative} for partially correct answers or answers with extra incorrect information, "
    "even if the reasoning process is correct.\n"
    "- Ignore minor differences in formatting, capitalization, or spacing since the model may explain in "
    "a different way.\n"
    "- Treat numerical answers as correct if they match within reasonable precision\n"
    "- For questions requiring units, both value and unit must be correct\n"
    "\n"
    "# Strict Output format\n"
    "{positive} or {negative}"
)
"""Fields: question, answer, prediction, positive, negative."""

COMPARATIVE = (
    "We would like to request your feedback on the performance of two AI assistants in response to the "
    "user question displayed above.\n"
    "Please rate the helpfulness, relevance, accuracy, level of details of their responses. Each "
    "assistant receives an overall score on a scale of {min_score} to {max_score}, where a higher score "
    "indicates better overall performance.\n"
    "Please first output a single line containing only two values indicating the scores for Assistant 1 "
    "and 2, respectively. The two scores are separated by a space.\n"
    "In the subsequent line, please provide a comprehensive explanation of your evaluation, avoiding any "
    "potential bias and ensuring that the order in which the responses were presented does not affect "
    "your judgment.\n"
    "\n"
    "[Question]\n"
    "{question}\n"
    "\n"
    "{context_section}\n"
    "\n"
    "[Assistant 1]\n"
    "{response1}\n"
    "[End of Assistant 1]\n"
    "\n"
    "[Assistant 2]\n"
    "{response2}\n"
    "[End of Assistant 2]\n"
    "\n"
    "[System]\n"
    "{evaluation_instruction}"
)
"""Fields: question, context_section, response1, response2, min_score, max_score, evaluation_instruction."""

CORRECTNESS = (
    "You are given a question, the solution and the correct answer. Please determine if the solution "
    "matches the correct answer.\n"
    "Focus only on the mathematical or semantic correctness of the content. Ignore any differences in "
    "formatting, such as LaTeX syntax, symbols, styles, or additional wrappers (e.g., \\boxed, $...$, or "
    "similar). Compare only the core mathematical or textual meaning of the solution and the correct "
    "answer.\n"
    "The process or reasoning leading to the Solution is irrelevant, ONLY the correctness of the result "
    "matters.\n"
    'Return only "{positive}" if the solution is correct or "{negative}" if it is incorrect.\n'
    'Only return "{positive}" or "{negative}" with no additional text or formatting.\n'
    "\n"
    "Question: \n"
    "{question}\n"
    "--------------------------------\n"
    "Correct Answer:\n"
    "{answer}\n"
    "--------------------------------\n"
    "Solution: \n"
    "{prediction}\n"
    "--------------------------------"
)
"""Fields: question, answer, prediction, positive, negative."""

RUBRIC = (
    "Evaluate the following response according to the given rubric.\n"
    "\n"
    "Question: {question}\n"
    "\n"
    "Response: {prediction}\n"
    "\n"
    "Rubric:\n"
    "{rubric}\n"
    "\n"
    "Provide a JSON response with scores for each rubric item."
)
"""Fields: question, prediction, rubric."""


class JudgePromptBuilder:
    """The prompts, for code that sends them itself."""

    @staticmethod
    def build_binary_prompt(
        question: str,
        answer: str,
        prediction: str,
        output_format: str = "0/1",
        custom_prompt: str | None = None,
        **kwargs: Any,
    ) -> str:
        given = {"question": question, "answer": answer, "prediction": prediction}
        if custom_prompt:
            return custom_prompt.format(**given, pred=prediction, **kwargs)
        positive, negative = ("1", "0") if output_format in NUMBERS else ("Yes", "No")
        return BINARY.format(**given, positive=positive, negative=negative)

    @staticmethod
    def build_comparative_prompt(
        question: str,
        response1: str,
        response2: str,
        context: str | None = None,
        score_range: tuple[int, int] = (1, 10),
        custom_prompt: str | None = None,
        evaluation_instruction: str | None = None,
        **kwargs: Any,
    ) -> str:
        given = {"question": question, "response1": response1, "response2": response2}
        if custom_prompt:
            return custom_prompt.format(**given, context=context or "", **kwargs)
        low, high = score_range
        return COMPARATIVE.format(
            **given,
            context_section=f"[Context]\n{context}\n\n" if context else "",
            min_score=low,
            max_score=high,
            evaluation_instruction=evaluation_instruction or f"Please provide scores from {low} to {high}.",
        )

    @staticmethod
    def build_correctness_prompt(
        question: str, answer: str, prediction: str, output_format: str = "yes/no", **kwargs: Any
    ) -> str:
        positive, negative = ("Yes", "No") if output_format == "yes/no" else ("1", "0")
        return CORRECTNESS.format(
            question=question, answer=answer, prediction=prediction, positive=positive, negative=negative
        )


NUMBERS = ("0/1", "1/0")
_BINARY = re.compile(r"\W*(?:(?:score|answer|output|result|judge?ment|verdict)\s*(?:is|[:=])\s*)?\W*(\w+)\W*", re.I)
_PAIR = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[\s,;]\s*(-?\d+(?:\.\d+)?)\s*")


def binary_of(reply: str, output_format: str = "0/1") -> int | bool | None:
    """The verdict of a reply that says nothing else; None for any other reply. For `yes/no` a reply may go on after that word.

    >>> binary_of("1"), binary_of("Score: [0]."), binary_of("0. There are 10 errors"), binary_of("No, it is 7.", "yes/no")
    (1, 0, None, False)
    """
    if output_format in NUMBERS:
        found = _BINARY.fullmatch(reply)
        return {"1": 1, "0": 0}.get(found[1]) if found else None
    word = re.match(r"\W*(yes|no)\b", reply, re.I)
    return None if word is None else word[1].lower() == "yes"


def pair_of(reply: str) -> tuple[float, float] | None:
    """The two scores on the first line of a reply, if it has nothing else.

    >>> pair_of("8 6\\nThe first is better."), pair_of("Assistant 1: 8, Assistant 2: 6")
    ((8.0, 6.0), None)
    """
    found = _PAIR.fullmatch(next(iter(reply.strip().splitlines()), ""))
    return None if found is None else (float(found[1]), float(found[2]))


def object_of(reply: str) -> dict[str, Any] | None:
    """The JSON object in a reply; None if there is none."""
    found = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
