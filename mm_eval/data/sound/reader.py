"""Reads sound with PyAV, which brings FFmpeg with it: the samples of the first stream of sound, in order, none of them held.

Encoder delay and padding are cut as FFmpeg cuts them: LAME's tag of an MP3, edit lists of an MP4, the pre-skip of Opus. PyAV is
imported here only, and only `CONTAINERS` are opened, from bytes or files: no playlist can name other files or addresses.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from mm_eval.data.sound.ends import bytes_of_mp3_frame, stated_end
from mm_eval.data.sound.forms import Form
from mm_eval.data.sound.wav import AT_ONCE, finite
from mm_eval.values.errors import ConfigError, DataError, MMEvalError, first_line

if TYPE_CHECKING:
    from mm_eval.data.sound.wav import Block

CONTAINERS = ",".join(
    (
        *("wav", "w64", "aiff", "au", "caf", "flac", "mp3", "aac", "ogg", "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"),
        *("amr", "gsm", "asf", "avi", "mpegts", "mpeg", "flv", "wv", "tta", "ape", "ac3"),
    )
)
"""FFmpeg's names of the formats that are opened."""

MOV, MATROSKA = "mov,mp4,m4a,3gp,3g2,mj2", "matroska,webm"
"""FFmpeg's names of two of them."""

OGG, LEAST_GAP = "ogg", 64
"""Another one, whose last page states the samples before it, and how many may be missing: no codec has shorter packets."""

DTYPES = {"u8": "u1", "s16": "<i2", "s32": "<i4", "flt": "<f4", "dbl": "<f8"}
"""NumPy's names of FFmpeg's kinds of samples."""

ANIMATIONS = (b"GIF8", b"\x89PNG")
"""How files of moving pictures begin that are no containers of FFmpeg's here."""

SOUGHT, FAR = ("flac",), 20
"""Those in which a later sample is found by a seek, exactly, and the seconds before it that are worth one."""

STATE_SAMPLES = ("w64", "aiff", "au", "caf", "wv", "tta", "ape")
"""Those whose head states the number of samples."""

LOSSLESS = ("flac", "alac", "tta", "ape", "wavpack")
"""FFmpeg's names of the codecs, beside pcm_*, that give back the very samples that were written."""


def opened(source: str | IO[bytes], form: str = "") -> Any:
    """A context with the open file. form: FFmpeg's name of the format of bytes that do not state it."""
    av = _av()
    whitelist = {"format_whitelist": CONTAINERS}
    where = os.path.abspath(source) if isinstance(source, str) else source
    return av.open(where, options=whitelist, format=form or None, metadata_errors="replace")


def library_versions() -> str:
    """The versions of FFmpeg's libraries that PyAV brings."""
    return repr(sorted(_av().library_versions.items()))


def has_pictures_alone(path: str) -> bool:
    """Whether a file has a stream of pictures and none of sound. Animations are no container that is opened, and have none."""
    av = _av()
    with open(path, "rb") as start:
        head = start.read(16)
        if head.startswith(ANIMATIONS) or head[:4] + head[8:12] == b"RIFFWEBP":
            return True
    try:
        with opened(path) as file:
            return bool(file.streams.video) and not file.streams.audio
    except (av.error.FFmpegError, OSError, ValueError):
        return False


def form_in(file: object) -> Form:
    """The form of the sound of an open file. DataError if it has none."""
    stream = _stream(file)
    context = stream.codec_context
    name = str(context.name)
    if context.format is None:
        raise DataError("the form of its samples is not known: it is cut off or damaged.")
    exact = name.startswith("pcm_") or name in LOSSLESS
    rate, channels = int(context.sample_rate or 0), int(context.channels or 0)
    if not rate or not channels:
        raise DataError("its sound states no rate or no channels.")
    return Form(rate, channels, _bits(name, str(context.format.name), context.extradata) if exact else 0, exact, name)


