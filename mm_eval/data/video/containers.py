"""What the bytes of a container state and PyAV does not tell: matrices of an MP4, the size of a Matroska."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

UPRIGHT = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
"""The matrix that leaves a frame as it is stored."""

MATRIX = {b"mvhd": (36, 48), b"tkhd": (40, 52)}
"""The boxes with a matrix, and its offset in their versions 0 and 1."""


def states_matrix(path: str) -> bool:
    """Whether an MP4, or a file of its family, may state that its frames are turned or mirrored."""
    try:
        with open(path, "rb") as file:
            matrices = list(_matrices(file, 0, os.path.getsize(path)))
    except (OSError, struct.error):
        return True
    return not matrices or any(matrix != UPRIGHT for matrix in matrices)


def _matrices(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """The matrices of the movie and of its tracks."""
    while start + 8 <= end:
        file.seek(start)
        size, name = struct.unpack(">I4s", file.read(8))
        head = 8
        if size == 1:
            (size,), head = struct.unpack(">Q", file.read(8)), 16
        size = end - start if size == 0 else size
        if size < head:
            raise struct.error("a box is smaller than its head")
        if name in (b"moov", b"trak"):
            yield from _matrices(file, start + head, min(start + size, end))
        elif name in MATRIX:
            content = file.read(100)
            at = MATRIX[name][content[:1] == b"\1"]
            yield content[at : at + 36]
        start += size


def is_whole_matroska(path: str) -> bool:
    """Whether a Matroska has all the bytes that it states to have."""
    with suppress(OSError, IndexError), open(path, "rb") as file:
        while True:
            element, size = _number(file, keeps_mark=True), _number(file, keeps_mark=False)
            file.seek(size, os.SEEK_CUR)
            if element == SEGMENT:
                return file.tell() <= os.path.getsize(path)
    return False


SEGMENT = 0x18538067
"""The element of a Matroska that holds all others but its head."""


def _number(file: BinaryIO, keeps_mark: bool) -> int:
    """A number of variable length, with or without the bit that marks its length. IndexError at the end of the file."""
    first = file.read(1)[0]
    length = 9 - first.bit_length()
    value = first if keeps_mark else first & (0xFF >> length)
    return int.from_bytes(bytes([value]) + file.read(length - 1), "big")
