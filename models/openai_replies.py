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


def echoed_tokens(reply: Mapping[str, Any], start: int) -> list[tuple[str, float, bool]] | None:
    """The same for a completion with `echo`: its tokens that end after the character `start` of the text."""
    logprobs = choice_of(reply).get("logprobs")
    if not isinstance(logprobs, dict) or not isinstance(logprobs.get("token_logprobs"), list):
        return None
    found = []
    tops = logprobs.get("top_logprobs") or []
    rows = zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["text_offset"], strict=True)
    for place, (text, ll, offset) in enumerate(rows):
        if ll is not None and offset + len(text) > start:
            best = max((tops[place] or {}).values(), default=ll) if place < len(tops) else ll
            found.append((text, float(ll), ll >= best))
    return found


def continuation_score(tokens: Sequence[tuple[str, float, bool]], continuation: str) -> tuple[float, bool]:
    """The log-likelihood of the last tokens that spell the continuation, and whether each was the likeliest.

    Errors: ModelError when the prompt does not end in it (a chat template that adds something after it).
    """
    wanted, text, ll, greedy = continuation.strip(), "", 0.0, True
    for token, logprob, likeliest in reversed(tokens):
        text, ll, greedy = token + text, ll + logprob, greedy and likeliest
        if text.strip() == wanted:
            return ll, greedy
        if len(text.strip()) > len(wanted):
            if text.rstrip().endswith(wanted):  # a token over the boundary belongs to the continuation
                return ll, greedy
            break
    raise ModelError(
        f"the server's prompt does not end in the continuation {shortened(continuation, 60)}.",
        hint="Choose a task with generate_until.",
    )
