"""Reads video files with PyAV: the times of all frames without decoding, and single frames, each checked by its time.

PyAV is imported here only. It brings FFmpeg with it. Only `CONTAINERS` are opened, from files: no playlist can name other files
or addresses.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mm_eval.values.errors import ConfigError, DataError, MMEvalError

if TYPE_CHECKING:
    from PIL.Image import Image

CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,gif,apng"
"""FFmpeg's names of the formats that are opened."""

STATE_THEIR_LENGTH = ("mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm", "avi", "flv")
"""The formats whose header may state the length, so that a file that was cut off can be told from a shorter one."""

MOST_PIXELS = 2**26
"""The largest frame that is decoded, in pixels: 8K is half of it."""


@dataclass(frozen=True)
class FrameIndex:
    """The frames of a video in the order in which they are shown.

    ticks: their times in units of `tick` seconds. keys: those of the frames that decoding can begin at. width, height: as
    stored, before rotation.
    """

    ticks: Sequence[int]
    keys: Sequence[int]
    tick: Fraction
    width: int
    height: int

    def seconds(self, number: int) -> float:
        """When a frame is shown, in seconds after the first one."""
        return float((self.ticks[number] - self.ticks[0]) * self.tick)

    @property
    def fps(self) -> float:
        """The mean number of frames a second. 0 for a single frame."""
        last = self.seconds(len(self.ticks) - 1)
        return (len(self.ticks) - 1) / last if last else 0.0

    @property
    def rate(self) -> Fraction | None:
        """The nominal number of frames a second: the plainest one from which no time differs by more than a tick.

        Containers round the times (Matroska to milliseconds), so the mean of 240 frames at 24 a second may be 24.0008. None for
        a rate that varies, and for a single frame.
        """
        span, last = self.ticks[-1] - self.ticks[0], len(self.ticks) - 1
        if span <= 0:
            return None
        mean = Fraction(last, span) / self.tick
        drop = Fraction(1000, 1001)
        for rate in (Fraction(round(mean)), round(mean / drop) * drop, mean.limit_denominator(100), mean):
            if rate and self._runs_at(rate):
                return rate
        return None

    def _runs_at(self, rate: Fraction) -> bool:
        many, each = rate.denominator * self.tick.denominator, rate.numerator * self.tick.numerator
        return all(abs((tick - self.ticks[0]) * each - number * many) <= each for number, tick in enumerate(self.ticks))

    @property
    def duration(self) -> float:
        """The length in seconds: the last frame is shown as long as the mean one. 0 for a single frame."""
        return len(self.ticks) / self.fps if self.fps else 0.0

    def key_of(self, tick: int) -> int:
        """The key frame from which the frame of a tick is decoded."""
        place = bisect_right(self.keys, tick)
        return self.keys[place - 1] if place else self.keys[0]


def index_of(path: str) -> FrameIndex:
    """The times of a video's frames, from its packets. DataError if it can't be read or does not state them."""
    with _opened(path) as (file, stream):
        seen = [
            (packet.pts, packet.is_keyframe, packet.is_discard, packet.is_corrupt)
            for packet in file.demux(stream)
            if packet.size
        ]
        whole = [number for number, (_, is_key, *_) in enumerate(seen) if is_key][:1]
        if file.format.name == "mpegts" and whole:  # it may begin in the middle of a group: what `_decoded` leaves out
            seen, key = seen[whole[0] :], seen[whole[0]][0]
            seen = [each for each in seen if each[0] is None or key is None or each[0] >= key]
        if any(corrupt for *_, corrupt in seen):
            raise DataError(f"the video {_name(path)} is damaged or cut off.")
        if any(pts is None for pts, *_ in seen):
            raise DataError(f"the video {_name(path)} does not state the times of its frames.", hint=REPACK)
        ticks = array("q", sorted(pts for pts, _, discarded, _ in seen if not discarded))
        keys = array("q", sorted(pts for pts, is_key, *_ in seen if is_key))  # also one that an edit list leaves out
        if not ticks or not keys:
            raise DataError(f"the video {_name(path)} has no frames.")
        if any(earlier == later for earlier, later in zip(ticks, ticks[1:], strict=False)):
            raise DataError(f"the video {_name(path)} has two frames at the same time.", hint=REPACK)
        if _is_cut_off(file, stream, ticks):
            raise DataError(f"the video {_name(path)} is cut off.")
        width, height = stream.codec_context.width, stream.codec_context.height
        if not 0 < width * height <= MOST_PIXELS:
            raise DataError(f"the video {_name(path)} has frames of {width} x {height} pixels.")
        return FrameIndex(ticks, keys, Fraction(stream.time_base), width, height)


REPACK = "Pack it anew: ffmpeg -i OLD -c copy NEW.mp4"


