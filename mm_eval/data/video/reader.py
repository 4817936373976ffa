"""Reads video files with PyAV: the times of all frames without decoding, and single frames, each checked by its time.

PyAV is imported here only. It brings FFmpeg with it. Only `CONTAINERS` are opened, from files: no playlist can name other files
or addresses.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from mm_eval.data.decode import LONGEST_BRANDS, brands_of
from mm_eval.data.video.containers import is_whole_matroska, states_matrix
from mm_eval.data.video.webp import as_animated_png, is_webp
from mm_eval.values.errors import ConfigError, DataError, MMEvalError, first_line

if TYPE_CHECKING:
    from PIL.Image import Image

CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg,gif,apng"
"""FFmpeg's names of the formats that are opened."""

MOV = "mov,mp4,m4a,3gp,3g2,mj2"
"""FFmpeg's name of the format whose files may have edit lists."""

MATROSKA = "matroska,webm"
"""The same of Matroska."""

STATE_THEIR_LENGTH = (MOV, MATROSKA, "avi", "flv")
"""The formats whose header may state the length, so that a file that was cut off can be told from a shorter one."""

STATE_DECODING = ("avi", "asf")
"""The formats that state when a frame is decoded, not when it is shown."""

MOST_PIXELS = 2**26
"""The largest frame that is decoded, in pixels: 8K is half of it."""


@dataclass(frozen=True)
class FrameIndex:
    """The frames of a video in the order in which they are shown.

    ticks: their times in units of `tick` seconds. keys: those of the frames that decoding can begin at. width, height: as
    stored, before rotation. by_order: decoded frames have other times than the file states, and only their order tells which
    one is which (frames that are stored in another order than shown, in AVI and ASF; several recordings in one file).
    last: how long the last frame is shown by what the file declares, in ticks; 0 where it declares nothing. is_mirrored: the
    file states a matrix that mirrors its frames.
    """

    ticks: Sequence[int]
    keys: Sequence[int]
    tick: Fraction
    width: int
    height: int
    by_order: bool = False
    last: int = 0
    is_mirrored: bool = False

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
    def mean(self) -> Fraction:
        """How long a frame is shown on average, in seconds. 0 for a single frame."""
        steps = len(self.ticks) - 1
        return (self.ticks[-1] - self.ticks[0]) * self.tick / steps if steps else Fraction(0)

    @property
    def stays(self) -> Fraction:
        """How long the last frame stays after the mean frame would have ended, in seconds."""
        longer = self.last * self.tick - self.mean
        return longer if longer > self.tick else Fraction(0)

    @property
    def duration(self) -> float:
        """The length in seconds: the last frame is shown as long as the mean one, or longer if the file declares it."""
        mean = len(self.ticks) / self.fps if self.fps else 0.0
        return float(self.mean * len(self.ticks) + self.stays) if self.stays else mean

    def key_of(self, tick: int) -> int:
        """The key frame from which the frame of a tick is decoded."""
        place = bisect_right(self.keys, tick)
        return self.keys[place - 1] if place else self.keys[0]


