"""Which picture files are sent to a server as they are stored, found without decoding them.

Such a picture is identified by `file_identity`: the digest of its file's bytes. Its file was walked to its end mark, so that a
file that was cut off is found before anything is sent, and every program shows the same pixels of it: it has no orientation, no
transparency, a single frame and 8 bits a channel. A file about which anything of this is in doubt is decoded.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from mm_eval.values.types import FILE_MARK

if TYPE_CHECKING:
    from PIL.Image import Image

MODES = ("RGB", "L", "1")
"""Modes of Pillow whose pixels are shown alike everywhere. Programs differ in how they turn CMYK into RGB."""

FRAMES = (0xC0, 0xC1, 0xC2)
"""The markers of JPEGs that every program reads: baseline, extended and progressive, Huffman coded."""
NOT_A_FRAME = (0xC4, 0xC8, 0xCC)
"""Markers in the range of frames that begin other segments."""
MOST_HELD = 16 * 2**20
"""Bytes of files that are held for the requests that send them in a moment."""
MOST_REMEMBERED = 2**16
"""Files of which it is remembered what was found."""

TURNING = (b"Raw profile type", b"XML:com.adobe.xmp")
"""How the texts of a PNG begin that may hold an orientation."""


def file_identity(picture: Image) -> str | None:
    """`FILE_MARK` and the sha256 of the file that a picture is sent as; None for one that is identified by its pixels.

    It is computed once for all pictures that share their pixels.
    """
    from mm_eval.data.shared import original_of

    original = original_of(picture)
    if original is None or original.content is None:
        return None
    root = original.root
    with root.lock:
        if root.file_digest is None:
            whole = root.walked or is_plain(original.content)
            root.file_digest = identity_of(original.content) if whole else ""
            if whole:
                HELD.put(root.file_digest, original.content)
        return root.file_digest or None


def is_sent_as_stored(picture: Image) -> bool:
    """Whether a picture has a `file_identity`. Nothing is digested."""
    from mm_eval.data.shared import original_of

    original = original_of(picture)
    if original is None or original.content is None or original.root.file_digest == "":
        return False
    return original.root.walked or is_plain(original.content)


def identity_of(content: bytes) -> str:
    """The identity of a file that is sent as it is stored. A file that is read again is not digested again (`_Found`)."""
    found = _FOUND.of(content)
    if found.identity is None:
        found.identity = FILE_MARK + hashlib.sha256(content).hexdigest()
    return found.identity


def is_plain(content: bytes) -> bool:
    """Whether a file is whole and is shown as it is stored, as far as that is known without decoding it.

    False for every file that must be decoded to know. What follows its end mark is not looked at. A file that is read again is
    not walked again, but for a JPEG, whose walk takes less time than to recognise the file.
    """
    if content.startswith(b"\xff\xd8"):
        return _is_plain(content)
    found = _FOUND.of(content)
    if found.plain is None:
        found.plain = _is_plain(content)
    return found.plain


class _Found:
    """What was found of a file; None before it was looked for."""

    __slots__ = ("identity", "plain")

    def __init__(self) -> None:
        self.identity: str | None = None
        self.plain: bool | None = None


class _Remembered:
    """What was found of files, by their length and Python's hash of their bytes.

    A run reads a picture up to four times: to choose how pictures are identified, for its request key, for the request and for
    the thumbnail. SHA-256 takes .41 ms for 140 kB without the processor's instructions for it, this hash of 64 bits .05 ms.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[int, int], _Found] = {}

    def of(self, content: bytes) -> _Found:
        """Two threads that come at the same time may each get one of their own, which costs time alone."""
        key = len(content), hash(content)
        if (found := self._found.get(key)) is None:
            if len(self._found) >= MOST_REMEMBERED:
                self._found.clear()
            found = self._found[key] = _Found()
        return found


_FOUND = _Remembered()


