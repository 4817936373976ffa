"""Digests and thumbnails of pictures that were decoded before on this machine, so that another run need not do it again.

A picture's key is a digest of its file's bytes and of the versions that decode it. What is known is in SQLite databases in the
cache folder, which may be deleted at any time and are used by several processes. Where they can't be used, what this process
found is remembered.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from mm_eval.values.files import cache_folder

RULE = 2
"""Raised when a change of ours to how pictures are decoded changes their pixels. 2: 16-bit grey is rounded."""

UNWRITTEN = 256
"""Entries that are written together; a process that is killed loses at most so many."""

MOST_REMEMBERED = 2**16
"""Digests that a process remembers where they can't be written. Of thumbnails, UNWRITTEN."""

CODECS = ("avif", "jpg", "jpg_2000", "libjpeg_turbo", "libtiff", "webp", "zlib", "zlib_ng")
"""Pillow's names of the libraries that decode pictures."""

MOST_BYTES = 2**29
"""A larger database is replaced by an empty one."""

THUMBNAIL_RULE = b"1"
"""Raised when a change of ours makes other thumbnails."""


class _Known:
    """Bytes by the keys of files, in a database of the cache folder. Several threads may use it.

    name: of the database. column: of the bytes in its table. most: entries that are remembered where they can't be written.
    """

    def __init__(self, name: str, column: str, most: int) -> None:
        self._lock = threading.Lock()
        self._name, self._column, self._most = name, column, most
        self._process = 0
        self._database: sqlite3.Connection | None = None
        self._new: dict[bytes, bytes] = {}
        atexit.register(self.write)

    def get(self, key: bytes) -> bytes | None:
        """What is known under a key."""
        with self._lock:
            if (found := self._new.get(key)) is not None:
                return found
            query = f"SELECT {self._column}, checked FROM pictures WHERE file = ?"
            row = self._use(lambda database: database.execute(query, (key,)).fetchone())
        return bytes(row[0]) if isinstance(row, tuple) and row[1] == _check(key, row[0]) else None

    def put(self, key: bytes, value: bytes) -> None:
        """Remembers it."""
        with self._lock:
            self._new[key] = value
            if len(self._new) % UNWRITTEN == 0:
                self._write()

    def write(self) -> None:
        """Writes what is not written yet."""
        with self._lock:
            if self._new:
                self._write()

    def _write(self) -> None:
        rows = [(key, value, _check(key, value)) for key, value in self._new.items()]

        def insert(database: sqlite3.Connection) -> bool:
            with database:
                database.executemany("INSERT OR REPLACE INTO pictures VALUES (?, ?, ?)", rows)
            return True

        if self._use(insert):
            self._new.clear()
        while len(self._new) > self._most:
            self._new.pop(next(iter(self._new)))

    def _use(self, work: Callable[[sqlite3.Connection], object]) -> object:
        """What `work` returns for the database; None if it can't be used. A damaged one is deleted.

        A process that was forked opens it again.
        """
        path = cache_folder() / self._name
        try:
            if self._process != os.getpid():
                self._process, self._database = os.getpid(), None
                self._database = _open_database(path, self._column)
            return None if self._database is None else work(self._database)
        except (OSError, sqlite3.OperationalError):  # a folder that is read only, a full disk, a lock
            return None
        except sqlite3.DatabaseError:
            with suppress(OSError):
                path.unlink()
            self._database = None
            return None


def _open_database(path: Path, column: str) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > MOST_BYTES:
        path.unlink()
    database = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
    database.execute("PRAGMA synchronous = OFF")  # what a crash of the machine damages is found by its check
    database.execute(
        f"CREATE TABLE IF NOT EXISTS pictures (file BLOB PRIMARY KEY, {column} BLOB, checked BLOB) WITHOUT ROWID"
    )
    return database


def _check(key: bytes, value: bytes) -> bytes:
    return hashlib.blake2b(key + value, digest_size=8).digest()


class KnownPictures:
    """The digests of pictures by the keys of their files. Several threads may use it."""

    def __init__(self) -> None:
        self._known = _Known("pictures.db", "digest", MOST_REMEMBERED)
        self.write = self._known.write

    def get(self, key: bytes) -> str | None:
        """The digest of the picture with this key, as `picture_digest` computes it; None if it is not known."""
        found = self._known.get(key)
        return None if found is None else found.hex()

    def put(self, key: bytes, digest: str) -> None:
        """Remembers the digest of a picture."""
        self._known.put(key, bytes.fromhex(digest))


class KnownThumbnails:
    """The thumbnails of pictures by the identities of their files (`FILE_MARK`)."""

    def __init__(self) -> None:
        self._known = _Known("thumbnails.db", "jpeg", UNWRITTEN)
        self.write = self._known.write

    def get(self, identity: str) -> bytes | None:
        """The thumbnail of a picture file; None if it is not known."""
        return self._known.get(self._key(identity))

    def put(self, identity: str, jpeg: bytes) -> None:
        """Remembers a thumbnail."""
        self._known.put(self._key(identity), jpeg)

    @staticmethod
    def _key(identity: str) -> bytes:
        return hashlib.blake2b(identity.encode() + THUMBNAIL_RULE, digest_size=16, key=_versions()).digest()


@lru_cache(maxsize=1)
def known_pictures() -> KnownPictures:
    """The digests that this process reads and writes."""
    return KnownPictures()


@lru_cache(maxsize=1)
def known_thumbnails() -> KnownThumbnails:
    """The thumbnails that this process reads and writes."""
    return KnownThumbnails()


def key_of(content: bytes) -> bytes:
    """The key of a file's bytes: 16 bytes."""
    return hashlib.blake2b(content, digest_size=16, key=_versions()).digest()


@lru_cache(maxsize=1)
def _versions() -> bytes:
    """A digest of the versions of our rule, of Pillow and of its codecs."""
    import PIL
    from PIL import features

    codecs = [(name, features.version(name)) for name in CODECS if features.check(name)]
    return hashlib.sha256(repr((RULE, PIL.__version__, codecs)).encode()).digest()