def index_of(path: str) -> FrameIndex:
    """The times of a video's frames, from its packets. DataError if it can't be read or does not state them."""
    with _opened(path) as (file, stream):
        is_gif = file.format.name == "gif"
        pieces = _Pieces(file.format.name in ("mpeg", "mpegts"))
        has_edits = file.format.name == MOV  # the second edit begins before the first one ends: see `_Seen`
        seen = [
            _Seen(
                packet.pts if has_edits else pieces.time_of(packet),
                packet.duration or 0,
                packet.is_keyframe,
                packet.is_discard,
                packet.is_corrupt or is_gif and _is_cut_gif(bytes(packet)),
            )
            for packet in _packets(file, stream)
            if packet.size
        ]
        for first, position in pieces.begins:  # FFmpeg takes the change for a loss
            if not _ends_in_a_frame(path, stream.id, position):
                seen[first - 2 : first] = [each._replace(is_damaged=False) for each in seen[first - 2 : first]]
        whole = [number for number, each in enumerate(seen) if each.is_key][:1]
        if file.format.name == "mpegts" and whole:  # it may begin in the middle of a group: what `_decoded` leaves out
            seen, key = seen[whole[0] :], seen[whole[0]].time
            seen = [each for each in seen if each.time is None or key is None or each.time >= key]
        if any(each.is_damaged for each in seen):
            raise DataError(f"the video {_name(path)} is damaged or cut off.")
        if any(each.time is None for each in seen):
            raise DataError(f"the video {_name(path)} does not state the times of its frames.", hint=REPACK)
        ticks = array("q", sorted(each.time or 0 for each in seen if not each.is_left_out))
        keys = array(
            "q", sorted(each.time or 0 for each in seen if each.is_key)
        )  # also one that an edit list leaves out
        if not ticks or not keys:
            raise DataError(f"the video {_name(path)} has no frames.")
        if any(earlier == later for earlier, later in zip(ticks, ticks[1:], strict=False)):
            raise DataError(f"the video {_name(path)} has two frames at the same time.", hint=REPACK)
        end = max((each.time or 0) + each.length for each in seen if not each.is_left_out)
        if stream.duration:  # frames that are shown in another order than stored state the lengths of others
            end = min(end, ticks[0] + stream.duration)
        elif file.format.name == MATROSKA and file.duration and is_whole_matroska(path):  # it states lengths of tracks
            seconds = min(Fraction(_own_length(stream) or 0), Fraction(file.duration, 1_000_000))
            end = max(end, int(seconds / stream.time_base))
        if _is_cut_off(file, stream, ticks, end):
            raise DataError(f"the video {_name(path)} is cut off.")
        width, height = stream.codec_context.width, stream.codec_context.height
        if not 0 < width * height <= MOST_PIXELS:
            raise DataError(f"the video {_name(path)} has frames of {width} x {height} pixels.")
        unsure = pieces.begins or file.format.name in STATE_DECODING and stream.codec_context.has_b_frames
        by_order = pieces.are_guessed or bool(unsure) and not _have_times(path, ticks)
        is_mirrored = (file.format.name != MOV or states_matrix(path)) and _is_mirrored(path)
        last = max(0, end - ticks[-1])
        return FrameIndex(ticks, keys, Fraction(stream.time_base), width, height, by_order, last, is_mirrored)


class _Seen(NamedTuple):
    """What a packet states of its frame: when and how long it is shown, and whether an edit list leaves it out.

    Where a second edit does not begin at a key frame, the packets from the key frame before it come again, left out, at times
    before the end of the first edit.
    """

    time: int | None
    length: int
    is_key: bool
    is_left_out: bool
    is_damaged: bool


class _Pieces:
    """The times of a file that may be several recordings in a row, each with times of its own.

    A recording that begins again follows the one before it by the step of that one's last packets, and after all of its frames.
    begins: where one does, as (number of the packet, its position in the file in bytes). are_guessed: FFmpeg derives times
    from those before them, since the file does not state the time of each frame; after a seek it derives other ones.
    """

    def __init__(self, of_frames: bool) -> None:
        """of_frames: the file is a stream in which packets may hold several frames, and state the time of the first one."""
        self.are_guessed = False
        self._of_frames = of_frames
        self.begins: list[tuple[int, int]] = []
        self._count = 0
        self._shift = 0
        self._decoded: int | None = None
        self._shown = 0
        self._step = 0

    def time_of(self, packet: Any) -> int | None:
        """When a packet is shown, in ticks of the whole file."""
        pts, dts = packet.pts, packet.dts
        self.are_guessed |= self._of_frames and packet.pos is None
        if dts is not None:
            if self._decoded is not None and dts + self._shift < self._decoded:
                after = self._decoded if pts is None else max(self._decoded, self._shown + dts - pts)
                self._shift = after + self._step - dts
                self.begins.append((self._count, packet.pos))
            if self._decoded is not None:
                self._step = dts + self._shift - self._decoded
            self._decoded = dts + self._shift
        self._count += 1
        if pts is None:
            return None
        self._shown = max(self._shown, pts + self._shift)
        return int(pts + self._shift)


def _have_times(path: str, ticks: Sequence[int]) -> bool:
    """Whether decoded frames have the times that the packets state. Decodes the whole file.

    AVI and ASF state when a frame is decoded, not when it is shown; recordings in a row have the same times. DataError if there
    are not as many frames as times.
    """
    with _opened(path) as (file, stream):
        found = [frame.pts for frame in file.decode(stream)]
    if len(found) != len(ticks):
        what = f"the video {_name(path)} gives {len(found)} frames for {len(ticks)} times."
        raise DataError(what, hint=REPACK)
    return found == list(ticks)


