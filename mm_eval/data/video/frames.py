"""The frames that a rule chooses of a video: their identity from the file's bytes, their pixels only when they are asked for."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

from mm_eval.data import kept_files
from mm_eval.data.archives import is_of_bytes
from mm_eval.data.frames import OF_FILE, Frames
from mm_eval.data.places import Places, put_in_place
from mm_eval.data.video.kept import About, about
from mm_eval.data.video.reader import FrameIndex, frames_at
from mm_eval.data.video.rule import FrameRule
from mm_eval.data.video.subtitles import read_subtitles
from mm_eval.values.errors import DataError
from mm_eval.values.types import FRAME_MARK, Clip, Video

if TYPE_CHECKING:
    from PIL.Image import Image

AUDIO = (".mp3", ".wav", ".flac", ".ogg", ".opus", ".m4a", ".aac")


@dataclass(frozen=True)
class VideoFrames(Frames):
    """The chosen frames of one video, not decoded.

    path: of the file, and stamp: its state when it was read. digests, ticks and keys (see `frames_at`): of each frame.
    width, height: of the largest possible shown frame. size: as in FrameRule. whole: the frames as the only ones of a question.
    by_order: as in FrameIndex.
    """

    path: str
    stamp: tuple[int, ...]
    digests: tuple[str, ...]
    ticks: tuple[int, ...]
    keys: tuple[int, ...]
    width: int
    height: int
    size: int | None
    whole: Clip
    by_order: bool

    @property
    def pixels(self) -> int:
        return len(self.ticks) * self.width * self.height

    def pictures(self) -> list[Image]:
        """Decodes the frames. DataError if one can't be decoded, or the file has changed since its times were read."""
        try:
            if kept_files.stamp(self.path) != self.stamp:
                raise DataError(f"the video {os.path.basename(self.path)!r} has changed during the run.")
            with kept_files.local(self.path) as path:
                return [
                    _fitted(picture, self.size)
                    for picture in frames_at(path, self.ticks, self.keys, self.whole.numbers if self.by_order else None)
                ]
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def clip(self, first: int) -> Clip:
        """The frames as a value of an instance. first: the number of the first one among its pictures."""
        return replace(self.whole, first=first)

    def asked_for_sound(self) -> Self:
        """These frames of a file without sound, in a question that asks for its sound (`Clip.silent`)."""
        return replace(self, whole=replace(self.whole, silent=True))


def frames_of(item: object, rule: FrameRule, places: Places) -> VideoFrames | None:
    """The frames of what a task's function returned: a Video or a path. None if the item is neither.

    A relative path is looked for below the data's folders; an absolute one is the function's own.
    Errors: DataError if the file can't be read as a video, and for a file of sound.
    """
    if isinstance(item, (str, os.PathLike)):
        item = Video(item)
    if not isinstance(item, Video):
        return None
    name = os.fspath(item.path)
    if not isinstance(name, str) or "://" in name or "\0" in name:
        raise DataError(f"the video {name[:200]!r} is not the name of a file; a video is read from a file.")
    if name.lower().endswith(AUDIO):
        raise DataError(f"{name[-200:]!r} is a sound file, which has no frames.", hint="Give it by doc_to_audio.")
    path = _found(name, places)
    for edge in (item.start, item.end):
        if edge is not None and not (isinstance(edge, (int, float)) and edge >= 0):
            raise DataError(
                f"the video {name[-200:]!r} begins or ends at {edge!r}, which is not a number of seconds from 0."
            )
    try:
        frames = _chosen(path, kept_files.stamp(path), item.start, item.end, rule)
    except OSError as error:
        raise _unreadable(path, error) from error
    said = places.subtitles(item.subtitles) if item.subtitles else None
    return frames if said is None else replace(frames, whole=replace(frames.whole, subtitles=read_subtitles(said)))


def _found(name: str, places: Places) -> str:
    """The path of a video, as `kept_files` takes it."""
    if os.path.isabs(name) or is_of_bytes(name):
        if not (kept_files.exists(name) or put_in_place(name)):
            raise DataError(f"there is no video file {name[-200:]!r}.")
        return name
    return places.locate(name)


