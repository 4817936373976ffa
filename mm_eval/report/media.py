"""The thumbnails of a run folder, by the digest of the picture that was asked about.

    media/thumbnails.zip   those that pages carry in themselves, the first `PACKED` bytes: <digest>.jpg, not compressed again
    media/ab/<digest>.jpg  the others, which pages load from beside them

One file for most of them, since a file system can take a millisecond to make each small one. All of it is derived.
"""

from __future__ import annotations

import base64
import os
import shutil
import zipfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType

PACKED = 24 * 2**20
"""Bytes of thumbnails that the pages of a run carry in themselves: about 2,000 of them."""


class Media:
    """The thumbnails of a run folder, to be read and added to inside a with-block; at its end the added ones are in place.

    A pack that can't be read counts as none. After an error in the block the pack is as it was before.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "media"
        self._path = self._folder / "thumbnails.zip"
        self._beside = self._folder / f".{self._path.name}.{os.getpid()}.tmp"
        self._pack: zipfile.ZipFile | None = None
        self._new: zipfile.ZipFile | None = None
        self._names: set[str] = set()
        self._bytes = 0

    def __enter__(self) -> Media:
        with suppress(OSError, zipfile.BadZipFile):
            self._pack = zipfile.ZipFile(self._path)
            self._names = set(self._pack.namelist())
            self._bytes = sum(info.file_size for info in self._pack.infolist())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pack in (self._pack, self._new):
            if pack is not None:
                pack.close()
        if self._new is not None and kind is None:
            os.replace(self._beside, self._path)
        self._beside.unlink(missing_ok=True)

    def __contains__(self, digest: str) -> bool:
        return _name(digest) in self._names or self._loose(digest).exists()

    def address(self, digest: str, page_folder: Path) -> str | None:
        """Where a page in `page_folder` finds a thumbnail: a data URL, or a path; None where there is none."""
        if self._pack is not None and _name(digest) in self._names:
            with suppress(OSError, zipfile.BadZipFile):
                return "data:image/jpeg;base64," + base64.b64encode(self._pack.read(_name(digest))).decode()
        path = self._loose(digest)
        return Path(os.path.relpath(path, page_folder)).as_posix() if path.exists() else None

    def add(self, digest: str, jpeg: bytes) -> None:
        """Adds a thumbnail that is not here yet."""
        if self._bytes + len(jpeg) > PACKED:
            _put(self._loose(digest), jpeg)
            return
        if self._new is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._pack is not None:
                shutil.copyfile(self._path, self._beside)
            self._new = zipfile.ZipFile(self._beside, "a")
        self._new.writestr(zipfile.ZipInfo(_name(digest)), jpeg)  # without a time: equal runs have equal bytes
        self._names.add(_name(digest))
        self._bytes += len(jpeg)

    def _loose(self, digest: str) -> Path:
        return self._folder / digest[:2] / _name(digest)


def _name(digest: str) -> str:
    return f"{digest}.jpg"


def _put(path: Path, content: bytes) -> None:
    """A whole file, or none."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside.write_bytes(content)
    os.replace(beside, path)
