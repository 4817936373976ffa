"""Makes the thumbnails of a run folder, by the digest of the picture that the prompt showed. `media` keeps them.

Pictures that are decoded for the requests become thumbnails while the model answers (`thumbnails_of_requests`). The others are
made from the docs after the last answer (`write_thumbnails`): of pictures that a server got as they are stored, of answers from
an earlier launch or another process, and where the first way failed. Most tasks show a picture as it is stored. Such a picture
is then not decoded whole: where `doc_to_visual` returns the stored JPEG without having decoded it, it is decoded at a fraction
of its size. In both ways a small JPEG is its own thumbnail.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from PIL.Image import Resampling
from PIL.JpegImagePlugin import JpegImageFile

from mm_eval.data.decode import check_size, decoding, open_picture
from mm_eval.data.frames import Frames
from mm_eval.data.known_pictures import known_thumbnails
from mm_eval.data.media import own_file, picture_digest, picture_identity
from mm_eval.data.sent_files import identity_of
from mm_eval.data.shared import undecoded
from mm_eval.data.sound.clip import Sound
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.prompt.visuals import Visual
from mm_eval.results.media import Media
from mm_eval.values.errors import DataError, MMEvalError
from mm_eval.values.types import FILE_MARK, Answer, End, Fields

if TYPE_CHECKING:
    from PIL.Image import Image

    from mm_eval.values.types import Doc, Instance

log = logging.getLogger(__name__)

Wanted = tuple[int, list[str]]
"""A doc id, and the digests of the pictures that its prompt showed."""

SIDE = 320
"""Pixels of the longer side: a sharp picture at the width of a phone, in 5 to 15 KB."""
LEAST_SIDE = 240
"""The same where a JPEG is decoded at a half, a fourth or an eighth of its size, which leaves nothing to scale."""
AS_IT_IS = (480, 24 * 1024)
"""Pixels of the longer side and bytes up to which a stored JPEG is its own thumbnail."""
JPEG = b"\xff\xd8"
"""The first bytes of its files."""
ORIENTATION = 0x0112


def pictures_of(rows: Iterable[Fields]) -> Iterator[Wanted]:
    """The rows of samples/<task>.jsonl that have pictures, with the pictures' digests."""
    for row in rows:
        if row.get("images"):
            yield row["doc_id"], row["images"]


