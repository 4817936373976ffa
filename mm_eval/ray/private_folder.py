"""A folder for the files of a cluster that a command starts: in the temporary directory, and no other user may enter it.

Ray makes its own folders writable for everybody, so they are put one level below. A folder whose process died without removing it
is removed by the next command that makes one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "mm-eval-ray-"
LOCK = "held"
"""A file that the living owner of a folder holds locked. The lock ends with the process, however that ends."""
YOUNG = 60.0
"""Seconds in which a folder may be without the lock of its owner, who is just making it."""
LONGEST = 40
"""Characters of a folder's name below which Ray's sockets find room: a socket's name has at most 107."""


class PrivateFolder:
    """A new folder (0700) that is this process's own until `remove`. Those of dead processes are removed first."""

    def __init__(self) -> None:
        base = Path(tempfile.gettempdir())
        if len(str(base)) + len(PREFIX) + 8 > LONGEST and os.access("/tmp", os.W_OK | os.X_OK):
            base = Path("/tmp")
        sweep(base)
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        self._lock = os.open(self.path / LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Removes the folder with all that is in it. May be called again."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def sweep(base: Path) -> None:
    """Removes the folders in `base` that processes of this user left behind."""
    for path in base.glob(f"{PREFIX}*"):
        with suppress(OSError):  # another command removes it at the same time
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and _is_abandoned(path, found.st_mtime):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path, modified: float) -> bool:
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return abs(time.time() - modified) > YOUNG
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True
