"""The thumbnails of a run folder as its pages find them, by the digest of the picture that the prompt showed, without its mark.

    media/thumbnails.jsonl  the first `PACKED` bytes, which pages contain themselves: {"digest": ..., "jpeg": base64}
    media/ab/<digest>.jpg   the others, which pages load from beside them

Most are in one file, since a file system can take a millisecond to make each small one.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from mm_eval.engine.tool_records import ToolFiles
from mm_eval.values.files import write_atomic
from mm_eval.values.run_files import is_inside, lines_of, open_regular, read_bytes, refuse_links_out
from mm_eval.values.safe import href
from mm_eval.values.types import FRAME_MARK, picture_name

LINE = re.compile(rb'\{"digest": "(\w{64})", "jpeg": "')
"""The beginning of a line of the pack: JSON in one way to write it, whose parts are found without reading all of it."""
DIGEST = re.compile(f"(?:[0-9a-f]{{64}}|{FRAME_MARK}[0-9a-f]{{{64 - len(FRAME_MARK)}}})")
"""The digest of a picture, or of a frame of a clip."""
LINE_START, LINE_END = len('{"digest": "", "jpeg": "') + 64, len('"}\n')
MOST_THUMBNAIL = 16 * 2**20
"""Bytes of a thumbnail."""
PACKED = 32 * 2**20
"""Bytes of thumbnails, as base64, that the pages of a run contain themselves: about 2,000 thumbnails."""


class Media:
    """The thumbnails of a run folder, read and added inside a with-block; at its end the added ones are in place.

    Unreadable lines of the pack are ignored. After an error in the block the pack is unchanged. After `hold`, the next one of
    this process for this folder keeps what was added.
    """

    def __init__(self, folder: Path) -> None:
        self._run, self._folder = folder, folder / "media"
        self.tool_files = ToolFiles(folder)
        self._path = self._folder / "thumbnails.jsonl"
        self._beside = self._folder / f".{self._path.name}.{os.getpid()}.tmp"
        self._pack: BinaryIO | None = None
        self._new: BinaryIO | None = None
        self._places: dict[str, int] = {}
        self._added: set[str] = set()
        self._bytes = 0

    def __enter__(self) -> Media:
        with suppress(OSError):
            self._pack = open_regular(self._run, self._path)
            for at, line in lines_of(self._run, self._path, most=MOST_THUMBNAIL):
                if line is not None and (found := LINE.match(line)):
                    self._places[found[1].decode()] = at
            self._bytes = os.fstat(self._pack.fileno()).st_size
        with suppress(OSError):
            self._go_on()
        return self

    def hold(self) -> None:
        """Ends this one without putting in place what it added."""
        for pack in (self._pack, self._new):
            if pack is not None:
                pack.close()

    def remove(self) -> bool:
        """Removes all thumbnails of the folder, so that there is room for answers. Returns whether there were any."""
        refuse_links_out(self._run, "media")
        if self._new is not None:
            with suppress(OSError):  # what is buffered has no room
                self._new.close()
            self._new = None
        found = self._folder.is_dir() and any(path.is_file() for path in self._folder.rglob("*"))
        shutil.rmtree(self._folder, ignore_errors=True)
        return found

    def _go_on(self) -> None:
        """Takes over what a Media before this one has added: all whole lines, if the pack's own are among them."""
        added, end = set[str](), 0
        with open_regular(self._run, self._beside) as file:
            for line in file:
                if (found := LINE.match(line)) is None or not line.endswith(b'"}\n'):
                    break
                added.add(found[1].decode())
                end += len(line)
        if added >= self._places.keys():
            self._new = self._open_beside()
            self._new.truncate(end)
            self._added, self._bytes = added, end
        else:
            self._beside.unlink()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.hold()
            if self._new is not None and kind is None:
                os.replace(self._beside, self._path)
        finally:  # a full disk may refuse what is buffered, too
            if os.path.lexists(self._beside):  # a read-only disk refuses to remove even what is not there
                self._beside.unlink(missing_ok=True)

    def _open_beside(self) -> BinaryIO:
        """The file to which thumbnails are added. OSError where the name is a link."""
        refuse_links_out(self._run, "media")
        return open(os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644), "ab")

    def __contains__(self, digest: str) -> bool:
        digest = picture_name(digest)
        return digest in self._places or digest in self._added or self._is_loose(digest)

    def address(self, digest: str, page_folder: Path) -> str | None:
        """The address of a thumbnail in a page in `page_folder`: a data URL, or a path below the run folder's `media`.

        None if it was not there at the start, if it is a link to outside of the run folder, and for what is not a digest.
        """
        digest = picture_name(digest)
        if self._pack is not None and digest in self._places:
            return f"data:image/jpeg;base64,{self._read_packed(self._pack, digest).decode(errors='replace')}"
        return href(Path(os.path.relpath(self._loose(digest), page_folder))) if self._is_loose(digest) else None

    def content(self, digest: str) -> bytes | None:
        """The JPEG of a thumbnail; None if it was not there at the start, or is a link to outside of the run folder."""
        digest = picture_name(digest)
        if self._pack is not None and digest in self._places:
            with suppress(ValueError):
                return base64.b64decode(self._read_packed(self._pack, digest), validate=True)
        if not DIGEST.fullmatch(digest):
            return None
        with suppress(OSError):
            return read_bytes(self._run, self._loose(digest), MOST_THUMBNAIL)
        return None

    def _is_loose(self, digest: str) -> bool:
        """Whether a thumbnail is a file of its own. A row may name anything as a picture's digest."""
        if not DIGEST.fullmatch(digest) or not os.path.isfile(f"{self._folder}/{digest[:2]}/{digest}.jpg"):
            return False
        return is_inside(self._run, self._loose(digest))

    def _read_packed(self, pack: BinaryIO, digest: str) -> bytes:
        pack.seek(self._places[digest])
        return pack.readline(MOST_THUMBNAIL)[LINE_START:-LINE_END]

    def add(self, digest: str, jpeg: bytes) -> None:
        """Adds a new thumbnail."""
        digest = picture_name(digest)
        line = b'{"digest": "%s", "jpeg": "%s"}\n' % (digest.encode(), base64.b64encode(jpeg))
        self._added.add(digest)
        if self._bytes + len(line) > PACKED:
            refuse_links_out(self._run, "media", f"media/{digest[:2]}")
            write_atomic(self._loose(digest), jpeg, durable=False)
            return
        if self._new is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._new = self._open_beside()
            if self._places and self._pack is not None:
                self._pack.seek(0)
                shutil.copyfileobj(self._pack, self._new)
        self._new.write(line)
        self._bytes += len(line)

    def _loose(self, digest: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.jpg"
