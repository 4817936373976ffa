"""Which prompts begin alike, and how far: what several prompts begin with runs once (`prefixes`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from ..prompts.prompt import Prompt
from .runtime import Runtime

LEAST_SHARED = 32
"""Minimum of common text tokens for which a separate forward pays."""


def sharing(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[int, list[int]]]:
    """Consecutive prompts that begin alike: (number of shared tokens, their indices); 0 if they share nothing.

    Prompts with pictures share all of them or nothing: the shared tokens must include all picture tokens. Prompts whose first
    tokens see the last ones share nothing.
    """
    if not runtime.family.causal:
        yield from ((0, [place]) for place in range(len(prompts)))
        return
    start = 0
    while start < len(prompts):
        first, length, end = prompts[start], 0, start + 1
        least = first.picture_end if first.pictures else LEAST_SHARED
        while end < len(prompts):
            common = _common(first, prompts[end])
            common = min(common, length) if length else common
            if common < least or 2 * common < length:
                break
            length, end = common, end + 1
        yield length, list(range(start, end))
        start = end


def _common(one: Prompt, other: Prompt) -> int:
    """How many tokens can run once for both. At least one is left for each."""
    if not shows_alike(one, other):
        return 0
    return min(_alike(one, other), len(one.ids) - 1, len(other.ids) - 1)


def shows_alike(one: Prompt, other: Prompt) -> bool:
    """Whether two prompts are known to show the same pictures, or none."""
    return len(one.pictures) == len(other.pictures) == _pictures_alike(one, other)


def _alike(one: Prompt, other: Prompt) -> int:
    """How many tokens two prompts begin with alike."""
    most = min(len(one.ids), len(other.ids))
    if one.ids[:most] == other.ids[:most]:
        return most
    return next(i for i in range(most) if one.ids[i] != other.ids[i])


def common_beginning(runtime: Runtime, known: Prompt, prompts: Sequence[Prompt]) -> tuple[int, int] | None:
    """(tokens, pictures) of the beginning that all prompts share with a known one; None if it is too short.

    The pictures after them must be able to run on a cache. At least one token is left for each prompt.
    """
    if not (runtime.holes and runtime.family.causal):
        return None
    length = min(min(_alike(known, prompt), len(prompt.ids) - 1) for prompt in prompts)
    if not any(prompt.pictures for prompt in (known, *prompts)):
        return (length, 0) if length >= LEAST_SHARED else None
    alike = min(_pictures_alike(known, prompt) for prompt in prompts)
    if alike == 0:
        return None
    if all(len(prompt.pictures) == alike for prompt in (known, *prompts)) and length >= known.picture_end:
        return length, alike
    if runtime.features is None or not runtime.family.heads or not known.in_order:
        return None
    ends = list(accumulate(runtime.features.tokens(known.pictures[:alike])))
    count = sum(known.image_places[end - 1] < length for end in ends)
    if count == 0:
        return None
    if ends[count - 1] < len(known.image_places):  # the next picture differs, even if its tokens are equal
        length = min(length, known.image_places[ends[count - 1]])
    return length, count


def _pictures_alike(one: Prompt, other: Prompt) -> int:
    """How many pictures two prompts begin with alike."""
    pairs = zip(one.picture_key, other.picture_key, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one.picture_key), len(other.picture_key)))