@contextmanager
def thumbnails_of_requests(folder: Path, tasks: Iterable[Task]) -> Iterator[Callable[[], bool]]:
    """Inside, the pictures of requests become thumbnails as they are decoded. A failure ends that, and nothing else.

    They are put in place by the next `Media` of this process, the one that the page is written with. Gives a function that
    removes all thumbnails of the folder where the answers have no room, also later, and returns whether there were any.
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

    def make_room() -> bool:
        nonlocal failed
        with lock:
            failed = True
            return remove_thumbnails(folder, media)

    try:
        media.__enter__()
    except Exception:
        failed = True
    for task in tasks:
        task.seen = seen
    try:
        yield make_room
    finally:
        for task in tasks:
            task.seen = None
        whole, failed = not failed, True
        with suppress(Exception):
            media.hold() if whole else media.__exit__(OSError, None, None)


def remove_thumbnails(folder: Path, media: Media | None = None) -> bool:
    """Removes all thumbnails of a folder on a full disk. Returns whether there were any. media: what holds them open."""
    if found := (media or Media(folder)).remove():
        log.warning("The disk is full: the thumbnails in %s were removed, so that answers have room.", folder)
    return found


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
                    checked = [
                        _digest_like(open_picture(p.content), (d,)) for p, d in zip(own, digests, strict=False)
                    ] == digests
                if own and checked:
                    made += sum(_write_stored(media, digest, p) for digest, p in zip(digests, own, strict=True))
                else:
                    made += _write_decoded(media, task, style, doc_id, chunk[doc_id])
    return made


def write_thumbnails_of_turns(media: Media, task: Task, style: PromptStyle, rows: Iterable[Fields]) -> int:
    """The same for what the later turns of conversations have shown: the recorded answers make those turns again."""
    made = 0
    for row in rows:
        turns = [turn for turns in row.get("turns") or () for turn in turns[1:]]
        missing = {digest for turn in turns for digest in _digests_in(turn) if digest not in media}
        for digest in sorted(missing):
            with suppress(MMEvalError):  # what code has returned is in the folder, and no other picture of a turn does
                media.add(digest, thumbnail_of(media.tool_files.read(digest)))
                made += 1
                missing.discard(digest)
        if missing:
            for instance in task.instances([row["doc_id"]], style):
                if instance.then is not None and instance.repeat < len(row["turns"]):
                    with suppress(MMEvalError), decoding(f"doc {row['doc_id']}"):
                        for digest, picture in _later_pictures(instance, row["turns"][instance.repeat]):
                            if digest in missing and digest not in media:
                                media.add(digest, thumbnail_of(picture))
                                made += 1
    return made


def _later_pictures(instance: Instance, turns: Sequence[Fields]) -> Iterator[tuple[str, Image]]:
    """(digest, picture) of what the turns after the first have shown."""
    for turn in turns[:-1]:
        assert instance.then is not None
        said = Answer(turn["answer"], ended=turn["ended"], reasoning=turn.get("reasoning"))
        found = instance.then(instance, said)
        if isinstance(found, End) or found.error is not None:
            return
        instance = found
        if any(True for _ in _digests_in({"messages": instance.messages or ()})) and instance.images is not None:
            yield from zip(instance.image_digests, instance.images(), strict=True)


def _digests_in(turn: Fields) -> Iterator[str]:
    """The digests of the pictures in what was said before a recorded answer."""
    for message in turn["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("digest"):
                yield part["digest"]


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
        opened = {name: _open_stored(doc[name]) if name in task.docs.media_columns else doc[name] for name in doc}
        pictures = task.pictures(opened, style, f"doc {doc_id}")
    stored = [picture for picture in pictures if isinstance(picture, StoredJpeg) and not picture.decoded]
    return stored if len(stored) == len(pictures) else []


def _open_stored(value: object) -> object:
    """A stored picture, or a list of them, opened but not decoded. ValueError unless each is an upright RGB JPEG in the row."""
    if isinstance(value, list):
        return [_open_stored(each) for each in value]
    content = value.get("bytes") if isinstance(value, Mapping) else None
    if not content or not content.startswith(JPEG):
        raise ValueError("no JPEG in the row")
    picture = StoredJpeg(content)
    check_size(picture)
    if picture.mode != "RGB" or picture.getexif().get(ORIENTATION) is not None:
        raise ValueError("it is shown differently from how it is stored")
    return picture


def write_known_thumbnails(media: Media, digests: Iterable[str]) -> None:
    """Writes the missing thumbnails of pictures known by their files that an earlier run on this machine has made."""
    known = known_thumbnails()
    for digest in digests:
        if digest.startswith(FILE_MARK) and digest not in media and (jpeg := known.get(digest)) is not None:
            media.add(digest, jpeg)


def _write_stored(media: Media, digest: str, picture: StoredJpeg) -> int:
    if digest in media:
        return 0
    if _is_small(picture, picture.content):
        media.add(digest, picture.content)
        return 1
    media.add(digest, jpeg := _encode(picture))
    if digest.startswith(FILE_MARK) and digest == identity_of(picture.content):  # not only assumed to be this one
        known_thumbnails().put(digest, jpeg)
    return 1


def thumbnail_of(picture: Image) -> bytes:
    """The thumbnail of a picture. A JPEG whose pixels are not in memory is decoded at a fraction of its size."""
    file = own_file(picture)
    if file is not None and _is_small(picture, file):
        return file
    if file is not None and file.startswith(JPEG) and undecoded(picture) is not None:
        return _encode(StoredJpeg(file))
    return _encode(picture)


def thumbnail(content: bytes) -> bytes:
    """The thumbnail of a picture's file. Raises DataError for what is not a picture."""
    return thumbnail_of(open_picture(content))


def _is_small(picture: Image, file: bytes) -> bool:
    """Whether a picture's file is its own thumbnail."""
    side, size = AS_IT_IS
    is_jpeg = file.startswith(JPEG)
    return is_jpeg and max(picture.size) <= side and len(file) <= size and "exif" not in picture.info


def _write_decoded(media: Media, task: Task, style: PromptStyle, doc_id: int, digests: list[str]) -> int:
    pictures = task.pictures(task.docs.full(doc_id), style, f"doc {doc_id}", task.docs.places)
    made = 0
    for picture in pictures:
        if isinstance(picture, (Frames, Sound)):  # frames are made when a request decodes them
            continue
        digest = _digest_like(picture, digests)
        if digest in digests and digest not in media:
            media.add(digest, thumbnail_of(picture))
            made += 1
    return made


def _digest_like(picture: Image, recorded: Sequence[str]) -> str:
    """The digest of a picture of a doc: that of its file, if the doc's recorded ones have such, else of its pixels."""
    by_files = any(digest.startswith(FILE_MARK) for digest in recorded)
    return picture_identity(picture) if by_files else picture_digest(picture)


def _encode(picture: Image) -> bytes:
    """A small JPEG of a picture. One that is not decoded yet is decoded at a fraction of its size.

    The picture is first divided by a whole number, which costs a fifth of scaling it, and mostly leaves nothing to scale.
    """
    divisor = next((each for each in (8, 4, 2) if max(picture.size) >= each * LEAST_SIDE), 1)
    width, height = picture.size
    picture.draft("RGB", (max(1, width // divisor), max(1, height // divisor)))
    small = picture.reduce(divisor) if (divisor := _divisor(picture)) > 1 else picture.copy()
    small.thumbnail((SIDE, SIDE), Resampling.BILINEAR)
    small.info.clear()
    file = io.BytesIO()
    small.save(file, "JPEG", quality=80)
    return file.getvalue()


def _divisor(picture: Image) -> int:
    return max(1, max(picture.size) // SIDE)
