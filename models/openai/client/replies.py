"""What a reply of an OpenAI-compatible server says: text, log-probabilities, token counts, or why there is no answer.

A reply is read as an empty answer only if the server says that the model ended it there. Every field may be missing, null or of
another type. A required field that is missing or invalid raises Passing, and the request is retried.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mm_eval.engine.generation import token_counts
from mm_eval.errors import ModelError
from mm_eval.types import Answer

COUNTS = ("prompt_tokens", "completion_tokens", "video_tokens")
LONGEST_NAME = 200
"""Characters of a model's name that are recorded."""
TOLERANCE = 1e-3
"""A log-probability is at most 0, barring rounding."""


class Unreachable(Exception):
    """The server can't be reached, or is still loading."""


class Passing(Exception):
    """A transient error: the request is retried.

    what: our message. said: the message of the server or a library; it is redacted and shortened before it is shown.
    wait: seconds to wait, if the server states them. throttled: it was a 429. free: it does not count as a retry.
    """

    def __init__(
        self, what: str, wait: float | None = None, throttled: bool = False, *, said: object = None, free: bool = False
    ) -> None:
        super().__init__(what)
        self.what, self.said = what, said
        self.wait, self.throttled, self.free = wait, throttled, free

    def forget_reply(self) -> None:
        """Drops the traceback, whose frames hold the reply and would keep it in memory until the next collection."""
        self.__traceback__ = self.__cause__ = self.__context__ = None


class Fatal(ModelError):
    """Every further question would fail in the same way."""


class TooLong(ModelError):
    """The prompt does not fit into the model's length, or not with the token cap."""


TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|available|model's) context (length|size)|maximum model length"
    r"|(prompt|input) is too long|`?max_new_tokens`? must be <=|exceeds the maximum number of tokens"
    r"|cannot be greater than `?max_model_len",
    re.IGNORECASE,
)
"""Messages of OpenAI, vLLM, SGLang, TGI, llama.cpp and others for a prompt that exceeds the model's length."""


class Closed(Exception):
    """The run ended before this question was sent. It stays pending."""


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


def first_token(reply: Mapping[str, Any]) -> dict[str, float]:
    """The log-probabilities of the likeliest first tokens by text, likeliest first; empty if the reply has none.

    Two tokens can have the same text if it is decoded without its space. The likelier one counts.
    """
    logprobs = choice_of(reply).get("logprobs")
    if not isinstance(logprobs, dict):
        return {}
    pairs: list[tuple[Any, Any]]
    match logprobs.get("content"), logprobs.get("top_logprobs"):
        case [{"top_logprobs": list(top)}, *_], _:
            pairs = [
                (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None) for entry in top
            ]
        case _, [dict(top), *_]:
            pairs = list(top.items())
        case (([] | None), ([] | None)):
            return {}
        case _:
            raise Passing("the reply's top_logprobs have an unknown form", said=logprobs)
    known = [(token, number) for token, logprob in pairs if (number := log_probability(logprob)) is not None]
    if len(known) < len(pairs) or not all(isinstance(token, str) for token, _ in known):
        raise Passing("the reply's top_logprobs lack tokens or numbers", said=pairs)
    found: dict[str, float] = {}
    for token, number in sorted(known, key=lambda pair: -pair[1]):
        found.setdefault(token, number)
    return found


