"""What a reply of an OpenAI-compatible server says: text, log-probabilities, tokens used, or why there is none.

A reply is never read as an empty answer unless the server says that the model ended it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.errors import ModelError
from mm_eval.types import Response

from .openai_http import Passing, shortened

COUNTS = ("prompt_tokens", "completion_tokens")


def usage_of(reply: Mapping[str, Any]) -> dict[str, int]:
    """The token counts that a reply states."""
    usage = reply.get("usage") or {}
    return {name: usage[name] for name in COUNTS if isinstance(usage, dict) and isinstance(usage.get(name), int)}


def choice_of(reply: Mapping[str, Any]) -> dict[str, Any]:
    """The first choice; Passing when there is none."""
    match reply.get("choices"):
        case [dict() as choice, *_]:
            return choice
        case other:
            raise Passing(f"the reply has no choices: {shortened(str(other))}")


def read_text(reply: Mapping[str, Any], until: Sequence[str]) -> Response:
    """The generated text, cut before the first stop string.

    Errors: Passing for null content that nothing explains; ModelError where asking again would not help: a content filter, a
    token cap that left no text, a tool call.
    """
    choice = choice_of(reply)
    finish = choice.get("finish_reason")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    if finish == "content_filter":
        raise ModelError("the server's content filter withheld the answer.")
    if text is None and isinstance(message, dict):
        text = message.get("refusal")  # a refusal is what the model answered
    if not text and finish == "length":
        raise ModelError("the token cap ended the answer before any text.", hint="Raise max_gen_toks.")
    if text is None and finish == "tool_calls":
        raise ModelError("the model called a tool instead of answering.")
    if not isinstance(text, str) or (not text and finish != "stop"):
        raise Passing(f"the content is {shortened(str(text))} with finish_reason {finish!r}")
    cuts = [place for stop in until if stop and (place := text.find(stop)) >= 0]
    return Response(text[: min(cuts)] if cuts else text, finish == "length" and not cuts, usage_of(reply))


def first_token(reply: Mapping[str, Any]) -> dict[str, float]:
    """The log-probabilities of the likeliest first tokens by their text, likeliest first; empty where none are given."""
    choice = choice_of(reply)
    logprobs = choice.get("logprobs")
    if not isinstance(logprobs, dict):
        return {}
    match logprobs.get("content"), logprobs.get("top_logprobs"):
        case [{"top_logprobs": list(top)}, *_], _:
            pairs = [(entry["token"], entry["logprob"]) for entry in top]
        case _, [dict(top), *_]:
            pairs = list(top.items())
        case _:
            return {}
    return dict(sorted(pairs, key=lambda pair: -pair[1]))


def prompt_tokens(reply: Mapping[str, Any]) -> list[tuple[str, float, bool]] | None:
    """(text, log-probability, whether it was the likeliest) of each prompt token after the first; None where none are given.

    A position holds the prompt's token and the likeliest one; they differ unless there is a single entry, and the one that
    is not of rank 1 is the prompt's.
    """
    given = reply.get("prompt_logprobs")
    if given is None:
        given = (reply.get("choices") or [{}])[0].get("prompt_logprobs")
    if not isinstance(given, list):
        return None
    tokens = []
    for position in given:
        if not isinstance(position, dict):
            continue
        entries = list(position.values())
        own = next((entry for entry in entries if entry.get("rank") != 1), entries[0])
        tokens.append((str(own.get("decoded_token", "")), float(own["logprob"]), own.get("rank") == 1))
    return tokens


Token = tuple[str, float, bool]
"""(text, log-probability, whether it was the likeliest)."""

LONE_SPACES = (" ", "\u2581")


def echoed_score(reply: Mapping[str, Any], context: str, continuation: str) -> tuple[float, bool] | None:
    """The score of the continuation in a completion with `echo`; None where the server echoes no numbers.

    vLLM and OpenAI say where in the text each token stands. SGLang says -1 for all, so that its tokens are read from the end.
    """
    logprobs = choice_of(reply).get("logprobs")
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("token_logprobs"), list):
        return None
    tops, offsets = logprobs.get("top_logprobs") or [], logprobs.get("text_offset") or []
    found: list[Token | None] = []
    for place, (text, ll) in enumerate(zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True)):
        best = max((tops[place] or {}).values(), default=ll) if place < len(tops) else ll
        found.append(None if ll is None else (text, float(ll), ll >= best))
    if any(offset >= 0 for offset in offsets):
        inside = _echoed_inside(found, offsets, len(context), continuation)
        return (sum(ll for _, ll, _ in inside), all(greedy for _, _, greedy in inside)) if inside else None
    prompt = [token for token in found[: -usage_of(reply).get("completion_tokens", 1)] if token is not None]
    return continuation_score(prompt, continuation) if prompt else None


def _echoed_inside(
    tokens: Sequence[Token | None], offsets: Sequence[int], start: int, continuation: str
) -> list[Token]:
    """The tokens that end after the character `start`, without what was generated after them; none where they do not fit."""
    text, inside = "", []
    for token, offset in zip(tokens, offsets, strict=True):
        if token is not None and offset + len(token[0]) > start and len(text) < len(continuation):
            text += token[0]
            inside.append(token)
    return inside if text.endswith(continuation) else []


def continuation_score(tokens: Sequence[Token], continuation: str) -> tuple[float, bool]:
    """The log-likelihood of the last tokens that spell the continuation, and whether each was the likeliest.

    Spaces are not compared, since a token that is decoded alone may lose its own. A space that is a token by itself before
    the continuation's first word belongs to it; white space after it (a template's newline) does not.

    Errors: ModelError when the prompt does not end in it (a chat template that adds something after it).
    """
    wanted, text, ll, greedy = _letters(continuation), "", 0.0, True
    left = list(tokens)
    while left and not left[-1][0].strip() and not continuation[-1:].isspace():
        left.pop()
    while left and len(_letters(text)) < len(wanted):
        token, logprob, likeliest = left.pop()
        text, ll, greedy = token + text, ll + logprob, greedy and likeliest
    if not wanted or not _letters(text).endswith(wanted):  # a token over the boundary belongs to the continuation
        raise ModelError(
            f"the server's prompt does not end in the continuation {shortened(continuation, 60)}.",
            hint="Choose a task with generate_until.",
        )
    if continuation[:1] == " " and left and left[-1][0] in LONE_SPACES and not text[:1].isspace():
        ll, greedy = ll + left[-1][1], greedy and left[-1][2]
    return ll, greedy


def _letters(text: str) -> str:
    return "".join(text.split())
