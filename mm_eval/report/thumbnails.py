"""Makes the thumbnails of the pictures that were asked about, named by the sha256 of the pixels (see `media`).

Made after a run, from the docs and not from the answers' path, so that no answer waits for a picture to be made smaller.

Most tasks show a picture as it is stored. Such a picture is not decoded a second time: where `doc_to_visual` gives back the
stored JPEG without having looked into it, the file itself is the thumbnail if it is small, else it is decoded at a fraction of
its size. 1,000 pictures of 336 x 336 cost 0.2 CPU seconds so, and 3 with all of them decoded, named, resized and encoded.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from PIL.JpegImagePlugin import JpegImageFile

from mm_eval.errors import DataError, MMEvalError
from mm_eval.report.media import Media
from mm_eval.task.decode import check_size, decoding, open_picture
from mm_eval.task.media import picture_digest
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


def write_thumbnails(media: Media, task: Task, style: PromptStyle, wanted: Iterable[Wanted]) -> int:
    """Writes the thumbnails that are missing and returns how many.

    A picture that can't be had any more is left out: the page says so.
    """
    if not task.has_pictures:
        return 0
    made = 0
    missing = _missing(media, wanted)
    checked = False  # the first stored picture is held against its digest: the task's function may have changed since
    while chunk := dict(islice(missing, 16)):
        for doc_id, doc in task.docs.stored(list(chunk)):
            own = _unread_pictures(task, style, doc_id, doc)
            digests = chunk[doc_id][-len(own) :] if own else []
            with suppress(DataError), decoding(f"doc {doc_id}"):
                if own and not checked:
                    checked = [picture_digest(open_picture(picture.content)) for picture in own] == digests
                if own and checked:
                    made += sum(_write_stored(media, digest, p) for digest, p in zip(digests, own, strict=True))
                else:
                    made += _write_decoded(media, task, style, doc_id, chunk[doc_id])
    return made


def _missing(media: Media, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """The docs with a picture that has no thumbnail yet, each picture asked for once."""
    seen: set[str] = set()
    for doc_id, digests in wanted:
        new = [digest for digest in digests if digest not in seen and digest not in media]
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
    pictures: list[Image] = []
    with suppress(MMEvalError), decoding(f"doc {doc_id}"):
        opened = {name: _unread(doc[name]) if name in task.docs.media_columns else doc[name] for name in doc}
        pictures = task.pictures(opened, style, f"doc {doc_id}")
    stored = [picture for picture in pictures if isinstance(picture, StoredJpeg) and not picture.looked_into]
    return stored if len(stored) == len(pictures) else []


def _unread(value: Any) -> Any:
    """A stored picture, opened and not decoded. ValueError where it is no upright RGB JPEG in the row itself."""
    content = value.get("bytes") if isinstance(value, Mapping) else None
    if not content or content[:2] != b"\xff\xd8":
        raise ValueError("no JPEG in the row")
    picture = StoredJpeg(content)
    check_size(picture)
    if picture.mode != "RGB" or picture.getexif().get(ORIENTATION) is not None:
        raise ValueError("not as it is stored")
    return picture


def _write_stored(media: Media, digest: str, picture: StoredJpeg) -> int:
    if digest in media:
        return 0
    side, size = AS_IT_IS
    small = max(picture.size) <= side and len(picture.content) <= size and "exif" not in picture.info
    media.add(digest, picture.content if small else _encoded(picture))
    return 1


def _write_decoded(media: Media, task: Task, style: PromptStyle, doc_id: int, digests: list[str]) -> int:
    pictures = task.pictures(task.docs.full(doc_id), style, f"doc {doc_id}", task.docs.picture)
    made = 0
    for picture in pictures:
        digest = picture_digest(picture)
        if digest in digests and digest not in media:
            media.add(digest, _encoded(picture.copy()))
            made += 1
    return made


def _encoded(picture: Image) -> bytes:
    """A small JPEG of a picture, which is changed; one that is not decoded yet is decoded at a fraction of its size."""
    picture.thumbnail((SIDE, SIDE))
    picture.info.clear()
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    return file.getvalue()
