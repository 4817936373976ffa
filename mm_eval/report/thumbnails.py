"""Thumbnails of the pictures that were asked about, by content: media/ab/<sha256 of the pixels>.jpg.

Made after a run, from the docs and not from the answers' path, so that no answer waits for a picture to be made smaller.

Most tasks show a picture as it is stored. Such a picture is not decoded a second time: where `doc_to_visual` gives back the
stored JPEG without having looked into it, the file itself is the thumbnail if it is small, else it is decoded at a fraction of
its size. 1,000 pictures of 336 x 336 cost 0.2 CPU seconds so, and 3 with all of them decoded, named, resized and encoded.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL.JpegImagePlugin import JpegImageFile

from mm_eval.errors import MMEvalError
from mm_eval.report.sample_rows import thumbnail_path
from mm_eval.task.media import open_picture, picture_digest, visuals_of
from mm_eval.task.task import PromptStyle, Task

if TYPE_CHECKING:
    from PIL.Image import Image

    from mm_eval.types import Doc

Wanted = tuple[int, list[str]]
"""A doc id, and the digests of the pictures that its prompt showed."""

SIDE = 320
"""Pixels of the longer side: a sharp picture at the width of a phone, in 5 to 15 KB."""
AS_IT_IS = (480, 24 * 1024)
"""Pixels of the longer side and bytes up to which a stored JPEG is its own thumbnail."""
ORIENTATION = 0x0112


def pictures_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Wanted]:
    """The docs of samples/<task>.jsonl that have pictures, with their digests."""
    for row in rows:
        if row.get("images"):
            yield row["doc_id"], row["images"]


def write_thumbnails(folder: Path, task: Task, style: PromptStyle, wanted: Iterable[Wanted]) -> int:
    """Writes the thumbnails that are missing and returns how many.

    A picture that can't be had any more is left out: the page says so.
    """
    if task.config.doc_to_visual is None:
        return 0
    made = 0
    missing = _missing(folder, wanted)
    checked = False  # the first stored picture is held against its digest: the task's function may have changed since
    while chunk := dict(islice(missing, 16)):
        for doc_id, doc in task.docs.stored(list(chunk)):
            own = _unread_pictures(task, style, doc_id, doc)
            digests = chunk[doc_id][-len(own) :] if own else []
            if own and not checked:
                read = [picture_digest(open_picture(picture.content).convert("RGB")) for picture in own]
                checked = read == digests
            if own and checked:
                made += sum(_write_stored(folder, digest, p) for digest, p in zip(digests, own, strict=True))
            else:
                made += _write_decoded(folder, task, style, doc_id)
    return made


def _missing(folder: Path, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """The docs with a picture that has no thumbnail yet, each picture asked for once."""
    seen: set[str] = set()
    for doc_id, digests in wanted:
        new = [digest for digest in digests if digest not in seen and not thumbnail_path(folder, digest).exists()]
        seen.update(digests)
        if new:
            yield doc_id, digests


class StoredJpeg(JpegImageFile):
    """A stored RGB JPEG that knows whether anyone has looked into it. A copy in its own mode is itself until then."""

    def __init__(self, content: bytes) -> None:
        self.content, self.looked_into = content, False
        super().__init__(io.BytesIO(content))

    def load(self) -> Any:
        self.looked_into = True
        return super().load()

    def convert(self, mode: str | None = None, *arguments: Any, **options: Any) -> Image:
        if mode == self.mode and not arguments and not options and not self.looked_into:
            return self
        return super().convert(mode, *arguments, **options)


def _unread_pictures(task: Task, style: PromptStyle, doc_id: int, doc: Doc) -> list[StoredJpeg]:
    """The doc's pictures where each is a stored JPEG that the task's function passed on unread; else none."""
    assert task.config.doc_to_visual is not None
    try:
        opened = {name: _unread(doc[name]) if name in task.docs.media_columns else doc[name] for name in doc}
        pictures = visuals_of(task.config.doc_to_visual, opened, style.block, f"doc {doc_id}")
    except (MMEvalError, OSError, SyntaxError, ValueError):
        return []
    stored = [picture for picture in pictures if isinstance(picture, StoredJpeg) and not picture.looked_into]
    return stored if len(stored) == len(pictures) else []


def _unread(value: Any) -> Any:
    """A stored picture, opened and not decoded. ValueError where it is no upright RGB JPEG in the row itself."""
    content = value.get("bytes") if isinstance(value, Mapping) else None
    if not content or content[:2] != b"\xff\xd8":
        raise ValueError("no JPEG in the row")
    picture = StoredJpeg(content)
    if picture.mode != "RGB" or picture.getexif().get(ORIENTATION) is not None:
        raise ValueError("not as it is stored")
    return picture


def _write_stored(folder: Path, digest: str, picture: StoredJpeg) -> int:
    path, (side, size) = thumbnail_path(folder, digest), AS_IT_IS
    if path.exists():
        return 0
    small = max(picture.size) <= side and len(picture.content) <= size and "exif" not in picture.info
    _put(path, picture.content if small else _encoded(picture))
    return 1


def _write_decoded(folder: Path, task: Task, style: PromptStyle, doc_id: int) -> int:
    assert task.config.doc_to_visual is not None
    try:
        doc = task.docs.full(doc_id)
        pictures = visuals_of(task.config.doc_to_visual, doc, style.block, f"doc {doc_id}", task.docs.picture)
    except MMEvalError:
        return 0
    made = 0
    for picture in pictures:
        path = thumbnail_path(folder, picture_digest(picture))
        if not path.exists():
            _put(path, _encoded(picture.copy()))
            made += 1
    return made


def _encoded(picture: Image) -> bytes:
    """A small JPEG of a picture, which is changed; one that is not decoded yet is decoded at a fraction of its size."""
    picture.thumbnail((SIDE, SIDE))
    picture.info.clear()
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    return file.getvalue()


def _put(path: Path, content: bytes) -> None:
    """A whole file, or none."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        beside.write_bytes(content)
    except FileNotFoundError:  # the first picture of its folder
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(content)
    os.replace(beside, path)
