"""Which frames of an instance its prompt shows as videos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from mm_eval.values.types import IMAGE_MARK, Clip, Fields, Instance, Message


def native_clips(instance: Instance, splits: bool = False) -> tuple[Clip, ...]:
    """The videos of an instance if the frames of each stand together in its prompt; else none.

    With text between the frames of a video (subtitles) all frames of the instance are shown as pictures. With `splits` the frames
    that stand together are a video of their own then, and white space is not a text.
    """
    count = len(instance.image_digests)
    places = (
        _in_text(instance.context, count) if isinstance(instance.context, str) else _in_chat(instance.context, splits)
    )
    if len(places) != count:
        return ()
    if splits:
        return tuple(part for clip in instance.clips for part in _parts(clip, places))
    together = all(places[clip.last - 1] - places[clip.first] == len(clip.seconds) - 1 for clip in instance.clips)
    return instance.clips if together else ()


def _in_chat(messages: Sequence[Message], splits: bool) -> list[int]:
    """The place of each image part. Parts that follow each other in one message have places that do."""
    found, place = list[int](), 0
    for message in messages:
        for part in parts_of(message):
            if splits and is_blank(part):
                continue
            if part.get("type") == "image":
                found.append(place)
            place += 1
        place += 1
    return found


def _in_text(text: str, count: int) -> list[int]:
    """The same for a text's image marks, between which white space does not count. Without marks all pictures come first."""
    pieces = text.split(IMAGE_MARK)
    if len(pieces) != count + 1 or not count:
        return list(range(count))
    places = [0]
    for between in pieces[1:-1]:
        places.append(places[-1] + (2 if between.strip() else 1))
    return places


def _parts(clip: Clip, places: Sequence[int]) -> Iterable[Clip]:
    """The clip, or its parts between which there is text."""
    start = clip.first
    for end in range(clip.first + 1, clip.last + 1):
        if end == clip.last or places[end] != places[end - 1] + 1:
            own = slice(start - clip.first, end - clip.first)
            yield replace(clip, first=start, seconds=clip.seconds[own], numbers=clip.numbers[own])
            start = end


def own_sounds(clips: Sequence[Clip]) -> dict[int, int]:
    """{number of a sound: the number of the video whose own it is}; none unless each of the videos has its own."""
    found = {clip.sound: number for number, clip in enumerate(clips) if clip.sound is not None}
    return found if len(found) == len(clips) else {}


def parts_of(message: Fields) -> list[dict[str, object]]:
    """The parts of a message; none if its content is a text."""
    content = message["content"]
    return [] if isinstance(content, str) else content


def is_blank(part: Mapping[str, object]) -> bool:
    """Whether a part is text without any characters but white space."""
    return "text" in part and not str(part["text"]).strip()


def span(clip: Clip) -> float:
    """The seconds of the file, or of the part of it, that was asked for."""
    end = clip.duration if clip.end is None else min(clip.end, clip.duration)
    return max(end - (clip.start or 0.0), 0.0)


def starts_and_rest(clips: Iterable[Clip]) -> tuple[list[int], set[int]]:
    """(the number of the first frame of each video, the numbers of its other frames)."""
    clips = list(clips)
    return [clip.first for clip in clips], {n for clip in clips for n in range(clip.first + 1, clip.last)}
