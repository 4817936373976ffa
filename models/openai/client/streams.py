"""Replies that come as a stream of events (SSE), or as JSON behind lines of comments: read as the one reply that they make up."""

from __future__ import annotations

import json
from typing import Any

from mm_eval.values.types import JsonObject

MERGED = ("content", "reasoning_content", "reasoning", "refusal")
"""Texts of a message that come in pieces."""


def streamed(text: str) -> dict[str, object] | None:
    """The reply of a stream, in the form of one that was not streamed; None if the text is not a stream.

    Lines of comments (`: OPENROUTER PROCESSING`) and events other than data are ignored. An error in the stream is the reply.
    A stream that broke off has no finish_reason.

    >>> reply = streamed(': wait\\n\\ndata: {"choices": [{"delta": {"content": "Y"}}]}\\n\\ndata: [DONE]')
    >>> reply["choices"][0]["message"]["content"]
    'Y'
    """
    lines = text.splitlines()
    data = [line[5:].strip() for line in lines if line.startswith("data:")]
    if not data:
        rest = "\n".join(line for line in lines if not line.startswith(":")).strip()
        return _object(rest) if rest and rest != text.strip() else None
    reply: dict[str, object] = {}
    choice: dict[str, object] = {}
    for piece in data:
        if piece == "[DONE]":
            break
        event = _object(piece)
        if event is None:
            raise ValueError("an event of the stream is not JSON")
        if event.get("error") or event.get("object") == "error":
            return event
        _add(reply, choice, event)
    return {**reply, "choices": [choice]} if choice else reply


def _object(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _add(reply: dict[str, object], choice: JsonObject, event: JsonObject) -> None:
    """Adds an event to the reply and to its first choice."""
    reply.update({name: value for name, value in event.items() if name != "choices" and value is not None})
    choices = event.get("choices")
    if not (isinstance(choices, list) and choices and isinstance(choices[0], dict)) or choices[0].get("index", 0) != 0:
        return
    own = choices[0]
    for name, value in own.items():
        if name == "text" and isinstance(value, str):
            choice["text"] = choice.get("text", "") + value
        elif name == "logprobs" and isinstance(value, dict) and isinstance(value.get("content"), list):
            choice.setdefault("logprobs", {"content": []})["content"] += value["content"]
        elif name not in ("delta", "message") and value is not None:
            choice[name] = value
    delta = own.get("delta") or own.get("message")
    if not isinstance(delta, dict):
        return
    message = choice.setdefault("message", {"role": "assistant", "content": None})
    for name, value in delta.items():
        if name in MERGED and isinstance(value, str):
            message[name] = (message.get(name) or "") + value
        elif name == "tool_calls" and isinstance(value, list):
            message[name] = _with_pieces(message.get(name) or [], value)
        elif name in MERGED and isinstance(value, list):
            message[name] = [*(message.get(name) or []), *value]
        elif value is not None and name != "role":
            message[name] = [*message.get(name, []), *value] if isinstance(value, list) else value


def _with_pieces(calls: list[Any], pieces: list[object]) -> list[Any]:
    """The calls of a message with what an event adds to them: arguments come in pieces, by the number of their call."""
    found = [dict(call) for call in calls]
    for piece in (piece for piece in pieces if isinstance(piece, dict)):
        index = piece.get("index")
        number = index if isinstance(index, int) and 0 <= index <= len(found) else len(found)
        if number == len(found):
            found.append({"index": number, "function": {}})
        own = piece.get("function")
        for name, value in own.items() if isinstance(own, dict) else ():
            before = found[number]["function"].get(name)
            joins = name == "arguments" and isinstance(before, str) and isinstance(value, str)
            found[number]["function"] |= {name: before + value if joins else before if value is None else value}
        found[number] |= {name: value for name, value in piece.items() if name not in ("function", "index") and value}
    return found
