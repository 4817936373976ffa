"""Files of a data set in zip and tar archives, found by name and read one at a time. Nothing is unpacked as a whole.

A member is named by one text, `ARCHIVE::MEMBER`. Its name inside the archive is never used as a path on this machine. The bytes
of a file that a row holds are read in the same way, as `::SHA256` (`path_of_bytes`).
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from mm_eval.data.data_files import state_of
from mm_eval.values.errors import DataError
from mm_eval.values.files import replacing

IN = "::"
"""Stands between the path of an archive and the name of a member."""

PACKED = re.compile(r"\.(zip|tar)$", re.IGNORECASE)
PART = re.compile(r"(.+\.(?:zip|tar))[._-](?:part[._-]?)?((?!gz|xz)[a-z]{2}|\d{1,4})$", re.IGNORECASE)
"""One of several files whose contents follow one another: test.tar.part.aa, test.tar.part0, test.zip.001."""
COMPRESSED = re.compile(r"\.(tar\.(gz|bz2|xz|zst)|tgz|tbz2?|txz|7z|rar)([._-].{1,8})?$", re.IGNORECASE)
"""Archives without places to begin at: the last member can be read only after all others."""

BLOCK = 2**18
"""How many bytes of joined parts, or of a member that is unpacked, are read at a time."""

FAILURES = (
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    NotImplementedError,
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
)


class ArchiveMember(NamedTuple):
    """A file in an archive. offset: of its bytes in a tar. check: the CRC in a zip."""

    name: str
    size: int
    offset: int | None = None
    check: int | None = None


def split(path: str) -> tuple[str, str] | None:
    """(archive, member) of a path that names a member. None for a file's own path."""
    archive, mark, member = path.partition(IN)
    return (archive, member) if mark and not os.path.exists(path) else None


def parts_of(archive: str) -> list[str]:
    """The files whose contents make an archive. archive: its path, or that of its first part without the part's ending.

    Errors: DataError if one of the parts is missing between others.
    """
    if os.path.isfile(archive):
        return [archive]
    folder, name = os.path.split(archive)
    found = {}
    for file in os.listdir(folder):
        if (match := PART.fullmatch(file)) and match[1] == name:
            found[_number(match[2])] = os.path.join(folder, file)
    numbers = sorted(found)
    if not numbers or numbers[0] > 1 or numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        raise DataError(f"parts of the archive {name!r} are missing.", hint="Download it again.")
    return [found[number] for number in numbers]


def _number(ending: str) -> int:
    """The place of a part: 7 for `007`, 1 for `ab`."""
    if ending.isdigit():
        return int(ending)
    place = 0
    for letter in ending.lower():
        place = 26 * place + ord(letter) - ord("a")
    return place


def stamp_of(archive: str) -> tuple[int, ...]:
    """The states of the files of an archive."""
    return tuple(each for part in parts_of(archive) for each in state_of(os.stat(part)))


def members_of(archive: str) -> dict[str, ArchiveMember]:
    """{name: member} of the regular files in an archive, from its directory or its headers. Links, devices and encrypted
    members are left out, and so are names that are absolute or contain `..`.

    Errors: DataError if the archive can't be read.
    """
    return _members(archive, stamp_of(archive))


@lru_cache(maxsize=256)
def _members(archive: str, stamp: tuple[int, ...]) -> dict[str, ArchiveMember]:
    try:
        with _file(archive) as file:
            found = _of_zip(file) if archive.lower().endswith(".zip") else _of_tar(file)
            return {member.name: member for member in found if is_safe(member.name)}
    except FAILURES as error:
        raise _unreadable(archive, error) from error


def _of_zip(file: IO[bytes]) -> Iterator[ArchiveMember]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if not info.is_dir() and kind in (0, stat.S_IFREG) and not info.flag_bits & 1:
                yield ArchiveMember(info.filename, info.file_size, None, info.CRC)


def _of_tar(file: IO[bytes]) -> Iterator[ArchiveMember]:
    with tarfile.open(fileobj=file, mode="r:") as archive:
        for info in archive:
            if info.isreg() and not info.issparse():
                yield ArchiveMember(info.name.removeprefix("./"), info.size, info.offset_data)


def is_safe(name: str) -> bool:
    """Whether a name is relative and stays in its folder."""
    return not (name.startswith(("/", "\\")) or ":" in name[:2] or "\0" in name or ".." in re.split(r"[/\\]", name))


_rows: dict[str, Callable[[], object]] = {}


