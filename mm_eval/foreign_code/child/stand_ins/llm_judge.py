"""lmms-eval's `llm_judge` module as its task code sees it: the same names, but no function of it opens a connection.

In the process of task code it is imported as `lmms_eval.llm_judge` (imports.py), before the real module if that is installed, so
that scores don't depend on what is installed. The prompts are its own, word by word.

A reply is read only if it says nothing but its verdict. lmms-eval takes any "1" in a reply for a pass ("0. There are 10
errors"), and (1, 8) from "Assistant 1: 8, Assistant 2: 6".
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from mm_eval.config.suites.askers import MODULE
from mm_eval.foreign_code.child.guard import refuse_call
from mm_eval.foreign_code.child.replies import RUNNING
from mm_eval.scoring.asked import CodeQuestion

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
        **kwargs: object,
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
        **kwargs: object,
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
        question: str, answer: str, prediction: str, output_format: str = "yes/no", **kwargs: object
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


def object_of(reply: str) -> dict[str, object] | None:
    """The JSON object in a reply; None if there is none."""
    found = re.search(r"\{.*\}", reply, re.DOTALL)
    try:
        value = json.loads(found[0]) if found else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# ------------------------------------------------------------------ the server
@dataclass
class ServerConfig:
    """How the code wants the judge asked. Only temperature, cap, top_p and system prompt decide a reply here."""

    model_name: str
    temperature: float = 0.0
    max_tokens: int = 1024
    top_p: float | None = None
    timeout: int = 60
    num_retries: int = 5
    retry_delay: float = 10
    max_concurrent: int = 10
    system_prompt: str | None = None
    response_format: str | None = None
    judge_type: str = "general"
    output_format: str | None = None
    score_range: tuple[float, float] | None = None
    evaluation_criteria: dict[str, object] | None = None


@dataclass
class Request:
    """One question: messages, and pictures for the last user message (paths, base64 as bytes, or PIL images)."""

    messages: list[dict[str, Any]]
    images: list[Any] | None = None
    config: ServerConfig | None = None
    question: str | None = None
    answer: str | None = None
    prediction: str | None = None
    context: str | None = None
    options: list[str] | None = None
    response1: str | None = None
    response2: str | None = None
    custom_prompt: str | None = None
    prompt_kwargs: dict[str, object] = field(default_factory=dict)


@dataclass
class Response:
    """A reply of the judge. success is always true: a failure never reaches the task's code."""

    content: str
    model_used: str
    usage: dict[str, int] | None = None
    raw_response: object = None
    parsed_result: object = None
    success: bool = True
    error_message: str | None = None


class ServerInterface:
    """The judge as the task's code sees it."""

    def __init__(self, config: ServerConfig | None = None) -> None:
        self.config = config or ServerConfig(model_name="gpt-4")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse_call(f"{MODULE}'s {name}, which mm-eval does not have,")

    def is_available(self) -> bool:
        return True

    def evaluate(self, request: Request) -> Response:
        """The judge's reply to a request."""
        if not RUNNING:
            refuse_call(MODULE)
        answer = RUNNING[-1].reply(_question(request, request.config or self.config))
        model = getattr(answer, "model", "") or (request.config or self.config).model_name
        return Response(str(answer.output).strip(), model)

    def evaluate_binary(
        self,
        question: str,
        answer: str,
        prediction: str,
        output_format: str = "0/1",
        custom_prompt: str | None = None,
        **kwargs: object,
    ) -> dict[str, Any]:
        """Whether a prediction is right: 1 or 0, or True or False for `yes/no`."""
        prompt = JudgePromptBuilder.build_binary_prompt(
            question, answer, prediction, output_format, custom_prompt, **kwargs
        )
        return self._read(prompt, "result", lambda text: binary_of(text, output_format))

    def evaluate_comparative(
        self,
        question: str,
        response1: str,
        response2: str,
        context: str | None = None,
        score_range: tuple[int, int] = (1, 10),
        custom_prompt: str | None = None,
        images: list[object] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The scores of two responses."""
        prompt = JudgePromptBuilder.build_comparative_prompt(
            question, response1, response2, context, score_range, custom_prompt, **kwargs
        )
        return self._read(prompt, "scores", pair_of, images)

    def evaluate_with_rubric(
        self, question: str, prediction: str, rubric: dict[str, object], **kwargs: object
    ) -> dict[str, object]:
        """A score for each entry of a rubric."""
        listed = "\n".join(f"- {name}: {meaning}" for name, meaning in rubric.items())
        prompt = RUBRIC.format(question=question, prediction=prediction, rubric=listed)
        return self._read(prompt, "scores", object_of)

    def _read(
        self, prompt: str, name: str, read: Callable[[str], object], images: list[object] | None = None
    ) -> dict[str, Any]:
        """Asks until a reply can be read; `Asked` ends that after RETRIES."""
        while True:
            response = self.evaluate(Request([{"role": "user", "content": prompt}], images, self.config))
            if (found := read(response.content)) is not None:
                said = {"raw_response": response.content, "model": response.model_used, "prompt": prompt}
                return {name: found, **said, "success": True}


def get_server(server_name: str | None = None, config: ServerConfig | None = None) -> ServerInterface:
    """The judge, whatever provider the code names."""
    return ServerInterface(config)


class ProviderFactory:
    """The other way in which task code gets a server."""

    @classmethod
    def create_provider(cls, api_type: str | None = None, config: ServerConfig | None = None) -> ServerInterface:
        return get_server(api_type, config)


def _question(request: Request, config: ServerConfig) -> CodeQuestion:
    messages = [{**message, "content": _content(message["content"])} for message in request.messages]
    if config.system_prompt and not any(message.get("role") == "system" for message in messages):
        messages.insert(0, {"role": "system", "content": config.system_prompt})
    if request.images:
        last = next(message for message in reversed(messages) if message["role"] == "user")
        parts = last["content"]
        parts = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts
        last["content"] = [*parts, *({"type": "image", "image": _picture(each)} for each in request.images)]
    options = {"max_new_tokens": config.max_tokens, "temperature": config.temperature}
    options |= {"top_p": config.top_p} if config.top_p is not None and config.temperature else {}
    return CodeQuestion(messages, options, model=config.model_name)


def _content(content: Any) -> object:
    """A message's content with data URLs as pictures."""
    if isinstance(content, str):
        return content
    return [
        {"type": "image", "image": _picture(part["image_url"]["url"])} if part.get("type") == "image_url" else part
        for part in content
    ]


def _picture(given: Any) -> Any:
    """A picture from a PIL image, a path, a data URL, or base64 as bytes."""
    from mm_eval.data.decode import as_rgb, open_picture

    if isinstance(given, str) and given.startswith(("http://", "https://")):
        refuse_call(f"{MODULE} with a picture by its address, which is not fetched,")
    if not isinstance(given, (str, bytes)):
        return as_rgb(given)
    if isinstance(given, str) and not given.startswith("data:"):
        return as_rgb(open_picture(Path(given).read_bytes()))
    digits = given.encode().partition(b",")[2] if isinstance(given, str) else given
    try:
        return as_rgb(open_picture(base64.b64decode(digits, validate=True)))
    except binascii.Error:
        refuse_call(f"{MODULE} with a picture that is not base64,")


def unknown_name(name: str) -> NoReturn:
    """A name that only the real module has: an import error, which the `except` of a running function can't hide."""
    if RUNNING:
        refuse_call(f"{MODULE}.{name}, which mm-eval does not have,")
    raise AttributeError(f"mm-eval offers no {MODULE}.{name}")