REPACK = "Pack it again: ffmpeg -i OLD -c copy NEW.mp4"


def frames_at(
    path: str, ticks: Sequence[int], keys: Sequence[int], numbers: Sequence[int] | None = None
) -> Iterator[Image]:
    """The frame of each tick, upright, as an RGB picture. keys: of each tick the key frame from which it is decoded.

    ticks: rising. numbers: of the frames in the file, from 0, where only their order tells which one is which
    (`FrameIndex.by_order`); all frames before them are then decoded, too.
    DataError if a frame can't be decoded, or the decoder gives none with this time.
    """
    with _opened(path) as (file, stream):
        found = _by_time(file, stream, ticks, keys) if numbers is None else _by_order(file, stream, numbers)
        for tick, now in zip(ticks, found, strict=True):
            if now is None:
                raise DataError(f"the video {_name(path)} gives no frame at {float(tick * stream.time_base):.3f} s.")
            if now.is_corrupt:
                raise DataError(f"the video {_name(path)} is damaged at {float(tick * stream.time_base):.3f} s.")
            yield _upright(now)


def _upright(frame: Any) -> Image:
    """A decoded frame as it is shown: turned and mirrored by the matrix that the file states, as ffmpeg does it."""
    from PIL.Image import Transpose

    picture: Image = frame.to_image()
    a, b, c, d = _matrix(frame)
    if not (b or c):
        across, down = a < 0, d < 0
    elif not (a or d):
        picture = picture.transpose(Transpose.TRANSPOSE)
        across, down = c < 0, b < 0
    else:  # by another angle
        return picture.rotate(frame.rotation, expand=True) if frame.rotation else picture
    if across and down:
        return picture.transpose(Transpose.ROTATE_180)
    if across or down:
        return picture.transpose(Transpose.FLIP_LEFT_RIGHT if across else Transpose.FLIP_TOP_BOTTOM)
    return picture


def _matrix(frame: Any) -> tuple[int, int, int, int]:
    """(a, b, c, d) of a frame's matrix: a point (x, y) is shown at (a * x + c * y, b * x + d * y) before it is moved.

    Numbers that are small beside the largest one are 0.
    """
    stated = frame.side_data.get("DISPLAYMATRIX")
    if stated is None or len(bytes(stated)) != 36:
        return 1, 0, 0, 1
    numbers = struct.unpack("=9i", bytes(stated))
    a, b, c, d = (numbers[place] for place in (0, 1, 3, 4))
    least = max(map(abs, (a, b, c, d))) / 100
    a, b, c, d = (number if abs(number) > least else 0 for number in (a, b, c, d))
    return a, b, c, d


def _is_mirrored(path: str) -> bool:
    """Whether the first frame that can be decoded states a matrix that mirrors it."""
    with suppress(DataError), _opened(path) as (file, stream):
        if (frame := next(_decoded(file, stream), None)) is not None:
            a, b, c, d = _matrix(frame)
            return a * d - b * c < 0
    return False


def _by_time(file: object, stream: object, ticks: Sequence[int], keys: Sequence[int]) -> Iterator[Any]:
    """The decoded frame of each tick; None for one that the decoder does not give."""
    decoder: Any = iter(())
    now: Any = None
    for tick, key in zip(ticks, keys, strict=True):
        if now is not None and now.pts is not None and key <= now.pts:
            now = _advanced(decoder, now, tick)
        if now is None or now.pts != tick:
            decoder, now = _decoder_at(file, stream, key, tick, first=now is None)
        yield now if now is not None and now.pts == tick else None


def _advanced(decoder: Iterator[object], now: Any, tick: int) -> Any:
    """The first decoded frame from `now` on that is not before a tick, or that has no time. None after the last one."""
    while now is not None and now.pts is not None and now.pts < tick:
        now = next(decoder, None)
    return now


def _by_order(file: Any, stream: Any, numbers: Sequence[int]) -> Iterator[Any]:
    """The decoded frames with these numbers; None for one that the decoder does not give."""
    decoder = file.decode(stream)
    at = -1
    for number in numbers:
        yield next(islice(decoder, number - at - 1, None), None)
        at = number


