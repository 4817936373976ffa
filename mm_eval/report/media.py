"""The thumbnails of a run folder, by the digest of the picture that was asked about.

    media/thumbnails.jsonl  those that pages carry in themselves, the first `PACKED` bytes: {"digest": ..., "jpeg": base64}
    media/ab/<digest>.jpg   the others, which pages load from beside them

One file for most of them, since a file system can take a millisecond to make each small one. All of it is derived.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from mm_eval.files import write_atomic
from mm_eval.report.safe import href

PACKED = 32 * 2**20
"""Bytes of thumbnails, as base64, that the pages of a run carry in themselves: about 2,000 of them."""


class Media:
    """The thumbnails of a run folder, to be read and added to inside a with-block; at its end the added ones are in place.

    A line of the pack that can't be read counts as none. After an error in the block the pack is as it was before.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "media"
        self._path = self._folder / "thumbnails.jsonl"
        self._beside = self._folder / f".{self._path.name}.{os.getpid()}.tmp"
        self._pack: BinaryIO | None = None
        self._new: BinaryIO | None = None
        self._places: dict[str, int] = {}
        self._added: set[str] = set()
        self._bytes = 0

    def __enter__(self) -> Media:
        with suppress(OSError):
            self._pack = self._path.open("rb")
            for line in self._pack:
                with suppress(ValueError, KeyError, TypeError):
                    self._places[json.loads(line)["digest"]] = self._bytes
                self._bytes += len(line)
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
        return digest in self._places or digest in self._added or self._loose(digest).exists()

    def address(self, digest: str, page_folder: Path) -> str | None:
        """Where a page in `page_folder` finds a thumbnail: a data URL, or a path; None where there was none before the block."""
        if self._pack is not None and digest in self._places:
            self._pack.seek(self._places[digest])
            return f"data:image/jpeg;base64,{json.loads(self._pack.readline())['jpeg']}"
        path = self._loose(digest)
        return href(Path(os.path.relpath(path, page_folder))) if path.exists() else None

    def add(self, digest: str, jpeg: bytes) -> None:
        """Adds a thumbnail that is not here yet."""
        line = json.dumps({"digest": digest, "jpeg": base64.b64encode(jpeg).decode()}).encode() + b"\n"
        if self._bytes + len(line) > PACKED:
            write_atomic(self._loose(digest), jpeg, durable=False)
            return
        if self._new is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._places:
                shutil.copyfile(self._path, self._beside)
            self._new = self._beside.open("ab")
        self._new.write(line)
        self._added.add(digest)
        self._bytes += len(line)

    def _loose(self, digest: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.jpg"
