"""Where a file of sound says that it ends, so that one that was cut off is told from a shorter one. FFmpeg reads both alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, NamedTuple

EBML, SEGMENT = 0x1A45DFA3, 0x18538067
"""The elements of a Matroska before and around its content."""

LAST_PAGES = 2**17
"""The bytes at the end of an Ogg in which its last page begins: no page is longer than half of them."""


class Stated(NamedTuple):
    """What a file states. packets, samples: at least so many are there; 0 where it is not stated. fault: it was cut off."""

    packets: int = 0
    samples: int = 0
    fault: str = ""


def stated_end(file: IO[bytes], size: int, form: str) -> Stated:
    """What the bytes of a file state of its end. form: FFmpeg's name of its format."""
    file.seek(0)
    if form == "ogg":
        length = _end_of_ogg(file, size)
        return Stated(fault="the Ogg has no last page") if length is None else Stated(samples=length)
    if form in MISSING and (missing := MISSING[form](file, size)) > 0:
        return Stated(fault=f"{missing:,} of the bytes that it states are missing")
    if form == "mp3":
        return Stated(packets=_frames_of_mp3(file))
    if form == "flac":
        head = file.read(42)
        return Stated(samples=int.from_bytes(head[18:26], "big") & (2**36 - 1) if head[:4] == b"fLaC" else 0)
    return Stated()


def _end_of_ogg(file: IO[bytes], size: int) -> int | None:
    """The samples that end with the last page of an Ogg; None if it is not whole, or not the last one of its stream."""
    file.seek(max(0, size - LAST_PAGES))
    end = file.read()
    at = len(end)
    while (at := end.rfind(b"OggS", 0, at)) >= 0:
        if at + 27 <= len(end) and end[at + 4] == 0:
            count = end[at + 26]
            length = 27 + count + sum(end[at + 27 : at + 27 + count])
            if at + 27 + count > len(end) or at + length > len(end) or not end[at + 5] & 4:
                return None
            return max(0, int.from_bytes(end[at + 6 : at + 14], "little", signed=True))
    return None


def _missing_of_matroska(file: IO[bytes], size: int) -> int:
    """How many bytes a Matroska lacks of those that it states; 0 where a stream was written without a length."""
    at = 0
    while at < size:
        element, after = _number(file, at, keeps_mark=True)
        length, after = _number(file, after, keeps_mark=False)
        if element == SEGMENT:
            return 0 if length is None else max(0, after + length - size)
        if element is None or length is None:
            return 0
        at = after + length
    return 0


def _number(file: IO[bytes], at: int, keeps_mark: bool) -> tuple[int | None, int]:
    """(a number of variable length with or without the bit that marks its length, the place after it). None: not stated."""
    file.seek(at)
    first = file.read(1)
    if not first or not first[0]:
        return None, at + 1
    length = 9 - first[0].bit_length()
    value = int.from_bytes(first + file.read(length - 1), "big")
    if keeps_mark:
        return value, at + length
    value &= (1 << 7 * length) - 1
    return None if value == (1 << 7 * length) - 1 else value, at + length


def _missing_of_mp4(file: IO[bytes], size: int) -> int:
    """The same of an MP4 or a file of its family, whose boxes state their lengths; the last one may reach to the end."""
    at = 0
    while at + 8 <= size:
        file.seek(at)
        length = int.from_bytes(file.read(4), "big")
        file.seek(at + 8)
        length = int.from_bytes(file.read(8), "big") if length == 1 else length
        if length < 8:  # to the end, or no box
            return 0
        at += length
    return at - size


def _missing_of_w64(file: IO[bytes], size: int) -> int:
    """The same of a Sony Wave64, whose head states the length of all."""
    head = file.read(24)
    return int.from_bytes(head[16:24], "little") - size if head[:4] == b"riff" else 0


def _missing_of_caf(file: IO[bytes], size: int) -> int:
    """The same of a Core Audio file, whose chunk of samples may reach to the end."""
    at = 8
    while at + 12 <= size:
        file.seek(at + 4)
        length = int.from_bytes(file.read(8), "big", signed=True)
        if length < 0:
            return 0
        at += 12 + length
    return at - size


MISSING: Mapping[str, Callable[[IO[bytes], int], int]] = {
    "matroska,webm": _missing_of_matroska,
    "mov,mp4,m4a,3gp,3g2,mj2": _missing_of_mp4,
    "w64": _missing_of_w64,
    "caf": _missing_of_caf,
}
"""What gives the number of missing bytes of a file, by FFmpeg's name of its format."""


BIT_RATES = {
    1: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Thousand bits a second of layer 3, by the index in a frame's head from 1: of MPEG-1, and of MPEG-2 and 2.5."""


def bytes_of_mp3_frame(head: bytes) -> int:
    """The length that a frame of layer 3 states; 0 for another layer, and where no rate is stated."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return 0
    version, index, rate = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or index in (0, 15) or rate == 3:
        return 0
    is_first = version == 3
    kilobits = BIT_RATES[1 if is_first else 2][index - 1]
    hertz = (44_100, 48_000, 32_000)[rate] >> {3: 0, 2: 1, 0: 2}[version]
    return (144 if is_first else 72) * kilobits * 1000 // hertz + (head[2] >> 1 & 1)


def _frames_of_mp3(file: IO[bytes]) -> int:
    """The frames that the tag of Xing, LAME or libavcodec in an MP3 states; 0 without a tag."""
    head = file.read(10)
    at = 0
    if head[:3] == b"ID3" and len(head) == 10:
        at = 10 + (head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9])
    file.seek(at)
    frame = file.read(2048)
    start = frame.find(b"\xff")
    if start < 0:
        return 0
    for tag in (b"Xing", b"Info"):
        place = frame.find(tag, start, start + 200)
        if place >= 0 and len(frame) >= place + 12 and frame[place + 7] & 1:
            return int.from_bytes(frame[place + 8 : place + 12], "big")
    return 0
