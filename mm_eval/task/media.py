"""Pictures: from what a task's `doc_to_visual` gives to RGB images and their identity.

The identity of a picture is the sha256 of its decoded RGB pixels and size, before any resizing, so that the same picture in
another file format is the same question, and one changed pixel is another one.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.errors import DataError, MMEvalError
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.columns import require_column
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