def path_of_bytes(content: bytes, again: Callable[[], object]) -> str:
    """A path for the bytes of a file that a row holds. again: reads the row once more; the bytes do not stay in memory."""
    path = f"{IN}{hashlib.sha256(content).hexdigest()}"
    _rows[path] = again
    return path


def is_of_bytes(path: str) -> bool:
    """Whether a path is of bytes that a row holds."""
    return path in _rows


def _bytes_of(path: str) -> bytes:
    """The bytes of a path that `path_of_bytes` returned."""
    waiting = [_rows[path]()]
    while waiting:
        part = waiting.pop()
        if isinstance(part, bytes) and f"{IN}{hashlib.sha256(part).hexdigest()}" == path:
            return part
        if isinstance(part, Mapping | list):
            waiting += part.values() if isinstance(part, Mapping) else part
    raise DataError("the row of a video has changed during the run.")


@contextmanager
def open_member(path: str) -> Iterator[tuple[IO[bytes], int]]:
    """(a stream of the bytes of a member or of a row, their number). What fails inside becomes a DataError."""
    if is_of_bytes(path):
        in_row = _bytes_of(path)
        yield io.BytesIO(in_row), len(in_row)
        return
    archive, name = path.split(IN, 1)
    member = members_of(archive).get(name)
    if member is None:
        raise DataError(f"there is no file {name[-200:]!r} in the archive {os.path.basename(archive)!r}.")
    try:
        with _file(archive) as file:
            if member.offset is not None:
                file.seek(member.offset)
                yield file, member.size
                return
            with zipfile.ZipFile(file) as packed, packed.open(name) as content:
                yield content, member.size
    except FAILURES as error:
        raise _unreadable(archive, error, name) from error


def unpack(path: str, target: Path, make_room: Callable[[int], None] = lambda size: None) -> None:
    """Writes the bytes of a member or of a row to a file in one step. make_room: called before, with their number.

    Errors: DataError if they are damaged, or there is no room for them.
    """
    name, folder = repr(path[-120:]), str(target.parent)
    try:
        with replacing(target) as beside, open_member(path) as (source, size):
            make_room(size)
            if shutil.disk_usage(folder).free < size:
                raise DataError(f"there is no room for {name} ({size:,} bytes) in {folder!r}.")
            with beside.open("wb") as file:
                _copy(source, file, size)
    except OSError as error:
        raise DataError(f"{name} can't be copied to {folder!r}: {error.strerror or error}.") from error


def _copy(source: IO[bytes], target: IO[bytes], size: int) -> None:
    """Copies exactly `size` bytes."""
    left = size
    while left:
        block = source.read(min(left, BLOCK))  # of a zip's member the last block checks the CRC
        if not block:
            raise EOFError("it ends too early")
        try:
            target.write(block)
        except OSError as error:
            raise DataError(f"{target.name!r} can't be written: {error.strerror or error}.") from error
        left -= len(block)


def _unreadable(archive: str, error: Exception, name: str = "") -> DataError:
    what = f"{name[-200:]!r} in the archive" if name else "the archive"
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return DataError(f"{what} {os.path.basename(archive)!r} can't be read: {reason}.", hint="Download it again.")


@contextmanager
def _file(archive: str) -> Iterator[IO[bytes]]:
    parts = parts_of(archive)
    if len(parts) == 1:
        with open(parts[0], "rb") as file:
            yield file
        return
    with io.BufferedReader(Joined(parts), BLOCK) as joined:
        yield joined


class Joined(io.RawIOBase):
    """Files whose contents follow one another, read as one file."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths, self._at = paths, 0
        self._ends: list[int] = []
        for path in paths:
            self._ends.append((self._ends[-1] if self._ends else 0) + os.path.getsize(path))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        base = {0: 0, 1: self._at, 2: self._ends[-1]}[whence]
        if base + offset < 0:
            raise OSError("a position before the beginning of the file")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        number = next((n for n, end in enumerate(self._ends) if self._at < end), None)
        if number is None:
            return 0
        with open(self._paths[number], "rb") as file:
            file.seek(self._at - (self._ends[number - 1] if number else 0))
            read = file.readinto(buffer)
        self._at += read
        return read


def archives_below(folder: str, files: Iterable[str]) -> tuple[set[str], set[str]]:
    """(paths of the archives among the files of a folder, names of archives that can't be read one file at a time)."""
    readable, others = set(), set()
    for file in files:
        part = PART.fullmatch(file)
        if PACKED.search(file) or part:
            readable.add(os.path.join(folder, part[1] if part else file))
        elif COMPRESSED.search(file):
            others.add(file)
    return readable, others
