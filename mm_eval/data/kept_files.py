"""Videos and subtitles as files: their state, and copies of archives' members and of bytes in rows, kept within a limit.

The copies are in `$MM_EVAL_CACHE`, else `mm_eval` in the user's cache folder. Any of them may be deleted at any time. Several
processes may use them: a copy is put in place by a rename, and one that is in use is locked.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from mm_eval.data.archives import is_of_bytes, members_of, split, stamp_of, unpack
from mm_eval.data.data_files import state_of
from mm_eval.values.errors import ConfigError, DataError
from mm_eval.values.files import cache_folder

LIMIT = "MM_EVAL_VIDEO_CACHE_GB"
DEFAULT_GB = 20.0
LEFT_OVER = 3600
"""A temporary file that was not written to for so many seconds was left by a killed process."""


def exists(path: str) -> bool:
    """Whether there is a file, or an archive with a member, of this path."""
    if is_of_bytes(path) or os.path.isfile(path):
        return True
    inside = split(path)
    return inside is not None and inside[1] in members_of(inside[0])


def stamp(path: str) -> tuple[int, ...]:
    """The state of a file, or of the archive that it is in: with an equal one its bytes are the same. OSError if it is gone."""
    if is_of_bytes(path):
        return ()
    if (inside := split(path)) is not None:
        return stamp_of(inside[0])
    return state_of(os.stat(path))


@contextmanager
def local(path: str) -> Iterator[str]:
    """The path of a file with these bytes, which stays as it is inside the block. path: of a file, or `ARCHIVE::MEMBER`."""
    if not is_of_bytes(path) and split(path) is None:
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
        unpack(path, copy, partial(_make_room, repr(path[-120:])))


def _make_room(name: str, size: int) -> None:
    """Drops other copies to keep within the limit. DataError for a file that is larger."""
    limit = _limit()
    if size > limit:
        hint = f"Set {LIMIT} to more gigabytes."
        raise DataError(f"{name} has {size:,} bytes; the cache of videos may have {limit:,}.", hint=hint)
    drop_until(limit - size)


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