def _decoder_at(file: Any, stream: Any, key: int, tick: int, first: bool) -> tuple[object, object]:
    """(a decoder, its frame of a tick). The frame is another one, or None, where the file does not give it.

    first: nothing has been read from the file yet; it is then read from its beginning if the key frame is its first one.

    Earlier times are tried, too, and at last the beginning: in an MPEG-TS a seek goes to the key frame after the time that it is
    given, in an MPEG-PS frames after a seek may have no times, and a recovery point of H.264 counts as a key frame, but needs the
    frames before it (intra refresh).
    """
    decoder, frame = _decoded(file, stream), None
    if first:
        frame = next(decoder, None)
        if frame is not None and frame.pts is not None and key <= frame.pts:
            frame = _advanced(decoder, frame, tick)
            if frame is not None and frame.pts == tick:
                return decoder, frame
    second = int(1 / stream.time_base)
    for start in (key, key - 1, key - second, key - 10 * second, stream.start_time or 0):
        file.seek(start, stream=stream)
        decoder, error = _decoded(file, stream), None
        try:
            frame = _advanced(decoder, next(decoder, None), tick)
        except _av().error.FFmpegError as undecodable:
            frame, error = None, undecodable
        if frame is not None and frame.pts == tick:
            break
    if error is not None:
        raise error
    return decoder, frame


def _decoded(file: object, stream: object) -> Iterator[Any]:
    """The frames from the next key frame on. What stands before it can't be decoded.

    Nor can its leading frames, which come after it and are shown before it: in an open group of pictures they refer to the
    group before. No later frame refers to them, and whoever wants one begins at the key frame before it. From the second key
    frame on all can be decoded, also where it is shown before the first one (the packets before a second edit).
    """
    keys: list[object] = []
    for packet in _packets(file, stream):
        if packet.is_keyframe and len(keys) < 2:
            keys.append(packet.pts)
        is_leading = len(keys) == 1 and None not in (packet.pts, keys[0]) and packet.pts < keys[0]
        if keys and not is_leading:
            yield from packet.decode()


def _is_cut_off(file: Any, stream: Any, ticks: Sequence[int], end: int) -> bool:
    """Whether a file ends half a second or more before the length that it states. end: of its last frame, in ticks.

    Sound may be longer than the pictures. Subtitles may be, too, and then say nothing: the length is that of the pictures.
    """
    if file.format.name not in STATE_THEIR_LENGTH or not file.duration or len(ticks) < 2:
        return False
    widest = max(later - earlier for earlier, later in zip(ticks, ticks[1:], strict=False))
    missing = max(0.5, 2 * float(widest * stream.time_base))
    stated, shown = file.duration / 1_000_000, float(end * stream.time_base)
    if shown > stated - missing:
        return False
    with _opened(file.name) as (again, _):
        ends, said = [0.0], [0.0]
        for packet in again.demux():
            if packet.pts is not None:
                length = packet.duration or 0 if packet.stream.type == "subtitle" else 0
                (said if length else ends).append(float((packet.pts + length) * packet.time_base))
    if max(ends) > stated - missing:
        return False
    if not file.streams.subtitles:
        return True
    own = _own_length(stream)
    if own is None:  # known only as that of the whole file
        return max(said) < stated - missing or not is_whole_matroska(file.name)
    return shown < own - missing


