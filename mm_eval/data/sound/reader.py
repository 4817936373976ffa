"""Reads sound with PyAV, which brings FFmpeg with it: the samples of the first stream of sound, in order, none of them held.

Encoder delay and padding are cut as FFmpeg cuts them: LAME's tag of an MP3, edit lists of an MP4, the pre-skip of Opus. PyAV is
imported here only, and only `CONTAINERS` are opened, from bytes or files: no playlist can name other files or addresses.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from mm_eval.data.sound.forms import Form
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

LOSSLESS = ("flac", "alac", "tta", "ape", "wavpack")
"""FFmpeg's names of the codecs, beside pcm_*, that give back the very samples that were written."""


def opened(source: str | IO[bytes], form: str = "") -> Any:
    """A context with the open file. form: FFmpeg's name of the format of bytes that do not state it."""
    av = _av()
    whitelist = {"format_whitelist": CONTAINERS}
    where = os.path.abspath(source) if isinstance(source, str) else source
    return av.open(where, options=whitelist, format=form or None, metadata_errors="replace")


def form_in(file: Any) -> Form:
    """The form of the sound of an open file. DataError if it has none."""
    stream = _stream(file)
    context = stream.codec_context
    name = str(context.name)
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


def read_all(file: Any) -> Iterator[Block]:
    """The samples of an open file from its beginning. DataError where the file is damaged or ends before its stated end."""
    stream = _stream(file)
    context = stream.codec_context
    context.options = {"err_detect": "crccheck+bitstream+buffer+explode"}
    context.thread_count = 1
    form = form_in(file)
    packets = 0
    for packet in file.demux(stream):
        if packet.is_corrupt:
            raise DataError("the sound is cut off or damaged.")
        packets += packet.size > 0
        for frame in packet.decode():
            if frame.sample_rate != form.rate or len(frame.layout.channels) != form.channels:
                raise DataError(
                    f"its sound changes from {form.rate} Hz and {form.channels} channels to {frame.sample_rate} Hz "
                    f"and {len(frame.layout.channels)}."
                )
            if frame.samples:
                yield _block(frame, form.channels)
    if stream.frames and packets < stream.frames:
        raise DataError(f"the sound is cut off: {packets:,} of {stream.frames:,} packets are there.")


def _block(frame: Any, channels: int) -> Block:
    """The samples of a frame: whole numbers from the highest bit of 32 down, or floats."""
    import numpy as np

    taken = frame.to_ndarray()
    kind = str(frame.format.name)
    rows: Any = taken.T if kind.endswith("p") else taken.reshape(-1, channels)
    if kind.startswith("u8"):
        return (rows.astype("i4") - 128) << 24  # type: ignore[no-any-return]
    if kind.startswith("s16"):
        return rows.astype("i4") << 16  # type: ignore[no-any-return]
    if kind.startswith(("s32", "flt", "dbl")):
        return np.ascontiguousarray(rows)
    raise DataError(f"its samples are of the kind {kind!r}, which is not read.")


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
