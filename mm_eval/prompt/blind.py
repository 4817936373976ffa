"""Questions without their pictures and sounds, and with those of other docs: what `--blind` asks.

A benchmark that can be answered without looking shows it there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from mm_eval.values.types import AUDIO_MARK, IMAGE_MARK, Message

WITHOUT, SHUFFLED = "without", "shuffled"
BLIND = (WITHOUT, SHUFFLED)
PICTURES, SOUNDS = "pictures", "sounds"
"""What a question may have beside text, for people. The frames of a video are pictures."""


def joined_media(words: Iterable[str]) -> str:
    """The media of several tasks in words.

    >>> joined_media(["sounds"]), joined_media(["sounds", "pictures", "sounds"]), joined_media([])
    ('sounds', 'pictures and sounds', 'pictures')
    """
    named = " and ".join(words)
    return " and ".join(word for word in (PICTURES, SOUNDS) if word in named) or PICTURES


def said_of(blind: str, media: str) -> str:
    """How a blind run is marked in tables. media: what was left out or swapped, as of `joined_media`.

    >>> said_of("without", "sounds")
    'blind: without sounds'
    """
    return f"blind: without {media}" if blind == WITHOUT else f"blind: with {media} of other documents"


_MARK = re.compile(rf"(?:{re.escape(IMAGE_MARK)}|{re.escape(AUDIO_MARK)}|<image ?\d+>)(?:[ \t]*\n|[ \t])?")
"""The place of a picture, also a numbered one (`<image 2>`), with the line break or the space after it."""


def without_marks(text: str) -> str:
    r"""A text without the places of its pictures.

    >>> without_marks("<image>\nWhat is it? Compare <image 1> and <image 2>.")
    'What is it? Compare and .'
    """
    return _MARK.sub("", text)


def without_pictures(messages: Sequence[Message]) -> list[Message]:
    """Chat messages without the places of pictures. A turn of pictures alone stays, with an empty text."""
    found: list[Message] = []
    for message in messages:
        parts = [{**part, "text": without_marks(part["text"])} for part in message["content"] if part["type"] == "text"]
        found.append({**message, "content": parts or [{"type": "text", "text": ""}]})
    return found


def others(doc_id: int, count: int, seed: int) -> Iterator[int]:
    """The other docs whose pictures a doc may get, in the order in which they are tried.

    All docs stand in a circle, in an order drawn by the seed; each gets the pictures of the next one. So no doc gets its own, and
    none is used twice, unless the next doc has no pictures or the same ones.
    """
    circle, places = _circle(count, seed)
    for step in range(1, count):
        yield circle[(places[doc_id] + step) % count]


@lru_cache(maxsize=4)
def _circle(count: int, seed: int) -> tuple[list[int], list[int]]:
    """(the docs in their order, the place of each doc)."""
    circle = list(range(count))
    random.Random(f"blind {seed}").shuffle(circle)
    places = [0] * count
    for place, doc_id in enumerate(circle):
        places[doc_id] = place
    return circle, places
