"""Pictures: from what a task's `doc_to_visual` gives to RGB images and their identity.

The identity of a picture is the sha256 of its decoded RGB pixels and size, before any resizing, so that the same picture in
another file format is the same question, and one changed pixel is another one.
"""

from __future__ import annotations

import hashlib
import io
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.errors import DataError, MMEvalError
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.decode import (
    LARGE,
    MIME,
    SOURCE,
    PixelCount,
    as_rgb,
    check_size,
    decoding,
    open_picture,
    reset_pillow,
)
from mm_eval.task.question import require_column
from mm_eval.types import Doc

if TYPE_CHECKING:
    from PIL.Image import Image


def to_pictures(visuals: Any, where: str, what: str = "doc_to_visual") -> list[Image]:
    """RGB pictures from what a task's function returned: one picture, a list of them, or None for no picture.

    what: the function's key, for errors.
    Errors: DataError when something is no picture, can't be decoded, or is too large.
    """
    from PIL import Image

    if visuals is None:
        return []
    reset_pillow()
    items = visuals if isinstance(visuals, Sequence) else [visuals]
    pictures, count = [], PixelCount()
    for item in items:
        if not isinstance(item, Image.Image):
            raise DataError(f"{what} gave {type(item).__name__} where a picture is needed.", where=where)
        with decoding(where):
            check_size(item)
            count.add(item)
            pictures.append(as_rgb(item))
    return pictures


def encoded(picture: Image, digest: str) -> tuple[str, bytes]:
    """(MIME type, file) of a picture: the file that it was read from where that shows exactly these pixels, else a PNG.

    `info` travels with a picture through crops and resizes, so the file is only believed when its pixels have the digest.
    A file with transparency or several frames is never sent: servers blend and choose by rules of their own.
    """
    known = picture.info.get(SOURCE)
    if known is not None and picture_digest(open_picture(known[1])) == digest:
        return MIME[known[0]], known[1]
    file = io.BytesIO()
    clean = picture.copy()
    clean.info.clear()
    clean.save(file, "PNG", compress_level=1)
    return MIME["PNG"], file.getvalue()


def picture_digest(picture: Image) -> str:
    """sha256 of a picture's size and RGB pixels. The last one is kept: to see that pixels are equal costs a tenth.

    A large picture is read in strips, so that its pixels are not in memory once more, and is not kept.
    """
    global _last_digest
    size = picture.size
    digest = hashlib.sha256(f"{picture.width}x{picture.height}".encode())
    if picture.width * picture.height > LARGE:
        rows = max(1, LARGE // (8 * picture.width))
        for top in range(0, picture.height, rows):
            strip = picture.crop((0, top, picture.width, min(top + rows, picture.height)))
            digest.update(strip.convert("RGB").tobytes())
        return digest.hexdigest()
    pixels = picture.convert("RGB").tobytes() if picture.mode != "RGB" else picture.tobytes()
    last_size, last_pixels, known = _last_digest
    if size == last_size and pixels == last_pixels:
        return known
    digest.update(pixels)
    _last_digest = size, pixels, digest.hexdigest()
    return digest.hexdigest()


_last_digest: tuple[tuple[int, int], bytes, str] = ((0, 0), b"", "")


def visuals_of(
    doc_to_visual: Callable[..., Any] | str | list[str],
    doc: Doc,
    block: PromptBlock,
    where: str,
    named: Callable[[str, str], Image] | None = None,
) -> list[Image]:
    """The pictures of a whole doc: a column's, those of several columns in their order, or what the task's function makes of it.

    named: opens the file that a column names by text.
    """
    if isinstance(doc_to_visual, list):
        return [picture for column in doc_to_visual for picture in visuals_of(column, doc, block, where, named)]
    if not callable(doc_to_visual):
        found = require_column(doc, doc_to_visual, "doc_to_visual", where)
        names = [found] if isinstance(found, str) else found
        if named and isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names):
            found, count = [], PixelCount()
            for name in names:
                found.append(named(name, where))
                with decoding(where):
                    count.add(found[-1])
        return to_pictures(found, where)
    with decoding(where):
        try:
            visuals = call(doc_to_visual, doc, block, second=True)
        except (MMEvalError, OSError, SyntaxError, ValueError):
            raise
        except Exception as error:  # the task's own code
            raise DataError(f"doc_to_visual failed: {type(error).__name__}: {error}", where=where) from error
    return to_pictures(visuals, where)


class PictureCache:
    """The last decoded pictures of a few docs, so that naming a question by its pictures and asking it decode them once.

    Bounded by bytes of pixels, not by docs: a thousand thumbnails or two scans, never a dataset.
    """

    def __init__(self, max_bytes: int = 64 * 2**20) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._pictures: OrderedDict[object, list[Image]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: object, load: Callable[[], list[Image]]) -> list[Image]:
        """The pictures under a key, loaded if they are not here. What `load` raises is not remembered."""
        with self._lock:
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
            if self._bytes > self._max_bytes:  # one large picture: two of them should not be in memory
                self._pictures.clear()
                self._bytes = 0
        pictures = load()
        with self._lock:
            if key not in self._pictures:
                self._pictures[key] = pictures
                self._bytes += _size(pictures)
            while self._bytes > self._max_bytes and len(self._pictures) > 1:
                _, oldest = self._pictures.popitem(last=False)
                self._bytes -= _size(oldest)
        return pictures


