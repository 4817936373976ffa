"""lmms-eval's `llm_judge` module as its task code sees it: the same names, but no function of it opens a connection.

In the process of task code it is imported as `lmms_eval.llm_judge` (imports.py), before the real module if that is installed, so
that scores don't depend on what is installed.
"""

from __future__ import annotations

import base64
import binascii
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from mm_eval.features.suites.child.guard import refuse_judge
from mm_eval.features.suites.child.judge_prompts import RUBRIC, JudgePromptBuilder, binary_of, object_of, pair_of
from mm_eval.features.suites.judges import MODULE, RETRIES, RUNNING, Asked, Asking, CodeQuestion, JudgeCalled, Lookup


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
    evaluation_criteria: dict[str, Any] | None = None


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
    prompt_kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Response:
    """A reply of the judge. success is always true: a failure never reaches the task's code."""

    content: str
    model_used: str
    usage: dict[str, int] | None = None
    raw_response: Any = None
    parsed_result: Any = None
    success: bool = True
    error_message: str | None = None


class ServerInterface:
    """The judge as the task's code sees it."""

    def __init__(self, config: ServerConfig | None = None) -> None:
        self.config = config or ServerConfig(model_name="gpt-4")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse_judge(f"{MODULE}'s {name}, which mm-eval does not have,")

    def is_available(self) -> bool:
        return True

    def evaluate(self, request: Request) -> Response:
        """The judge's reply to a request."""
        if not RUNNING:
            refuse_judge(MODULE)
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
        **kwargs: Any,
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
        images: list[Any] | None = None,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """The scores of two responses."""
        prompt = JudgePromptBuilder.build_comparative_prompt(
            question, response1, response2, context, score_range, custom_prompt, **kwargs
        )
        return self._read(prompt, "scores", pair_of, images)

    def evaluate_with_rubric(
        self, question: str, prediction: str, rubric: dict[str, Any], **kwargs: Any
    ) -> dict[str, Any]:
        """A score for each entry of a rubric."""
        listed = "\n".join(f"- {name}: {meaning}" for name, meaning in rubric.items())
        prompt = RUBRIC.format(question=question, prediction=prediction, rubric=listed)
        return self._read(prompt, "scores", object_of)

    def _read(
        self, prompt: str, name: str, read: Callable[[str], Any], images: list[Any] | None = None
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


def _content(content: Any) -> Any:
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
        refuse_judge(f"{MODULE} with a picture by its address, which is not fetched,")
    if not isinstance(given, (str, bytes)):
        return as_rgb(given)
    if isinstance(given, str) and not given.startswith("data:"):
        return as_rgb(open_picture(Path(given).read_bytes()))
    digits = given.encode().partition(b",")[2] if isinstance(given, str) else given
    try:
        return as_rgb(open_picture(base64.b64decode(digits, validate=True)))
    except binascii.Error:
        refuse_judge(f"{MODULE} with a picture that is not base64,")


def unknown_name(name: str) -> NoReturn:
    """A name that only the real module has: an import error, which the `except` of a running function can't hide."""
    if RUNNING:
        refuse_judge(f"{MODULE}.{name}, which mm-eval does not have,")
    raise AttributeError(f"mm-eval offers no {MODULE}.{name}")


@contextmanager
def loading() -> Iterator[None]:
    """Around the import of a task's file. ImportError if the file asks the judge while it is imported."""
    try:
        yield
    except JudgeCalled as error:
        raise ImportError(f"the file calls {error} while it is imported") from error


def run_with_replies(call: Callable[[], Any], lookup: Lookup, retries: int = RETRIES) -> Asked:
    """Runs a task's function with the judge's recorded replies. retries: further replies to a question that it asks again.

    Errors: what the function raises, unless it asked something whose reply is not known.
    """
    asked = Asking(lookup, retries)
    RUNNING.append(asked)
    try:
        with _without_waiting():
            value = call()
        if not asked.waits:  # a bare `except` of the function may have caught their end
            asked.value = value
    except (JudgeCalled, Exception):
        if not asked.waits:
            raise  # its own error, or a connection of its own
    finally:
        RUNNING.remove(asked)
    return asked


@contextmanager
def _without_waiting() -> Iterator[None]:
    """Inside, `time.sleep` returns at once in this thread: a task's code waits before it asks again, in every run."""
    original, own = time.sleep, threading.get_ident()

    def sleep(seconds: float) -> None:
        if threading.get_ident() != own:
            original(seconds)

    setattr(time, "sleep", sleep)  # noqa: B010  # its parameter has another type in Python's stubs
    try:
        yield
    finally:
        time.sleep = original
