"""The thumbnails of a run folder, for its pages, by the digest of the picture that the prompt showed.

    media/thumbnails.jsonl  the first `PACKED` bytes, which pages contain themselves: {"digest": ..., "jpeg": base64}
    media/ab/<digest>.jpg   the others, which pages load from beside them

Most are in one file, since a file system can take a millisecond to make each small one.

Most thumbnails are made while the model answers, from the pictures that are decoded for the requests (`thumbnails_of_requests`).
All can be made again from the docs after a run (`write_thumbnails`): of answers from an earlier launch or another process, and
where the first way failed. Most tasks show a picture as it is stored. Such a picture is then not decoded whole: where
`doc_to_visual` returns the stored JPEG without having decoded it, it is decoded at a fraction of its size. In both ways a small
JPEG is its own thumbnail.
"""

from __future__ import annotations

import base64
import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO

from PIL.Image import Resampling
from PIL.JpegImagePlugin import JpegImageFile

from mm_eval.errors import DataError, MMEvalError
from mm_eval.files import read_regular, write_atomic
from mm_eval.report.safe import href
from mm_eval.task.decode import check_size, decoding, open_picture
from mm_eval.task.media import own_file, picture_digest
from mm_eval.task.task import PromptStyle, Task
from mm_eval.task.video.frames import Frames
from mm_eval.task.visuals import Visual
from mm_eval.types import FRAME_MARK

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
LINE = re.compile(rb'\{"digest": "(\w{64})", "jpeg": "')
"""The beginning of a line of the pack: JSON in one way to write it, whose parts are found without reading all of it."""
DIGEST = re.compile(f"(?:[0-9a-f]{{64}}|{FRAME_MARK}[0-9a-f]{{{64 - len(FRAME_MARK)}}})")
"""The digest of a picture, or of a frame of a video."""
LINE_START, LINE_END = len('{"digest": "", "jpeg": "') + 64, len('"}\n')
PACKED = 32 * 2**20
"""Bytes of thumbnails, as base64, that the pages of a run contain themselves: about 2,000 thumbnails."""


def pictures_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Wanted]:
    """The rows of samples/<task>.jsonl that have pictures, with the pictures' digests."""
    for row in rows:
        if row.get("images"):
            yield row["doc_id"], row["images"]


@contextmanager
def thumbnails_of_requests(folder: Path, tasks: Iterable[Task]) -> Iterator[None]:
    """Inside, the pictures of requests become thumbnails as they are decoded. A failure ends that, and nothing else.

    They are put in place by the next `Media` of this process, the one that the page is written with.
    """
    tasks, failed = list(tasks), False
    media, lock = Media(folder), Lock()  # an adapter may decode the frames of videos in threads

    def seen(digest: str, picture: Image) -> None:
        nonlocal failed
        try:
            with lock:
                if not failed and digest not in media:
                    media.add(digest, thumbnail_of(picture))
        except Exception:  # whatever it is, the answer comes first
            failed = True

    try:
        media.__enter__()
    except Exception:
        failed = True
    for task in tasks:
        task.seen = seen
    try:
        yield
    finally:
        for task in tasks:
            task.seen = None
        whole, failed = not failed, True
        with suppress(Exception):
            media.hold() if whole else media.__exit__(OSError, None, None)


def write_thumbnails(media: Media, task: Task, style: PromptStyle, wanted: Iterable[Wanted]) -> int:
    """Writes the missing thumbnails and returns how many.

    A picture that can no longer be read is skipped; the page shows that it is missing.
    """
    if not task.has_pictures:
        return 0
    made = 0
    missing = _missing(media, wanted)
    checked = False  # the first stored picture is compared with its digest: the task's function may have changed since
    while chunk := dict(islice(missing, 16)):
        for doc_id, doc in task.docs.stored(list(chunk)):
            own = _stored_pictures(task, style, doc_id, doc)
            digests = chunk[doc_id][-len(own) :] if own else []
            with suppress(DataError), decoding(f"doc {doc_id}"):
                if own and not checked:
                    checked = [picture_digest(open_picture(picture.content)) for picture in own] == digests
                if own and checked:
                    made += sum(_write_stored(media, digest, p) for digest, p in zip(digests, own, strict=True))
                else:
                    made += _write_decoded(media, task, style, doc_id, chunk[doc_id])
    return made