def frames_at(path: str, ticks: Sequence[int], keys: Sequence[int]) -> Iterator[Image]:
    """The frame of each tick, upright, as an RGB picture. keys: of each tick the key frame from which it is decoded.

    ticks: rising. DataError if a frame can't be decoded, or the decoder gives none with this time.
    """
    with _opened(path) as (file, stream):
        decoder: Any = None
        now: Any = None
        for tick, key in zip(ticks, keys, strict=True):
            if now is None or key > now.pts:
                decoder, now = _decoder_from(file, stream, key, tick, first=now is None)
            while now is not None and now.pts is not None and now.pts < tick:
                now = next(decoder, None)
            if now is None or now.pts != tick:
                raise DataError(f"the video {_name(path)} gives no frame at {float(tick * stream.time_base):.3f} s.")
            if now.is_corrupt:
                raise DataError(f"the video {_name(path)} is damaged at {float(tick * stream.time_base):.3f} s.")
            picture: Image = now.to_image()
            yield picture.rotate(now.rotation, expand=True) if now.rotation else picture


def _decoder_from(file: Any, stream: Any, key: int, tick: int, first: bool) -> tuple[Any, Any]:
    """(a decoder that begins at a key frame or before it, its first frame). tick: of the frame that is wanted.

    first: nothing has been read from the file yet.

    In an MPEG-TS a seek goes to the key frame after the time that it is given, so that earlier times are tried, too.
    """
    decoder, frame = _decoded(file, stream), None
    if first:
        frame = next(decoder, None)
        if frame is None or frame.pts is None or key <= frame.pts <= tick:
            return decoder, frame
    second = int(1 / stream.time_base)
    for earlier in (0, 1, second, 10 * second):
        file.seek(key - earlier, stream=stream)
        decoder = _decoded(file, stream)
        frame = next(decoder, None)
        if frame is not None and frame.pts is not None and frame.pts <= tick:
            break
    return decoder, frame


def _decoded(file: Any, stream: Any) -> Iterator[Any]:
    """The frames from the next key frame on. What stands before it can't be decoded.

    Nor can its leading frames, which come after it and are shown before it: in an open group of pictures they refer to the
    group before. No later frame refers to them, and whoever wants one begins at the key frame before it.
    """
    key: Any = None
    for packet in file.demux(stream):
        if key is None and packet.is_keyframe:
            key = packet
        if key is not None and not (packet.pts is not None and key.pts is not None and packet.pts < key.pts):
            yield from packet.decode()


def _is_cut_off(file: Any, stream: Any, ticks: Sequence[int]) -> bool:
    """Whether a file ends half a second or more before the length that it states. Sound may be longer than the pictures."""
    if file.format.name not in STATE_THEIR_LENGTH or not file.duration or len(ticks) < 2:
        return False
    widest = max(later - earlier for earlier, later in zip(ticks, ticks[1:], strict=False))
    missing = max(0.5, 2 * float(widest * stream.time_base))
    stated = file.duration / 1_000_000
    if float(ticks[-1] * stream.time_base) > stated - missing:
        return False
    with _opened(file.name) as (again, _):
        ends = (packet.pts * packet.time_base for packet in again.demux() if packet.pts is not None)
        return bool(float(max(ends, default=0)) < stated - missing)


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Any]]:
    """(the open file, its first video stream). What FFmpeg raises inside becomes a DataError."""
    av = _av()
    _refuse_webp(path)
    try:
        with av.open(os.path.abspath(path), options={"format_whitelist": CONTAINERS}) as file:
            covers = av.stream.Disposition.attached_pic
            streams = [each for each in file.streams.video if each.codec_context and not each.disposition & covers]
            if not streams:
                sound = " It has sound, which is not supported." if file.streams.audio else ""
                raise DataError(f"the file {_name(path)} has no video.{sound}")
            streams[0].codec_context.thread_count = 1
            streams[0].codec_context.options = {"err_detect": "explode"}
            yield file, streams[0]
    except MMEvalError:
        raise
    except (av.error.FFmpegError, OSError, ValueError, RuntimeError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DataError(f"the video {_name(path)} can't be read: {reason}.") from error


def _refuse_webp(path: str) -> None:
    """Raises DataError for a WebP: FFmpeg's library does not decode animated ones."""
    with suppress(OSError), open(path, "rb") as file:
        head = file.read(12)
        if head[:4] == b"RIFF" and head[8:] == b"WEBP":
            hint = "Convert it to GIF or MP4."
            raise DataError(f"the video {_name(path)} is an animated WebP, which is not supported.", hint=hint)


def _name(path: str) -> str:
    return repr(os.path.basename(path)[:100])


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        hint = "Install it: pip install 'mm-eval[video]'"
        raise ConfigError("a video is read with PyAV, which is not installed.", hint=hint) from error
    return av