def _size(pictures: list[Image]) -> int:
    return sum(3 * picture.width * picture.height for picture in pictures)


MEDIA = frozenset({"Image", "Video", "Audio", "Pdf"})
"""Names of the features of `datasets` whose values are files."""
MOST_BYTES = 2**31
"""Bytes of a picture file at most: more than any picture within the limit of pixels needs."""


@dataclass(frozen=True)
class Places:
    """Where the pictures that a row names may be. roots: folders, the data's own first; urls: `--allow_url_media`."""

    roots: tuple[Path, ...] = ()
    urls: bool = False

    def read(self, name: str) -> bytes:
        """The file that a row names, or what its URL gives. DataError when it is not allowed or can't be read."""
        if "://" in name:
            return self._fetch(name)
        path = self.find(name)
        if (size := path.stat().st_size) > MOST_BYTES:
            raise DataError(f"the picture {name[:200]!r} has {size:,} bytes; the limit is {MOST_BYTES:,}.")
        return path.read_bytes()

    def find(self, name: str) -> Path:
        """Where the file is that a row names. DataError when it is not below one of the folders."""
        if "\0" in name:
            raise DataError("a picture's file name holds a NUL byte.")
        for root in self.roots:
            if not os.path.isfile(os.path.join(root, name)):
                continue
            found = (root / name).resolve()  # symlinks followed: what counts is where the file is
            if found.is_relative_to(root.resolve()):
                return found
        hint = "Rows name files relative to their dataset's folder."
        raise DataError(f"the picture {name[:200]!r} is no file below the data's folder.", hint=hint)

    def _fetch(self, url: str) -> bytes:
        if not self.urls:
            raise DataError(f"the picture is a URL: {url[:200]!r}.", hint="Allow it with --allow_url_media.")
        from mm_eval.task.url_media import fetch

        return fetch(url)


def decoded(feature: Any, value: Any, places: Places, count: PixelCount | None = None) -> Any:
    """A stored value with its pictures opened. DataError, or what Pillow raises, when one can't be.

    count: of the pixels of the doc so far; too many of them are an error.
    """
    count = PixelCount() if count is None else count
    if value is None:
        return None
    if type(feature).__name__ == "Image":
        return _picture(feature, value, places, count)
    inner = inner_feature(feature)
    if isinstance(inner, Mapping) and isinstance(value, Mapping):  # a list of records is stored as a record of lists
        return {
            name: [decoded(inner[name], item, places, count) for item in items] if isinstance(items, list) else items
            for name, items in value.items()
        }
    if inner is not None and isinstance(value, list):
        return [decoded(inner, item, places, count) for item in value]
    if isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {name: decoded(feature[name], item, places, count) for name, item in value.items()}
    return value


def _picture(feature: Any, value: Any, places: Places, count: PixelCount) -> Image | Any:
    if not feature.decode:
        return value
    content = value.get("bytes") if isinstance(value, Mapping) else None
    if content is None:
        name = value.get("path") if isinstance(value, Mapping) else str(value)
        if name is None:
            raise DataError("a picture has neither bytes nor a path.")
        if "::" in name and not name.startswith(("http:", "https:")):
            raise DataError(f"the picture {name[:200]!r} is inside an archive.", hint="Unpack the archive.")
        content = places.read(name)
    picture = open_picture(content)
    count.add(picture)
    return picture if feature.mode in (None, picture.mode) else picture.convert(feature.mode)


def without_media(feature: Any, value: Any) -> Any:
    """A stored value with `{"path": ...}` in the place of each picture, video and sound."""
    if value is None:
        return None
    if type(feature).__name__ in MEDIA:
        return {"path": value.get("path") if isinstance(value, Mapping) else value}
    inner = inner_feature(feature)
    if isinstance(inner, Mapping) and isinstance(value, Mapping):  # a list of records is stored as a record of lists
        return {name: [without_media(inner[name], item) for item in items] for name, items in value.items()}
    if inner is not None and isinstance(value, list):
        return [without_media(inner, item) for item in value]
    if isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {name: without_media(feature[name], item) for name, item in value.items()}
    return value


def inner_feature(feature: Any) -> Any:
    """The feature of a list's items, None where the feature is no list."""
    return getattr(feature, "feature", feature[0] if isinstance(feature, list) and feature else None)


def only_pictures(feature: Any) -> bool:
    """Whether a column's media are pictures alone, so that `decoded` can open them (not video, audio or PDF)."""
    name = type(feature).__name__
    if name in MEDIA and name != "Image":
        return False
    parts = feature.values() if isinstance(feature, Mapping) else [inner_feature(feature)]
    return all(only_pictures(part) for part in parts if part is not None)