class Media:
    """The thumbnails of a run folder, read and added inside a with-block; at its end the added ones are in place.

    Unreadable lines of the pack are ignored. After an error in the block the pack is unchanged. After `hold`, the next one of
    this process for this folder goes on with what was added.
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
                if found := LINE.match(line):
                    self._places[found[1].decode()] = self._bytes
                self._bytes += len(line)
        with suppress(OSError):
            self._go_on()
        return self

    def hold(self) -> None:
        """Ends this one without putting in place what it added."""
        for pack in (self._pack, self._new):
            if pack is not None:
                pack.close()

    def _go_on(self) -> None:
        """Takes over what a Media before this one has added: all whole lines, if the pack's own are among them."""
        added, end = set[str](), 0
        with self._beside.open("rb") as file:
            for line in file:
                if (found := LINE.match(line)) is None or not line.endswith(b'"}\n'):
                    break
                added.add(found[1].decode())
                end += len(line)
        if added >= self._places.keys():
            self._new = self._beside.open("ab")
            self._new.truncate(end)
            self._added, self._bytes = added, end
        else:
            self._beside.unlink()

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
        """The address of a thumbnail in a page in `page_folder`: a data URL, or a path; None if it was not there at the start."""
        if self._pack is not None and digest in self._places:
            return f"data:image/jpeg;base64,{self._packed(self._pack, digest).decode(errors='replace')}"
        path = self._loose(digest)
        return href(Path(os.path.relpath(path, page_folder))) if path.exists() else None

    def content(self, digest: str) -> bytes | None:
        """The JPEG of a thumbnail; None if it was not there at the start, or is a link to outside of the run folder."""
        if self._pack is not None and digest in self._places:
            with suppress(ValueError):
                return base64.b64decode(self._packed(self._pack, digest), validate=True)
        path = self._loose(digest)
        if not DIGEST.fullmatch(digest) or not path.resolve().is_relative_to(self._folder.parent.resolve()):
            return None
        with suppress(OSError):
            return read_regular(path)
        return None

    def _packed(self, pack: BinaryIO, digest: str) -> bytes:
        pack.seek(self._places[digest])
        return pack.readline()[LINE_START:-LINE_END]

    def add(self, digest: str, jpeg: bytes) -> None:
        """Adds a new thumbnail."""
        line = b'{"digest": "%s", "jpeg": "%s"}\n' % (digest.encode(), base64.b64encode(jpeg))
        self._added.add(digest)
        if self._bytes + len(line) > PACKED:
            write_atomic(self._loose(digest), jpeg, durable=False)
            return
        if self._new is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._places:
                shutil.copyfile(self._path, self._beside)
            self._new = self._beside.open("ab")
        self._new.write(line)
        self._bytes += len(line)

    def _loose(self, digest: str) -> Path:
        return self._folder / digest[:2] / f"{digest}.jpg"


def _missing(media: Media, wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    """The docs with a picture that has no thumbnail yet; each picture is requested once."""
    seen: set[str] = set()
    for doc_id, digests in wanted:
        new = [digest for digest in digests if digest not in seen and digest not in media]
        seen.update(digests)
        if new:
            yield doc_id, digests


class StoredJpeg(JpegImageFile):
    """A stored RGB JPEG that records whether it was decoded. Until then a conversion to its own mode returns itself."""

    def __init__(self, content: bytes) -> None:
        self.content, self.decoded = content, False
        super().__init__(io.BytesIO(content))

    def load(self) -> Any:
        self.decoded = True
        return super().load()

    def convert(self, mode: str | None = None, *arguments: Any, **options: Any) -> Image:
        if mode == self.mode and not arguments and not options and not self.decoded:
            return self
        return super().convert(mode, *arguments, **options)


def _stored_pictures(task: Task, style: PromptStyle, doc_id: int, doc: Doc) -> list[StoredJpeg]:
    """The doc's pictures where each is a stored JPEG that the task's function returned without decoding it; else none."""
    pictures: list[Visual] = []
    with suppress(MMEvalError), decoding(f"doc {doc_id}"):
        opened = {name: _stored(doc[name]) if name in task.docs.media_columns else doc[name] for name in doc}
        pictures = task.pictures(opened, style, f"doc {doc_id}")
    stored = [picture for picture in pictures if isinstance(picture, StoredJpeg) and not picture.decoded]
    return stored if len(stored) == len(pictures) else []


def _stored(value: Any) -> Any:
    """A stored picture, opened but not decoded. ValueError unless it is an upright RGB JPEG in the row itself."""
    content = value.get("bytes") if isinstance(value, Mapping) else None
    if not content or content[:2] != b"\xff\xd8":
        raise ValueError("no JPEG in the row")
    picture = StoredJpeg(content)
    check_size(picture)
    if picture.mode != "RGB" or picture.getexif().get(ORIENTATION) is not None:
        raise ValueError("it is shown otherwise than stored")
    return picture


def _write_stored(media: Media, digest: str, picture: StoredJpeg) -> int:
    if digest in media:
        return 0
    media.add(digest, picture.content if _is_small(picture, picture.content) else _encoded(picture))
    return 1


def thumbnail_of(picture: Image) -> bytes:
    """The thumbnail of a picture that is decoded already."""
    file = own_file(picture)
    return file if file is not None and _is_small(picture, file) else _encoded(picture)


def thumbnail(content: bytes) -> bytes:
    """The thumbnail of a picture's file. Raises DataError for what is not a picture."""
    return thumbnail_of(open_picture(content))


def _is_small(picture: Image, file: bytes) -> bool:
    """Whether a picture's file is its own thumbnail."""
    side, size = AS_IT_IS
    is_jpeg = file.startswith(b"\xff\xd8")
    return is_jpeg and max(picture.size) <= side and len(file) <= size and "exif" not in picture.info


def _write_decoded(media: Media, task: Task, style: PromptStyle, doc_id: int, digests: list[str]) -> int:
    pictures = task.pictures(task.docs.full(doc_id), style, f"doc {doc_id}", task.docs.places)
    made = 0
    for picture in pictures:
        if isinstance(picture, Frames):  # these are made when a request decodes them
            continue
        digest = picture_digest(picture)
        if digest in digests and digest not in media:
            media.add(digest, thumbnail_of(picture))
            made += 1
    return made


def _encoded(picture: Image) -> bytes:
    """A small JPEG of a picture. One that is not decoded yet is decoded at a fraction of its size.

    The picture is first divided by a whole number, which costs a fifth of scaling it, and mostly leaves nothing to scale.
    """
    divisor, (width, height) = _divisor(picture), picture.size
    picture.draft("RGB", (max(1, width // divisor), max(1, height // divisor)))
    small = picture.reduce(divisor) if (divisor := _divisor(picture)) > 1 else picture.copy()
    small.thumbnail((SIDE, SIDE), Resampling.BILINEAR)
    small.info.clear()
    file = io.BytesIO()
    small.save(file, "JPEG", quality=80)
    return file.getvalue()


def _divisor(picture: Image) -> int:
    return max(1, max(picture.size) // SIDE)