def _bits(codec: str, form: str, head: bytes | None) -> int:
    """The bits of a sample that is a whole number; 0 for floats."""
    if form.startswith(("flt", "dbl")):
        return 0
    if codec == "flac" and head and len(head) >= 34:
        return (int.from_bytes(head[10:18], "big") >> 36 & 31) + 1
    if codec == "alac" and head and len(head) >= 36:
        return head[17]
    if codec.startswith("pcm_s24"):
        return 24
    return {"u8": 8, "s16": 16}.get(form.removesuffix("p"), 32)


def _stream(file: Any) -> Any:
    streams = [each for each in file.streams.audio if each.codec_context]
    if not streams:
        raise DataError("it has no sound.")
    return streams[0]


def read_from(file: Any, source: IO[bytes], size: int, first: int) -> Iterator[tuple[int, Block]]:
    """(the number of its first sample, some samples) of an open file from a sample on, or from an earlier one.

    source, size: its bytes, for what FFmpeg does not tell of them. FFmpeg reads the same ones, so that they are read before.
    Errors: DataError where the file is damaged or ends before its stated end.
    """
    stream = _stream(file)
    context = stream.codec_context
    context.options = {"err_detect": "crccheck+bitstream+buffer+explode"}
    context.thread_count = 1
    form, kind = form_in(file), str(file.format.name)
    place = source.tell()
    stated = stated_end(source, size, kind)
    source.seek(place)
    if stated.fault:
        raise DataError(f"the sound is cut off: {stated.fault}.")
    packets = samples = begun = 0
    parts: list[object] = []
    behind: int | None = None
    is_sought = kind in SOUGHT and first > FAR * form.rate
    if is_sought:
        file.seek(first, stream=stream)
    for packet in file.demux(stream):
        if packet.is_corrupt or kind == "mp3" and 0 < packet.size < bytes_of_mp3_frame(bytes(packet)[:4]):
            raise DataError("the sound is cut off or damaged.")
        packets += packet.size > 0
        if behind is None:
            behind = _left_in(packet, context) if kind == MATROSKA else 0
        for frame in packet.decode():
            if is_sought and not samples:
                begun = samples = _exact_place(frame, form)
                if samples > first:
                    raise DataError("its data are damaged: its samples are not where it states them.")
            block = _block(frame, form)[behind:]
            behind -= frame.samples - len(block)
            parts.append(block)
            samples += len(block)
            if samples - begun >= AT_ONCE:  # frames are short: what is done with blocks costs more than the decoding
                yield begun, _joined(parts)
                begun, parts = samples, []
    if samples > begun:
        yield begun, _joined(parts)
    if kind == MOV and stream.frames and packets < stream.frames:
        raise DataError(f"the sound is cut off: {packets:,} of {stream.frames:,} packets are there.")
    if packets < stated.packets - 1:  # some encoders count the frame with the tag
        raise DataError(f"the sound is cut off: {packets:,} of {stated.packets:,} frames are there.")
    length = stated.samples
    if kind in STATE_SAMPLES and stream.duration:
        length = int(stream.duration * stream.time_base * form.rate)
        if kind == "caf" and not form.codec.startswith("pcm_"):  # counted in packets, of which the last is shorter
            length -= max(0, context.frame_size - 1)
    if kind == OGG:  # FFmpeg leaves pages out whose checksum is wrong
        start = _pre_skip(context) + max(0, stream.start_time or 0)
        length = length - start - LEAST_GAP if len(file.streams) == 1 else 0
    if samples < length:
        raise DataError(f"the sound is cut off: {samples:,} of {length:,} samples are there.")


def _joined(parts: list[Any]) -> Block:
    """Blocks that follow one another as one."""
    import numpy as np

    joined: Block = np.concatenate(parts)
    return joined


def _exact_place(frame: Any, form: Form) -> int:
    """The number of the first sample of a frame, by its time."""
    place = frame.pts * frame.time_base * form.rate if frame.pts is not None else None
    if place is None or place.denominator != 1:
        raise DataError("its data are damaged: its samples have no times.")
    return int(place)