def _own_length(stream: Any) -> float | None:
    """The length of a stream in seconds as its file states it; None if it states only that of all streams."""
    if stream.duration:
        return float((stream.duration + (stream.start_time or 0)) * stream.time_base)
    for name, text in stream.metadata.items():  # Matroska: DURATION, or DURATION-eng
        if name.upper().startswith("DURATION") and (clock := re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", text)):
            return 3600 * int(clock[1]) + 60 * int(clock[2]) + float(clock[3])
    return None


def _is_cut_gif(packet: bytes) -> bool:
    """Whether the blocks of a GIF's frame end before their end is stated; FFmpeg fills the rest with what it has."""

    def table(flags: int) -> int:
        return 3 << (flags & 7) + 1 if flags & 0x80 else 0

    try:
        at = 13 + table(packet[10]) if packet[:3] == b"GIF" else 0
        while at < len(packet) and packet[at] != 0x3B:
            at += 2 if packet[at] == 0x21 else 11 + table(packet[at + 9])  # an extension, or a picture
            while size := packet[at]:
                at += 1 + size
            at += 1
    except IndexError:
        return True
    return at > len(packet)


TS_PACKET = 188


def _packets(file: Any, stream: Any) -> Iterator[Any]:
    """The packets of a stream; of an MPEG-TS that ends in the middle of a frame without that frame.

    Decoders may give a picture for it that is not the one that was recorded. No other frame refers to it.
    """
    if file.format.name != "mpegts" or not _ends_in_a_frame(file.name, stream.id):
        yield from file.demux(stream)
        return
    held = None
    for packet in file.demux(stream):
        if packet.size:
            if held is not None:
                yield held
            held = packet
        else:  # the last one, which has the decoder give what it holds back
            yield packet


def _ends_in_a_frame(path: str, pid: int, end: int | None = None) -> bool:
    """Whether an MPEG-TS ends in the middle of a frame of the stream with this number. end: of its bytes, by default the file's.

    The last packet of a frame is stuffed to its 188 bytes; only one frame in 184 fills it. Streams with other packets (192 bytes
    on Blu-ray) are not looked at.
    """
    with open(path, "rb") as source:
        size = (source.seek(0, os.SEEK_END) if end is None else end) // TS_PACKET * TS_PACKET
        for at in range(size - TS_PACKET, -1, -TS_PACKET):
            source.seek(at)
            packet = source.read(TS_PACKET)
            if packet[0] != 0x47:
                return False
            if (packet[1] & 0x1F) << 8 | packet[2] == pid:
                return not _is_stuffed(packet)
    return False


def _is_stuffed(packet: bytes) -> bool:
    """Whether a packet of 188 bytes has more in its adaptation field than what that states."""
    if not packet[3] & 0x20:
        return False
    length, flags = packet[4], packet[5]
    stated = 1 + 6 * (flags >> 4 & 1) + 6 * (flags >> 3 & 1) + (flags >> 2 & 1)
    return length == 0 or length > stated and not flags & 0x03


@contextmanager
def _opened(path: str) -> Iterator[tuple[Any, Any]]:
    """(the open file, its first video stream). What FFmpeg raises inside becomes a DataError."""
    av = _av()
    try:
        source = as_animated_png(os.path.abspath(path)) if is_webp(path) else os.path.abspath(path)
        with av.open(source, options={"format_whitelist": CONTAINERS}) as file:
            covers = av.stream.Disposition.attached_pic
            streams = [each for each in file.streams.video if each.codec_context and not each.disposition & covers]
            if not streams:
                sound = " It has sound: doc_to_audio takes it." if file.streams.audio else ""
                raise DataError(f"the file {_name(path)} has no video.{sound}")
            stream = streams[0]
            if file.format.name == MOV and _is_sequence(path):  # its cover is a stream, too
                stream = next((each for each in streams if each.frames > 1), stream)
            stream.codec_context.thread_count = 1
            stream.codec_context.options = {"err_detect": "explode"}
            yield file, stream
    except MMEvalError:
        raise
    except (av.error.FFmpegError, OSError, ValueError, RuntimeError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DataError(f"the video {_name(path)} can't be read: {reason}.") from error


def _is_sequence(path: str) -> bool:
    """Whether a file is a sequence of pictures (AVIF, HEIF), by the brands in its first bytes."""
    with suppress(OSError), open(path, "rb") as file:
        return bool(brands_of(file.read(LONGEST_BRANDS)) & {b"avis", b"msf1", b"hevc", b"hevx"})
    return False


def _name(path: str) -> str:
    return repr(os.path.basename(path)[:100])


def _av() -> Any:
    try:
        import av
    except ModuleNotFoundError as error:
        if error.name != "av":
            raise _broken(error) from error
        hint = "Install it: pip install 'mm-eval[video]'"
        raise ConfigError("a video is read with PyAV, which is not installed.", hint=hint) from error
    except (ImportError, OSError, AttributeError, RuntimeError, SystemError, TypeError, ValueError) as error:
        raise _broken(error) from error
    return av


def _broken(error: BaseException) -> ConfigError:
    """The error of a PyAV that is installed and can't be imported: a library is missing, or it was built for another Python."""
    hint = "Install it again: pip install --force-reinstall 'mm-eval[video]'"
    return ConfigError(f"a video is read with PyAV, whose installation is broken: {first_line(error)}.", hint=hint)
