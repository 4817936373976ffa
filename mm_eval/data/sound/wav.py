"""WAV files of whole numbers and of floats, read and written without a decoder."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from mm_eval.data.sound.forms import Form
from mm_eval.values.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Block = NDArray[np.int32] | NDArray[np.float32] | NDArray[np.float64]
    """Samples of each channel, a row for each moment: whole numbers from the highest bit of 32 down, or floats around 1."""

PCM, FLOAT, EXTENSIBLE = 1, 3, 0xFFFE
"""The tags of what this file reads; a file with another one is read with PyAV."""

AT_ONCE = 2**16
"""Moments that are read at a time."""

LOUDEST = 1e30
"""Floats beyond are no samples, but damaged ones. Those of float files may well be above 1."""

MOST_CHUNKS = 10_000
"""Chunks before the samples. A file of zeros would be one for each 8 bytes."""

UNSTATED = 0xFFFFFFFF
"""The length of a stream that was written without an end that is known."""


class Wav(NamedTuple):
    """A WAV file: its form, where its samples begin, how many bytes a moment takes, and how many moments there are (`length`)."""

    form: Form
    start: int
    width: int
    length: int


def read_head(file: IO[bytes], size: int) -> Wav | None:
    """What a WAV file says of itself; None for another file, and for a WAV of another codec. size: of the file, in bytes.

    Errors: DataError for a file that ends before the samples that it states.
    """
    head = file.read(12)
    if head[:4] not in (b"RIFF", b"RF64") or head[8:12] != b"WAVE":
        return None
    described: tuple[int, ...] | None = None
    long: int | None = None
    at = 12
    for _ in range(MOST_CHUNKS):
        if at + 8 > size:
            break
        file.seek(at)
        name, length = struct.unpack("<4sI", file.read(8))
        at += 8
        if name == b"ds64" and length >= 24:
            long = struct.unpack("<QQQ", _whole(file, 24))[1]
        elif name == b"fmt " and length >= 16:
            described = _described(_whole(file, min(length, 40)))
        elif name == b"data":
            length = _length(length, long, size - at)
            if length > size - at:
                what = f"the WAV states {length:,} bytes of samples and has {size - at:,}"
                raise DataError(f"the sound is cut off: {what}.")
            return None if described is None else _found(described, at, length)
        at += length + length % 2
    raise DataError("the sound is cut off: the WAV has no samples.")


def _whole(file: IO[bytes], count: int) -> bytes:
    """So many bytes of the head. DataError if the file ends before."""
    found = file.read(count)
    if len(found) < count:
        raise DataError("the sound is cut off: the WAV ends in its head.")
    return found


def _length(stated: int, long: int | None, left: int) -> int:
    """The bytes of samples. A stream states none, or more than a file can have: it ends where its file ends."""
    if stated == UNSTATED:
        return left if long is None else long
    return left if stated == 0 and left else stated


def _described(fields: bytes) -> tuple[int, ...] | None:
    tag, channels, rate, _, width, bits = struct.unpack("<HHIIHH", fields[:16])
    valid = bits
    if tag == EXTENSIBLE and len(fields) >= 40:
        valid, tag = struct.unpack("<H", fields[18:20])[0] or bits, struct.unpack("<H", fields[24:26])[0]
    fits = (tag == PCM and bits in (8, 16, 24, 32)) or (tag == FLOAT and bits in (32, 64))
    if not fits or not channels or not rate or width != channels * bits // 8:
        return None
    return tag, channels, rate, width, bits, min(valid, bits) if tag == PCM else 0


def _found(described: tuple[int, ...], at: int, length: int) -> Wav:
    tag, channels, rate, width, bits, valid = described
    names = {8: "pcm_u8", 16: "pcm_s16le", 24: "pcm_s24le", 32: "pcm_s32le"}
    codec = names[bits] if tag == PCM else f"pcm_f{bits}le"
    return Wav(Form(rate, channels, valid, True, codec), at, width, length // width)


def read_blocks(file: IO[bytes], wav: Wav, start: int, end: int) -> Iterator[Block]:
    """The samples from one moment to before another one."""
    import numpy as np

    file.seek(wav.start + start * wav.width)
    left, codec = end - start, wav.form.codec
    while left > 0:
        taken = file.read(min(left, AT_ONCE) * wav.width)
        moments = len(taken) // wav.width
        if not moments:
            raise DataError("the sound is cut off.")
        left -= moments
        taken = taken[: moments * wav.width]
        if codec == "pcm_u8":
            found: Any = (np.frombuffer(taken, "u1").astype("i4") - 128) << 24
        elif codec == "pcm_s16le":
            found = np.frombuffer(taken, "<i2").astype("i4") << 16
        elif codec == "pcm_s24le":
            wide = np.zeros((len(taken) // 3, 4), "u1")
            wide[:, 1:] = np.frombuffer(taken, "u1").reshape(-1, 3)
            found = wide.reshape(-1).view("<i4")
        elif codec == "pcm_s32le":
            found = np.frombuffer(taken, "<i4")
        else:
            found = finite(np.frombuffer(taken, "<f4" if codec == "pcm_f32le" else "<f8"))
        yield found.reshape(moments, wav.form.channels)


def finite(samples: Any) -> object:
    """The samples. DataError if one is no number that a model can be given."""
    import numpy as np

    if not (np.abs(samples) < LOUDEST).all():
        raise DataError("its data are damaged: some samples are not numbers.")
    return samples


def head_of(rate: int, channels: int, bits: int, count: int, is_float: bool = False) -> bytes:
    """The first bytes of a WAV. bits: of a stored sample. DataError for more than a WAV can hold."""
    width = channels * bits // 8
    size = count * width
    if size > 2**32 - 64:
        raise DataError(
            f"the clip has {size:,} bytes of samples; a WAV has at most 4 GiB.", hint="Take a segment of it."
        )
    tag = FLOAT if is_float else PCM
    described = struct.pack("<HHIIHH", tag, channels, rate, rate * width, width, bits)
    if channels > 2 or bits > 16:
        guid = struct.pack("<H", tag) + b"\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
        described = struct.pack("<HHIIHH", EXTENSIBLE, channels, rate, rate * width, width, bits)
        described += struct.pack("<HHI", 22, bits, 0) + guid
    body = b"WAVE" + struct.pack("<4sI", b"fmt ", len(described)) + described + struct.pack("<4sI", b"data", size)
    return struct.pack("<4sI", b"RIFF", len(body) + size + size % 2) + body


def stored(block: Block, bits: int, is_float: bool = False) -> bytes:
    """A block as a WAV has it. bits: 8, 16, 24 or 32.

    Whole numbers keep their highest bits. Floats are rounded to the nearest whole number, a half to the even one, and what is
    beyond the range becomes its end.
    """
    import numpy as np

    if is_float:
        return block.astype("<f4").tobytes()
    if block.dtype.kind == "f":
        scale = 2.0 ** (bits - 1)
        whole = np.clip(np.rint(block.astype("f8") * scale), -scale, scale - 1).astype("i8")
        left = (whole << (32 - bits)).astype("<i4")
    else:
        left = block.astype("<i4", copy=False)
    if bits == 8:
        return ((left >> 24) + 128).astype("u1").tobytes()
    if bits == 16:
        return (left >> 16).astype("<i2").tobytes()
    if bits == 24:
        return np.ascontiguousarray(left).view("u1").reshape(-1, 4)[:, 1:].tobytes()
    return left.tobytes()
