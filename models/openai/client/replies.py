"""What a reply of an OpenAI-compatible server says: its text, its token counts, or why there is no answer.

A reply is an answer only if it ended in a way that `models/endings.py` knows. Every field may be missing, null or of another
type. A required field that is missing or invalid raises Passing, and the request is retried.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from mm_eval.values.reasoning.families import NO_MARKS, Marks
from mm_eval.values.reasoning.split import cut_at, split
from mm_eval.values.types import Answer, Fields, JsonObject

from ...endings import Ending, ending_of, says_filtered
from .errors import Passing
from .usage import usage_of

LONGEST_NAME = 200
"""Characters of a model's name that are recorded."""


def choice_of(reply: Mapping[str, object]) -> dict[str, object]:
    """The first choice. Raises Passing if there is none."""
    match reply.get("choices"):
        case [dict() as choice, *_]:
            return choice
        case other:
            raise Passing("the reply has no choices", said=other if other is not None else "null")


def read_text(
    reply: Mapping[str, object],
    until: Sequence[str],
    clean: Callable[[str], str] = lambda text: text,
    *,
    tools: bool = False,
    calls: bool = False,
    marks: Marks = NO_MARKS,
    chat: bool = True,
    thinks: bool = False,
    begun: str = "",
) -> Answer:
    """The generated text after its reasoning, without secrets, cut before the first stop string, and how it ended.

    A reasoning that never closed stays in the text, with its opening mark.
    tools: the request offered tools. calls: those that the server gives apart are written behind the text. marks: those that
        the user states. chat: white space before the answer is not an answer yet.
    thinks: the model is known to reason, so that a text without marks that the token cap ended may be reasoning.
    begun: the beginning of the answer that the prompt ends in, where the server repeats it.

    Raises Passing where a retry may help (null content without a reason, an error or an abort in the choice), and ModelError
    for an ending that leaves no answer (a tool call, an unknown reason).
    """
    choice, model = choice_of(reply), clean(model_of(reply))
    message = choice.get("message")
    text, refusal = message_text(message) if isinstance(message, dict) else (choice.get("text"), "")
    ending = ending_in(choice, tools)
    if ending.ended == "failed":
        raise Passing(ending.fault, said=choice.get("error") or None) if ending.retried else ending.error
    if refusal and ending.ended in ("stop", "length"):
        ending = replace(ending, ended="refused")
    thought = clean(reasoning_of(message))
    closed = ending.ended not in ("length", "filtered")
    if ending.ended in ("filtered", "refused", "length", "tool"):
        text = text if isinstance(text, str) else refusal
    elif thought and not text:
        text = ""
    if not isinstance(text, str):
        raise Passing("the content is not text", said=f"{as_text(text)} with finish_reason {brief(ending.reason)}")
    if calls and isinstance(message, dict):
        written = "".join(text.split())  # some versions of transformers serve leave a call in the text as well
        text = "\n".join(
            filter(None, (text, *(call for call in calls_of(message) if "".join(call.split()) not in written)))
        )
    text, ended = clean(text.removeprefix(begun)), ending.ended
    known: JsonObject = {"usage": usage_of(reply), "model": model}
    if thought and not text.strip() and not closed:
        return Answer(f"<think>{thought}", ended=ended, **known)
    found = split(text, marks, capped=ended == "length")
    if not found.closed:
        return Answer(f"<think>{thought}\n{text}" if thought else text, ended=ended, **known)
    reasoning = thought + found.reasoning
    answer, stopped = cut_at(found.answer, until, skips_lead=chat or bool(reasoning))
    if stopped and ended == "length" and (reasoning or not thinks):
        ended = "stop"
    return Answer(answer, ended=ended, reasoning=reasoning or None, **known)


def calls_of(message: Mapping[str, object]) -> list[str]:
    """The calls that a message has in a field, each as text. Arguments that are no JSON stay as they are.

    >>> calls_of({"tool_calls": [{"function": {"name": "zoom", "arguments": "{}"}}]})
    ['<tool_call>\\n{"name": "zoom", "arguments": {}}\\n</tool_call>']
    """
    stated = message.get("tool_calls")
    found = stated if isinstance(stated, list) else [{"function": message.get("function_call")}]
    texts = []
    for call in found:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            arguments = function.get("arguments")
            written = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            name = json.dumps(function.get("name"), ensure_ascii=False)
            texts.append(f'<tool_call>\n{{"name": {name}, "arguments": {written.strip() or "{}"}}}\n</tool_call>')
    return texts


def ending_in(choice: Mapping[str, object], tools: bool = False) -> Ending:
    """How a choice ended: by its reason, by an error beside it, or by a call of a tool that the reason does not mention."""
    if error := choice.get("error"):
        return Ending("filtered" if says_filtered(error) else "failed", not says_filtered(error), "error")
    ending, message = ending_of(choice.get("finish_reason"), tools=tools), choice.get("message")
    calls = isinstance(message, dict) and (message.get("tool_calls") or message.get("function_call"))
    return ending_of("tool_calls", tools=tools) if calls and ending.ended == "stop" else ending


def check_ending(reply: Mapping[str, object]) -> None:
    """Raises Passing for a reply of log-probabilities whose choice broke off. Of its text nothing is read, so any end will do."""
    choice = choice_of(reply)
    ending = ending_in(choice)
    if ending.retried and ending.reason:
        raise Passing(ending.fault, said=choice.get("error") or None)


def message_text(message: Mapping[str, object]) -> tuple[object, str]:
    """(the content, the refusal) of a message. A refusal has a field of its own, or is a part of the content.

    Content may be a list of parts, as that of Mistral: its texts are joined, and `reasoning_of` reads the others.
    """
    content, refusal = message.get("content"), message.get("refusal")
    if not isinstance(refusal, str):
        refusal = ""
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        refusal = refusal or "".join(str(part.get("refusal") or "") for part in parts if part.get("type") == "refusal")
        texts = [
            part["text"]
            for part in parts
            if part.get("type") in ("text", "output_text") and isinstance(part.get("text"), str)
        ]
        only_thought = bool(parts) and all(part.get("type") in ("thinking", "reasoning") for part in parts)
        content = "".join(texts) if texts else None if refusal else "" if only_thought else content
    return content, refusal


def model_of(reply: Fields) -> str:
    """The model's name as the server returns it, with its fingerprint in brackets if there is one. Empty if it gives none."""
    name, fingerprint = reply.get("model"), reply.get("system_fingerprint")
    name = name if isinstance(name, str) else ""
    stated = f"{name} ({fingerprint})" if name and isinstance(fingerprint, str) and fingerprint else name
    return "".join(character for character in stated[:LONGEST_NAME] if character.isprintable())


def reasoning_of(message: object) -> str:
    """What a thinking model wrote before its answer, where the server gives it apart; empty where it does not.

    It has a field of its own, or is a part of the content: {"type": "thinking", "thinking": a text, or a list of text parts}.
    """
    if not isinstance(message, dict):
        return ""
    found = [message.get(name) for name in ("reasoning_content", "reasoning", "thinking")]
    parts = message.get("content")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
            said = part.get("thinking", part.get("text"))
            pieces = said if isinstance(said, list) else [{"text": said}]
            found.append("".join(str(piece.get("text") or "") for piece in pieces if isinstance(piece, dict)))
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