def _left_in(first: Any, context: object) -> int:
    """The samples of Opus' pre-skip that FFmpeg 8 leaves at the beginning of a Matroska.

    It goes by the track's CodecDelay. FFmpeg 5.1 wrote it too short for sources below 48 kHz (2.17 ms of 6.5 at 16 kHz), and
    itself goes by the head of Opus, which is right.
    """
    skipped = 0
    for each in first.iter_sidedata():
        content = bytes(each)
        if str(each.data_type) == "skip_samples" and len(content) >= 4:
            skipped = int.from_bytes(content[:4], "little")
    return max(0, _pre_skip(context) - skipped)


def _pre_skip(context: Any) -> int:
    """The samples at the beginning of Opus that are no part of the sound; 0 for other codecs."""
    head = context.extradata
    if context.name != "opus" or not head or len(head) < 12 or head[:8] != b"OpusHead":
        return 0
    return int.from_bytes(head[10:12], "little")


def _block(frame: Any, form: Form) -> Block:
    """The samples of a frame: whole numbers from the highest bit of 32 down, or floats."""
    import numpy as np

    channels, found = form.channels, frame.layout.nb_channels
    if frame.sample_rate != form.rate or found != channels:
        was, now = f"{form.rate} Hz and {channels} channels", f"{frame.sample_rate} Hz and {found}"
        raise DataError(f"its sound changes from {was} to {now}.")
    kind = str(frame.format.name)
    dtype = DTYPES.get(kind.removesuffix("p"))
    if dtype is None:
        raise DataError(f"its samples are of the kind {kind!r}, which is not read.")
    planes, count = frame.planes, frame.samples  # a plane may be longer than its samples
    if kind.endswith("p"):
        rows: Any = np.stack([np.frombuffer(plane, dtype, count) for plane in planes], 1)
    else:
        rows = np.frombuffer(planes[0], dtype, count * channels).reshape(count, channels)
    if dtype == "u1":
        return (rows.astype("i4") - 128) << 24  # type: ignore[no-any-return]
    if dtype == "<i2":
        return rows.astype("i4") << 16  # type: ignore[no-any-return]
    return np.array(rows if dtype == "<i4" else finite(rows))  # a copy: the frame's memory is used again


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turns what FFmpeg raises into a DataError that names the clip. name: of its file; empty where it has none."""
    shown = f"the sound {os.path.basename(name)[-100:]!r}" if name else "a sound"
    try:
        yield
    except DataError as error:
        if type(error) is not DataError or error.what.startswith(shown):
            raise
        raise DataError(f"{shown} can't be read: {error.what}", where=error.where, hint=error.hint) from error
    except MMEvalError:
        raise
    except Exception as error:
        kind = type(error).__module__
        if not (isinstance(error, (OSError, ValueError, RuntimeError, MemoryError)) or kind.startswith("av")):
            raise
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if kind.startswith("av") and isinstance(
            error, (EOFError, PermissionError)
        ):  # FFmpeg's word for a frame it can't read
            reason = "its data are damaged"
        raise DataError(f"{shown} can't be read: {reason}.") from error


def _av() -> Any:
    try:
        import av
    except ModuleNotFoundError as error:
        if error.name != "av":
            raise _broken(error) from error
        hint = "Install it: pip install 'mm-eval[audio]'"
        raise ConfigError("sound other than WAV is read with PyAV, which is not installed.", hint=hint) from error
    except (ImportError, OSError, AttributeError, RuntimeError, SystemError, TypeError, ValueError) as error:
        raise _broken(error) from error
    return av


def _broken(error: BaseException) -> ConfigError:
    hint = "Install it again: pip install --force-reinstall 'mm-eval[audio]'"
    return ConfigError(f"sound is read with PyAV, whose installation is broken: {first_line(error)}.", hint=hint)
