"""Files as a run needs them: written whole, on the disk when a call returns, and never waited on without end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from mm_eval.errors import ConfigError, MMEvalError, StoreError

OF_THE_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ESTALE})
"""Errors of the disk itself: it is full, or it fails. All others say that the folder is the wrong one."""


def folder_error(what: str, path: Path, error: OSError, hint: str = "Choose another --output_path.") -> MMEvalError:
    """The error of a run folder that can't be used: the disk's (StoreError, exit code 3) or the command's (ConfigError, 2)."""
    where = str(error.filename or path)
    said = f"{what}: {error.strerror or error}."
    if error.errno in OF_THE_DISK:
        return StoreError(said, where=where, hint="Recorded answers are safe; the same command continues from there.")
    return ConfigError(said, where=where, hint=hint)


def write_whole(fd: int, data: bytes) -> None:
    """Writes all bytes, however few `os.write` takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_regular(path: Path) -> bytes:
    """The content of a file; OSError for anything else, also for a pipe, which would be waited on without end."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        with open(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def sync(fd: int) -> None:
    """Puts the content of a file on the disk. macOS has no fdatasync."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, not just the files' content."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
