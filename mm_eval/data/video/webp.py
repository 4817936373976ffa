"""Animated WebP as an animated PNG in memory, which has the same pixels and times: PyAV's FFmpeg does not decode the first."""

from __future__ import annotations

import io
import os
import struct
import zlib
from functools import lru_cache

MOST_PIXELS = 2**29
"""The most pixels of all frames together: 250 of full HD."""
UNTIMED = 100
"""Milliseconds of a frame without a duration, as browsers show it."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_SHOWN_WHOLE = b"\0\0"
"""A frame that is left as it is, and takes the place of the one before it."""


class _File(io.BytesIO):
    """The content of a file that has the name of another one."""

    def __init__(self, content: bytes, name: str) -> None:
        super().__init__(content)
        self.name = name


def is_webp(path: str) -> bool:
    """Whether a file is a WebP, by its first bytes."""
    try:
        with open(path, "rb") as file:
            head = file.read(12)
    except OSError:
        return False
    return head[:4] == b"RIFF" and head[8:] == b"WEBP"


def as_animated_png(path: str) -> io.BytesIO:
    """The frames of a WebP as a file that FFmpeg reads. Raises OSError and ValueError for one that is damaged or too large."""
    stat = os.stat(path)
    return _File(_content(path, stat.st_mtime_ns, stat.st_size), path)


@lru_cache(maxsize=2)
def _content(path: str, modified: int, size: int) -> bytes:
    """The bytes of the animated PNG; a file that changed is read again."""
    from PIL import Image

    with Image.open(path, formats=["WEBP"]) as picture:
        count = getattr(picture, "n_frames", 1)
        width, height = picture.size
        if count * width * height > MOST_PIXELS:
            raise ValueError(
                f"its {count} frames of {width} x {height} pixels are too many for a WebP; convert it to MP4"
            )
        chunks = [
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)),
            _chunk(b"acTL", struct.pack(">II", count, 0)),
        ]
        number = 0
        for place in range(count):
            try:
                picture.seek(place)
                pixels = picture.convert("RGBA").tobytes()
            except EOFError as error:
                raise OSError(f"frame {place} of {count} is missing") from error
            milliseconds = int(picture.info.get("duration") or UNTIMED)
            unit = 1000 if milliseconds < 2**16 else 10
            delay = struct.pack(">HH", min(milliseconds * unit // 1000, 2**16 - 1), unit)
            chunks.append(_chunk(b"fcTL", struct.pack(">IIIII", number, width, height, 0, 0) + delay + _SHOWN_WHOLE))
            rows = b"".join(b"\0" + pixels[at : at + 4 * width] for at in range(0, len(pixels), 4 * width))
            packed = zlib.compress(rows, 1)
            chunks.append(_chunk(b"fdAT", struct.pack(">I", number + 1) + packed) if place else _chunk(b"IDAT", packed))
            number += 2 if place else 1
    return b"".join((_SIGNATURE, *chunks, _chunk(b"IEND", b"")))


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
