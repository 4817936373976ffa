"""Log-probabilities in a reply: of the first generated token, and of the tokens of the prompt.

A required field that is missing or invalid raises Passing, and the request is retried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mm_eval.values.errors import ModelError
from mm_eval.values.types import Fields, Place

from .errors import Passing
from .replies import choice_of, shortened
from .usage import usage_of

TOLERANCE = 1e-3
"""A log-probability is at most 0, barring rounding."""


def first_token(reply: Mapping[str, object]) -> dict[str, float]:
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


def first_places(reply: Fields, most: int, clean: Callable[[str], str] = str) -> tuple[Place, ...]:
    """The first generated tokens with the likeliest ones there; none where the reply has none, or has them in another form.

    They are asked for beside the answer, so nothing is wrong with a reply without them. clean: takes secrets out of a text.
    """
    logprobs = choice_of(reply).get("logprobs")
    match logprobs:
        case {"content": [*content]}:
            entries = [
                (each.get("token"), _pairs(each.get("top_logprobs"))) for each in content if isinstance(each, dict)
            ]
        case {"tokens": [*tokens], "top_logprobs": [*tops]}:
            entries = list(zip(tokens, map(_pairs, tops), strict=False))
        case _:
            return ()
    found: list[Place] = []
    for token, pairs in entries[:most]:
        known = [(name, number) for name, logprob in pairs if (number := log_probability(logprob)) is not None]
        if not isinstance(token, str) or not known or not all(isinstance(name, str) for name, _ in known):
            break
        likeliest: dict[str, float] = {}
        for name, number in sorted(known, key=lambda pair: -pair[1]):
            likeliest.setdefault(clean(name), number)
        found.append(Place(clean(token), likeliest))
    return tuple(found)


def _pairs(top: Any) -> list[tuple[Any, Any]]:
    """(token, log-probability) of the likeliest tokens at a place, in either form."""
    if isinstance(top, dict):
        return list(top.items())
    entries = top if isinstance(top, list) else []
    return [(each.get("token"), each.get("logprob")) for each in entries if isinstance(each, dict)]


def drawn_token(reply: Mapping[str, object]) -> str:
    """The first generated token, empty if the reply has none. vLLM lists it among the likeliest, also where it is not one."""
    match choice_of(reply).get("logprobs"):
        case {"content": [{"token": str(token)}, *_]} | {"tokens": [str(token), *_]}:
            return token
    return ""


def upper_bound(option: str, tokens: Mapping[str, float], drawn: str = "") -> float:
    """The log-probability that an option, which is none of the likeliest first tokens, has at most.

    It is that of the last listed token, or that of a likelier one with which the option begins: a space, the first letters.
    tokens: the likeliest by text, likeliest first. drawn: the generated token, which may be listed without being one of them.

    >>> upper_bound("C", {"A": -0.1, "B": -3.0}), upper_bound("Cat", {"Ca": -0.1, "B": -3.0})
    (-3.0, -0.1)
    >>> upper_bound("C", {"A": -0.1, "B": -3.0, "se": -9.0}, drawn="se")
    -3.0
    """
    begins = [number for token, number in tokens.items() if option.startswith(token.translate(_SPACES))]
    listed = [number for token, number in tokens.items() if token != drawn]
    return max([min(listed or tokens.values()), *begins])


_SPACES = str.maketrans({"\u2581": " ", "\u0120": " "})


def log_probability(value: object) -> float | None:
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


def prompt_tokens(reply: Mapping[str, object]) -> list[Token] | None:
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


def _of_prompt(position: object) -> Token:
    entries = list(position.values()) if isinstance(position, dict) else []
    if not entries or not all(isinstance(entry, dict) and _is_rank(entry.get("rank")) for entry in entries):
        return UNKNOWN
    own = next((entry for entry in entries if entry["rank"] != 1), entries[0])
    text, number = own.get("decoded_token"), log_probability(own.get("logprob"))
    return text if isinstance(text, str) else None, math.nan if number is None else number, own["rank"] == 1


def _is_rank(value: object) -> bool:
    return type(value) is int and value >= 1


def echoed_score(reply: Mapping[str, object], context: str, continuation: str) -> tuple[float, bool] | None:
    """The score of the continuation in a completion with `echo`; None if the server echoes no numbers.

    vLLM and OpenAI give each token's offset in the text. SGLang gives -1 for all, so that its tokens are read from the end.
    """
    logprobs = choice_of(reply).get("logprobs")
    if not isinstance(logprobs, dict) or logprobs.get("token_logprobs") is None:
        return None
    tokens = _echoed(logprobs)
    offsets = logprobs.get("text_offset") or []
    if not isinstance(offsets, list) or not all(type(offset) is int for offset in offsets):
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


def _echoed(logprobs: Mapping[str, object]) -> list[Token]:
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


LONGEST_OPTION = 12


def maybe_one_token(option: str) -> bool:
    """Whether a continuation may be a single token: a letter, a number, a short word."""
    return len(option.strip()) <= LONGEST_OPTION and " " not in option.strip()
