"""What a reply of an OpenAI-compatible server says: its text, its token counts, or why there is no answer.

A reply is read as an empty answer only if the server says that the model ended it there. Every field may be missing, null or of
another type. A required field that is missing or invalid raises Passing, and the request is retried.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mm_eval.engine.generation import token_counts
from mm_eval.errors import ModelError
from mm_eval.types import Answer

from .errors import Passing

COUNTS = ("prompt_tokens", "completion_tokens", "video_tokens")
LONGEST_NAME = 200
"""Characters of a model's name that are recorded."""


def usage_of(reply: Mapping[str, Any]) -> dict[str, int]:
    """The valid token counts of a reply; those of videos where the server gives them (vLLM)."""
    usage: Any = reply.get("usage")
    match usage:
        case {"prompt_tokens_details": {"multimodal_tokens": {"video": count}}}:
            usage = {**usage, "video_tokens": count}
    counts = token_counts(usage)
    return {name: counts[name] for name in COUNTS if name in counts}


def choice_of(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice. Raises Passing if there is none."""
    match reply.get("choices"):
        case [dict() as choice, *_]:
            return choice
        case other:
            raise Passing("the reply has no choices", said=other if other is not None else "null")


def read_text(
    reply: Mapping[str, Any], until: Sequence[str], clean: Callable[[str], str] = lambda text: text
) -> Answer:
    """The generated text without secrets, cut before the first stop string.

    Reasoning that the server gives apart from the answer is written before it in think tags, as a model that runs here writes it.

    Raises Passing for null content without a reason, and ModelError if a retry would not help: a content filter, a token cap
    that left no text, a tool call.
    """
    choice, model = choice_of(reply), clean(model_of(reply))
    finish = choice.get("finish_reason")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    if finish == "content_filter":
        raise ModelError("the server's content filter withheld the answer.")
    if text is None and isinstance(message, dict):
        text = message.get("refusal")  # a refusal is the model's answer
    thought = reasoning_of(message)
    if thought and not text and finish in ("stop", "length"):
        said = clean(f"<think>{thought}" + "</think>" * (finish == "stop"))
        return Answer(said, finish == "length", usage_of(reply), model=model)
    if (text is None or text == "") and finish == "length":
        raise ModelError("the token cap ended the answer before any text.", hint="Raise max_gen_toks.")
    if text is None and finish == "tool_calls":
        raise ModelError("the model called a tool instead of answering.")
    if not isinstance(text, str) or (not text and finish != "stop"):
        raise Passing("the content is not text", said=f"{as_text(text)} with finish_reason {brief(finish)}")
    text = clean(text)
    cuts = [place for stop in until if stop and (place := text.find(stop)) >= 0]
    text = text[: min(cuts)] if cuts else text
    text = clean(f"<think>{thought}</think>") + text if thought else text
    return Answer(text, finish == "length" and not cuts, usage_of(reply), model=model)


def model_of(reply: Mapping[str, Any]) -> str:
    """The model's name as the server returns it, with its fingerprint in brackets if there is one. Empty if it gives none."""
    name, fingerprint = reply.get("model"), reply.get("system_fingerprint")
    name = name if isinstance(name, str) else ""
    stated = f"{name} ({fingerprint})" if name and isinstance(fingerprint, str) and fingerprint else name
    return "".join(character for character in stated[:LONGEST_NAME] if character.isprintable())


def reasoning_of(message: Any) -> str:
    """What a thinking model wrote before its answer, where the server gives it apart; empty where it does not."""
    found = [message.get(name) for name in ("reasoning_content", "reasoning")] if isinstance(message, dict) else []
    return next((text for text in found if isinstance(text, str) and text), "")


_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 10_000  # long enough to find secrets in the result


brief = _brief.repr
"""`repr` of bounded length and depth."""


def as_text(value: object) -> str:
    """Any JSON value as text."""
    return value if isinstance(value, str) else brief(value)


def shortened(text: str, length: int = 300) -> str:
    """The beginning of a server's message on one line, without control characters."""
    line = "".join(character if character.isprintable() else " " for character in text[: 2 * length])
    return repr(line if len(line) <= length else f"{line[:length]}...")
