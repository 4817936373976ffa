"""Files that are read in parts: their state, and copies of archives' members and of bytes in rows, kept within a limit.

The copies are in `$MM_EVAL_CACHE`, else `mm_eval` in the user's cache folder. Any of them may be deleted at any time. Several
processes may use them: a copy is put in place by a rename, and one that is in use is locked.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mm_eval.data.archives import IN, members_of, open_member, split, stamp_of
from mm_eval.data.data_files import state_of
from mm_eval.values.errors import ConfigError, DataError
from mm_eval.values.files import cache_folder, replacing

LIMIT = "MM_EVAL_VIDEO_CACHE_GB"
DEFAULT_GB = 20.0
BLOCK = 2**20
LEFT_OVER = 3600
"""A temporary file that was not written to for so many seconds was left by a killed process."""

_bytes_of_rows: dict[str, Callable[[], object]] = {}


def path_of_bytes(content: bytes, again: Callable[[], object]) -> str:
    """A path for the bytes of a file that stand in a row. again: reads the row once more; the bytes do not stay in memory."""
    path = f"{IN}{hashlib.sha256(content).hexdigest()}"
    _bytes_of_rows[path] = again
    return path


def _again(path: str) -> bytes:
    """The bytes of a path that `path_of_bytes` returned."""
    waiting = [_bytes_of_rows[path]()]
    while waiting:
        part = waiting.pop()
        if isinstance(part, bytes) and f"{IN}{hashlib.sha256(part).hexdigest()}" == path:
            return part
        if isinstance(part, Mapping | list):
            waiting += part.values() if isinstance(part, Mapping) else part
    raise DataError("the row of a video has changed during the run.")


def is_of_bytes(path: str) -> bool:
    """Whether a path is of bytes that stand in a row."""
    return path in _bytes_of_rows


def exists(path: str) -> bool:
    """Whether there is a file, or an archive with a member, of this path."""
    if is_of_bytes(path) or os.path.isfile(path):
        return True
    inside = split(path)
    return inside is not None and inside[1] in members_of(inside[0])


def stamp(path: str) -> tuple[int, ...]:
    """The state of a file, or of the archive that it is in: with an equal one its bytes are the same. OSError if it is gone."""
    if path in _bytes_of_rows:
        return ()
    if (inside := split(path)) is not None:
        return stamp_of(inside[0])
    return state_of(os.stat(path))


@contextmanager
def local(path: str) -> Iterator[str]:
    """The path of a file with these bytes, which stays as it is inside the block. path: of a file, or `ARCHIVE::MEMBER`."""
    if path not in _bytes_of_rows and split(path) is None:
        yield path
        return
    state = stamp(path)
    copy = _copies() / hashlib.sha256(json.dumps([path, state]).encode()).hexdigest()[:40]
    while True:
        with suppress(FileNotFoundError), open(copy, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_SH)
            if _is_at(held, copy):  # else it was dropped before it was locked
                with suppress(OSError):
                    os.utime(copy)
                yield str(copy)
                return
        put(path, copy, bounded=True)


def put(path: str, target: Path, bounded: bool = False) -> None:
    """Writes the bytes of a member to a file in one step. bounded: other copies are dropped first to keep within the limit.

    Errors: DataError if the member is damaged, is too large, or there is no room for it.
    """
    content = _again(path) if path in _bytes_of_rows else None
    name = repr(path[-120:])
    try:
        with replacing(target) as beside:
            if content is not None:
                _make_room(target, len(content), name, bounded)
                beside.write_bytes(content)
            else:
                with open_member(path) as (source, size):
                    _make_room(target, size, name, bounded)
                    with beside.open("wb") as file:
                        _copy(source, file, size)
    except OSError as error:
        raise DataError(f"{name} can't be copied to {str(target.parent)!r}: {error.strerror or error}.") from error


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


def _make_room(target: Path, size: int, name: str, bounded: bool) -> None:
    if bounded:
        limit = _limit()
        if size > limit:
            hint = f"Set {LIMIT} to more gigabytes."
            raise DataError(f"{name} has {size:,} bytes; the cache of videos may have {limit:,}.", hint=hint)
        drop_until(limit - size)
    if shutil.disk_usage(target.parent).free < size:
        raise DataError(f"there is no room for {name} ({size:,} bytes) in {str(target.parent)!r}.")


def drop_until(limit: int) -> None:
    """Deletes copies, those that were not used for the longest time first, until the others have at most `limit` bytes."""
    found = []
    with suppress(FileNotFoundError), os.scandir(_copies()) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                state = entry.stat()
                if entry.name.endswith(".tmp") and time.time() - state.st_mtime > LEFT_OVER:
                    os.unlink(entry.path)
                else:
                    found.append((state.st_mtime_ns, state.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        if not path.endswith(".tmp"):
            with suppress(OSError), open(path, "rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while it is in use
                os.unlink(path)
                total -= size


def _is_at(held: IO[bytes], path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(held.fileno()), os.stat(path))
    return False


def _copies() -> Path:
    return cache_folder() / "videos" / "files"


def _limit() -> int:
    text = os.environ.get(LIMIT, "")
    try:
        gigabytes = float(text or DEFAULT_GB)
    except ValueError:
        gigabytes = 0.0
    if not gigabytes > 0:
        raise ConfigError(f"{LIMIT}={text!r} is not a number of gigabytes.")
    return int(min(gigabytes, 1e9) * 10**9)