class HeldFiles:
    """The files whose identity was computed last, by it, so that a request need not open its pictures again.

    Several threads may use it.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most, self._bytes = most, 0
        self._files: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, identity: str, content: bytes) -> None:
        """Holds a file, and drops the oldest ones where there are too many bytes."""
        with self._lock:
            if identity not in self._files:
                self._files[identity] = content
                self._bytes += len(content)
            while self._bytes > self._most:
                self._bytes -= len(self._files.popitem(last=False)[1])

    def get(self, identity: str) -> bytes | None:
        """The file of an identity, where it is held."""
        return self._files.get(identity)


HELD = HeldFiles()


def _is_plain(content: bytes) -> bool:
    try:
        if content.startswith(b"\xff\xd8"):
            return _is_plain_jpeg(content)
        if content.startswith(b"\x89PNG\r\n\x1a\n"):
            return _is_plain_png(content)
        return content[:4] == b"RIFF" and content[8:12] == b"WEBP" and _is_plain_webp(content)
    except IndexError:  # the file ends in a header
        return False


def _is_plain_jpeg(content: bytes) -> bool:
    """By its segments up to the first scan, and the end mark behind it."""
    at, frames, exifs = 2, 0, 0
    while True:
        if content[at] != 0xFF:
            return False
        while content[at] == 0xFF:
            at += 1
        marker = content[at]
        size = content[at + 1] << 8 | content[at + 2]
        segment = content[at + 3 : at + 1 + size]
        if size < 2 or at + 1 + size > len(content):
            return False
        if 0xC0 <= marker <= 0xCF and marker not in NOT_A_FRAME:
            frames += 1
            if marker not in FRAMES or segment[0] != 8 or segment[5] not in (1, 3) or 0 in _sides(segment):
                return False
        elif marker == 0xE1:
            exifs += segment.startswith(b"Exif")
            if exifs > 1 or b"Orientation" in segment or segment.startswith(b"Exif") and _may_turn(segment):
                return False
        elif marker in (0xD8, 0xD9, 0xDC, 0xDE, 0xDF) or marker < 0xC0 or segment.startswith(b"MPF\0"):
            return False
        at += 1 + size
        if marker == 0xDA:  # coded data, and tables in it, have no such two bytes
            return frames == 1 and content.rfind(b"\xff\xd9", at) > 0  # from the end, where it mostly is


def _sides(frame: bytes) -> tuple[int, int]:
    return frame[1] << 8 | frame[2], frame[3] << 8 | frame[4]


def _may_turn(exif: bytes) -> bool:
    """Whether EXIF data may have an orientation in its first directory. True where the data is odd."""
    if not exif.startswith(b"Exif\0\0"):
        return True
    tiff = exif[6:]
    order = {b"II*\0": "little", b"MM\0*": "big"}.get(tiff[:4])
    if order is None:
        return True

    def number(at: int, size: int) -> int:
        if at + size > len(tiff):
            raise IndexError
        return int.from_bytes(tiff[at : at + size], "little" if order == "little" else "big")

    first = number(4, 4)
    tags = {number(first + 2 + 12 * entry, 2) for entry in range(number(first, 2))}
    return 0x0112 in tags or 700 in tags  # 700: XMP, which may have one, too


def _is_plain_png(content: bytes) -> bool:
    """By its chunks with their check sums up to IEND."""
    at, data = 8, False
    while True:
        size, kind = int.from_bytes(content[at : at + 4], "big"), content[at + 4 : at + 8]
        end = at + 8 + size
        if end + 4 > len(content) or zlib.crc32(memoryview(content)[at + 4 : end]) != int.from_bytes(
            content[end : end + 4], "big"
        ):
            return False
        if (kind == b"IHDR") != (at == 8):
            return False
        if kind == b"IHDR" and (
            content[at + 16] > 8 or content[at + 17] not in (0, 2)
        ):  # 16 bits, a palette, transparency
            return False
        if kind in (b"tRNS", b"acTL", b"eXIf", b"zxIf"):
            return False
        if kind in (b"tEXt", b"zTXt", b"iTXt") and content.startswith(TURNING, at + 8):
            return False
        data = data or kind == b"IDAT"
        if kind == b"IEND":
            return data
        at = end + 4


def _is_plain_webp(content: bytes) -> bool:
    """By its length and its chunks: one still picture without transparency and without metadata."""
    whole, at, pictures = 8 + int.from_bytes(content[4:8], "little"), 12, 0
    if whole > len(content):
        return False
    while at + 8 <= whole:
        kind, size = content[at : at + 4], int.from_bytes(content[at + 4 : at + 8], "little")
        if at + 8 + size > whole or kind in (b"ALPH", b"ANIM", b"ANMF", b"EXIF", b"XMP "):
            return False
        if kind == b"VP8L" and (content[at + 8] != 0x2F or content[at + 12] & 0x10):
            return False
        if kind == b"VP8X" and content[at + 8] & 0b00011110:
            return False
        pictures += kind in (b"VP8 ", b"VP8L")
        at += 8 + size + size % 2
    return pictures == 1
