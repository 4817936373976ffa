"""Which prompts share what they begin with, so that it runs once.

    prefixes  a batch of prompts -> their prefixes
              questions on the same pictures, or after the same text, share a root
              what all roots and lone prompts of a batch begin with, as few-shot examples with pictures, is a head

The last root, head or lone prompt is kept: the next batch often goes on with the same picture or the same examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from .hf_prefix import Prefix, completed, grown, merged, prefill, snapshot
from .hf_prompt import Prompt

if TYPE_CHECKING:
    from .hf_runtime import Runtime

LEAST_SHARED = 32
"""Tokens of text that prompts must have in common for a pass of their own to pay."""


def prefixes(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[int], Prefix]]:
    """The prefixes of prompts, a part at a time: (indices of the prompts, their prefix, row for row)."""
    groups = list(sharing(prompts))
    alone = [place for length, places in groups if not length for place in places]
    shared = [(prompts[places[0]].cut(length), places) for length, places in groups if length]
    _keep_head(runtime, [*(prompts[place] for place in alone), *(root for root, _ in shared)])
    if alone:
        yield alone, _started(runtime, [prompts[place] for place in alone])
    if runtime.holes and shared:
        roots = merged([_started(runtime, [root]) for root, _ in shared])
        rows = [(number, place) for number, (_, places) in enumerate(shared) for place in places]
        tails = [prompts[place].ids[len(shared[number][0].ids) :] for number, place in rows]
        yield [place for _, place in rows], grown(runtime, roots, [number for number, _ in rows], tails)
        return
    for root, places in shared:
        by_length: dict[int, list[int]] = {}
        for place in places:
            by_length.setdefault(len(prompts[place].ids), []).append(place)
        prefix = _started(runtime, [root])
        for some in by_length.values():
            tails = [prompts[place].ids[len(root.ids) :] for place in some]
            yield some, grown(runtime, prefix, [0] * len(some), tails)


def sharing(prompts: Sequence[Prompt]) -> Iterator[tuple[int, list[int]]]:
    """Consecutive prompts that begin alike: (how many tokens they share, their indices); 0 for those that share nothing.

    Prompts with pictures share them all or nothing: the picture's tokens and those before must be among what they share.
    """
    start = 0
    while start < len(prompts):
        length, end = 0, start + 1
        while end < len(prompts):
            common = _common(prompts[start], prompts[end])
            common = min(common, length) if length else common
            if common < _least(prompts[start]) or 2 * common < length:
                break
            length, end = common, end + 1
        yield length, list(range(start, end))
        start = end


def _least(prompt: Prompt) -> int:
    return prompt.picture_end if prompt.pictures else LEAST_SHARED


def _common(one: Prompt, other: Prompt) -> int:
    """How many tokens can run for both at once; at least one is left to each."""
    if not _shows_alike(one, other):
        return 0
    return min(_alike(one, other), len(one.ids) - 1, len(other.ids) - 1)


def _shows_alike(one: Prompt, other: Prompt) -> bool:
    """Whether two prompts are known to show the same pictures, or none."""
    return len(one.pictures) == len(other.pictures) == _pictures_alike(one, other)


def _alike(one: Prompt, other: Prompt) -> int:
    """How many tokens two prompts begin with alike."""
    most = min(len(one.ids), len(other.ids))
    if one.ids[:most] == other.ids[:most]:
        return most
    return next(i for i in range(most) if one.ids[i] != other.ids[i])


def _started(runtime: Runtime, prompts: Sequence[Prompt]) -> Prefix:
    """The prefixes of prompts, on top of what is kept where all of them begin like it."""
    last = prompts[-1]
    made = None
    if runtime.kept is not None:
        known, prefix = runtime.kept
        if len(prompts) == 1 and last.ids == known.ids and _shows_alike(last, known):
            return snapshot(prefix)
        if beginning := _beginning(runtime, known, prompts):
            length, pictures = beginning
            made = completed(runtime, snapshot(prefix, length), length, pictures, prompts)
    if made is None:
        runtime.kept = None  # its memory is needed
        made = prefill(runtime, prompts)
    if len(prompts) == 1 and runtime.keeps:
        runtime.kept = last, snapshot(made)
    return made


def _keep_head(runtime: Runtime, prompts: Sequence[Prompt]) -> None:
    """Runs what all these prompts begin with, unless its pictures are in what is kept."""
    if len(prompts) < 2 or not prompts[0].pictures or not runtime.keeps:  # text that is worth it is a root already
        return
    beginning = _beginning(runtime, prompts[0], prompts)
    known = _beginning(runtime, runtime.kept[0], prompts) if beginning and runtime.kept else None
    if beginning and (known is None or known[1] < beginning[1]):
        runtime.kept = None  # its memory is needed
        head = prompts[0].head(*beginning)
        runtime.kept = head, prefill(runtime, [head])


def _beginning(runtime: Runtime, known: Prompt, prompts: Sequence[Prompt]) -> tuple[int, int] | None:
    """How many tokens and pictures all prompts begin with as another one does; None where it is too little.

    The pictures that follow them must be able to run on a cache. At least one token is left to each prompt.
    """
    if not runtime.holes:
        return None
    length = min(min(_alike(known, prompt), len(prompt.ids) - 1) for prompt in prompts)
    if not any(prompt.pictures for prompt in (known, *prompts)):
        return (length, 0) if length >= LEAST_SHARED else None
    alike = min(_pictures_alike(known, prompt) for prompt in prompts)
    if alike == 0:
        return None
    if all(len(prompt.pictures) == alike for prompt in (known, *prompts)) and length >= known.picture_end:
        return length, alike
    if runtime.features is None or not runtime.family.heads:
        return None
    ends = list(accumulate(runtime.features.tokens(known.pictures[:alike])))
    count = sum(known.image_places[end - 1] < length for end in ends)
    if count == 0:
        return None
    if ends[count - 1] < len(known.image_places):  # the next picture is another one, however alike its tokens are
        length = min(length, known.image_places[ends[count - 1]])
    return length, count


def _pictures_alike(one: Prompt, other: Prompt) -> int:
    """How many pictures two prompts begin with alike."""
    pairs = zip(one.picture_key, other.picture_key, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one.picture_key), len(other.picture_key)))