def _unreadable(path: str, error: OSError) -> DataError:
    return DataError(f"the video {os.path.basename(path)[-200:]!r} can't be read: {error.strerror or error}.")


@lru_cache(maxsize=4096)
def _chosen(path: str, stamp: tuple[int, ...], start: float | None, end: float | None, rule: FrameRule) -> VideoFrames:
    found = _about(path, stamp)
    digest, index = found.digest, found.index
    first, last = _range(index, start, end)
    if start is not None and first == last == len(index.ticks) and index.stays and start < index.duration:
        first -= 1  # the last picture is still shown
    if first >= last:
        length = f"{index.seconds(len(index.ticks) - 1):.3f} s"
        raise DataError(
            f"{os.path.basename(path)!r} has no frame from {start} to {end} s; its last one is at {length}."
        )
    total = last - first
    rate = index.rate
    if rate is not None:
        seconds = total / rate
    else:  # the last frame is shown as long as the mean one
        span = (index.ticks[last - 1] - index.ticks[first]) * index.tick
        seconds = span * total / (total - 1) if total > 1 else Fraction(0)
        rate = total / seconds if seconds else None
    # what processors compute in floats is computed from the rate as they are told it
    shown: float | Fraction = total / float(rate) if rate is not None and rule.in_floats else seconds
    if last == len(index.ticks) and index.stays:
        until = index.stays if end is None else Fraction(end) - Fraction(index.seconds(last - 1)) - index.mean
        shown = seconds + max(Fraction(0), min(index.stays, until))
    numbers = [first + place for place in rule.places(total, shown, None if rate is None else float(rate))]
    ticks = [index.ticks[number] for number in numbers]
    width, height = _smaller(index.width, index.height, rule.size)
    return VideoFrames(
        path,
        stamp,
        tuple(_frame_digest(digest, tick, rule.size, index.is_mirrored) for tick in ticks),
        tuple(ticks),
        tuple(map(index.key_of, ticks)),
        width,
        height,
        rule.size,
        Clip(
            first=0,
            seconds=tuple(map(index.seconds, numbers)),
            numbers=tuple(numbers),
            total=len(index.ticks),
            duration=index.duration,
            fps=index.fps,
            path=path,
            start=start,
            end=end,
            rule=str(rule),
        ),
        index.by_order,
    )


def _range(index: FrameIndex, start: float | None, end: float | None) -> tuple[int, int]:
    """The numbers of the first frame of a part and of the one after its last. A frame at `start` or at `end` belongs to it."""

    def ticks(seconds: float) -> float:
        return index.ticks[0] + seconds / float(index.tick)

    small = 1e-6  # of a tick: 0.1 s is 0.1 s, whatever a float makes of it
    first = 0 if start is None else bisect_left(index.ticks, ticks(start) - small)
    return first, len(index.ticks) if end is None else bisect_right(index.ticks, ticks(end) + small)


def _frame_digest(of_file: str, tick: int, size: int | None, is_mirrored: bool) -> str:
    """The identity of a frame, in 64 characters. It begins with that of the file, so that a record tells which video is shown.

    Mirrored frames have a word more, since they were once shown in another way.
    """
    text = f"{of_file} {tick} {size}{' mirrored' if is_mirrored else ''}"
    return (FRAME_MARK + of_file)[:OF_FILE] + hashlib.sha256(text.encode()).hexdigest()[:OF_FILE]


@lru_cache(maxsize=8)
def _about(path: str, stamp: tuple[int, ...]) -> About:
    return about(path, stamp)


def _smaller(width: int, height: int, size: int | None) -> tuple[int, int]:
    longest = max(width, height)
    if size is None or longest <= size:
        return width, height
    return max(1, round(width * size / longest)), max(1, round(height * size / longest))


def _fitted(picture: Image, size: int | None) -> Image:
    from PIL.Image import Resampling

    fitting = _smaller(picture.width, picture.height, size)
    return picture if fitting == picture.size else picture.resize(fitting, Resampling.BICUBIC)