def log_probability(value: Any) -> float | None:
    """A JSON value as a log-probability; None if invalid. -inf is valid: the token is impossible."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if number <= TOLERANCE else None  # False for NaN


Token = tuple[str | None, float, bool]
"""(text, log-probability, whether it was the likeliest). A missing text is None, a missing number NaN."""

UNKNOWN: Token = (None, math.nan, False)
LONE_SPACES = (" ", "\u2581")


def prompt_tokens(reply: Mapping[str, Any]) -> list[Token] | None:
    """Each prompt token after the first; None if the reply has no `prompt_logprobs`.

    A position holds the prompt's token and the likeliest one. A single entry is both; of two, the prompt's is the one whose
    rank is not 1.
    """
    given = reply.get("prompt_logprobs")
    if given is None:
        given = choice_of(reply).get("prompt_logprobs")
    if given is None:
        return None
    if not isinstance(given, list) or not any(given):
        raise Passing("the reply's prompt_logprobs are empty or not a list", said=given)
    return [_of_prompt(position) for place, position in enumerate(given) if place or position is not None]


def _of_prompt(position: Any) -> Token:
    entries = list(position.values()) if isinstance(position, dict) else []
    if not entries or not all(isinstance(entry, dict) and _is_rank(entry.get("rank")) for entry in entries):
        return UNKNOWN
    own = next((entry for entry in entries if entry["rank"] != 1), entries[0])
    text, number = own.get("decoded_token"), log_probability(own.get("logprob"))
    return text if isinstance(text, str) else None, math.nan if number is None else number, own["rank"] == 1


def _is_rank(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def echoed_score(reply: Mapping[str, Any], context: str, continuation: str) -> tuple[float, bool] | None:
    """The score of the continuation in a completion with `echo`; None if the server echoes no numbers.

    vLLM and OpenAI give each token's offset in the text. SGLang gives -1 for all, so that its tokens are read from the end.
    """
    logprobs = choice_of(reply).get("logprobs")
    if not isinstance(logprobs, dict) or logprobs.get("token_logprobs") is None:
        return None
    tokens = _echoed(logprobs)
    offsets = logprobs.get("text_offset") or []
    if not isinstance(offsets, list) or not all(_is_offset(offset) for offset in offsets):
        raise Passing("the reply's text_offset has an unknown form", said=offsets)
    if any(offset >= 0 for offset in offsets):
        if len(offsets) != len(tokens):
            raise Passing(f"the reply has {len(tokens)} tokens and {len(offsets)} offsets")
        scored = _after_first(tokens)
        inside = _echoed_inside(scored, offsets[len(tokens) - len(scored) :], len(context), continuation)
        return _summed(inside) if inside else None
    generated = usage_of(reply).get("completion_tokens", 1)
    prompt = _after_first(tokens[: max(0, len(tokens) - generated)])
    return continuation_score(prompt, continuation) if prompt else None


def _echoed(logprobs: Mapping[str, Any]) -> list[Token]:
    """All tokens of an echoed text. The first has no number, since no token precedes it."""
    texts, numbers, tops = logprobs.get("tokens"), logprobs["token_logprobs"], logprobs.get("top_logprobs") or []
    if not (
        isinstance(texts, list) and isinstance(numbers, list) and isinstance(tops, list) and len(texts) == len(numbers)
    ):
        raise Passing("the reply's tokens and token_logprobs are not lists of equal length")
    found: list[Token] = []
    for place, (text, value) in enumerate(zip(texts, numbers, strict=True)):
        number = log_probability(value)
        if number is None:
            found.append((text if isinstance(text, str) else None, math.nan, False))
            continue
        top = tops[place] if place < len(tops) else None
        others = [log_probability(each) for each in top.values()] if isinstance(top, dict) else []
        best = max((each for each in others if each is not None), default=number)
        found.append((text if isinstance(text, str) else None, number, number >= best))
    return found


def _after_first(tokens: list[Token]) -> list[Token]:
    """The tokens without the first one if that has no number."""
    return tokens[1:] if tokens and math.isnan(tokens[0][1]) else tokens


def _is_offset(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _echoed_inside(tokens: Sequence[Token], offsets: Sequence[int], start: int, continuation: str) -> list[Token]:
    """The tokens that spell the continuation from character `start` on; empty if they do not match it."""
    text, inside = "", []
    for token, offset in zip(tokens, offsets, strict=True):
        if token[0] is None:
            raise Passing("the reply lacks the text of a token")
        if offset + len(token[0]) > start and len(text) < len(continuation):
            text += token[0]
            inside.append(token)
    return inside if text.endswith(continuation) else []


def _summed(tokens: Sequence[Token]) -> tuple[float, bool]:
    total = sum(number for _, number, _ in tokens)
    if math.isnan(total):
        raise Passing("the reply lacks the log-probability of a token of the continuation")
    return total, all(likeliest for _, _, likeliest in tokens)


def continuation_score(tokens: Sequence[Token], continuation: str) -> tuple[float, bool]:
    """The log-likelihood of the last tokens that spell the continuation, and whether each was the likeliest.

    Spaces are not compared, since a token that is decoded alone may lose its space. A separate space token before the
    continuation's first word belongs to it; white space after it (a template's newline) does not.

    Raises ModelError if the prompt does not end in the continuation (a chat template adds text after it), and Passing if the
    reply lacks a text or a number.
    """
    wanted, text, taken = _letters(continuation), "", list[Token]()
    left = list(tokens)
    while left and not _text(left[-1]).strip() and not continuation[-1:].isspace():
        left.pop()
    while left and len(_letters(text)) < len(wanted):
        taken.append(left.pop())
        text = _text(taken[-1]) + text
    if not wanted or not _letters(text).endswith(wanted):  # a token over the boundary belongs to the continuation
        raise ModelError(
            f"the server's prompt does not end in the continuation {shortened(continuation, 60)}.",
            hint="Choose a task with generate_until.",
        )
    if continuation[:1] == " " and left and left[-1][0] in LONE_SPACES and not text[:1].isspace():
        taken.append(left[-1])
    return _summed(taken)


def _text(token: Token) -> str:
    if token[0] is None:
        raise Passing("the reply lacks the text of a token of the continuation")
    return token[0]


def _letters(text: str) -> str:
    return "".join(text.split())


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
