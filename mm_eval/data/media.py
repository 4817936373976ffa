"""Pictures and other media: how a dataset's rows store them, and pictures as RGB images with their identity.

The identity of a picture is the sha256 of its decoded RGB pixels and size, before any resizing: the same picture in another
file format is the same question, and one changed pixel makes it another. For a server that gets the files as they are stored it
is the sha256 of these (`sent_files`), so that nothing is decoded; one changed byte then makes another question.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.data.archives import path_of_bytes
from mm_eval.data.decode import (
    LARGE,
    MIME,
    ORIENTATION,
    SOURCE,
    PixelCount,
    as_rgb,
    check_pillow,
    check_size,
    decoding,
    eight_bits,
    format_of,
    is_moving,
    open_picture,
    size_of,
)
from mm_eval.data.places import PICTURES, PLACES, SUFFIXES, Places
from mm_eval.data.rows import has_any_value, plain_value
from mm_eval.data.sent_files import file_identity
from mm_eval.data.sound.clip import sound_of
from mm_eval.values.errors import DataError, DocError
from mm_eval.values.types import Video

if TYPE_CHECKING:
    from PIL.Image import Image

SHOWN = frozenset({"Image", "Video", "Audio"})
"""Names of the features of `datasets` whose values a question can show, or let the model hear."""
MEDIA = SHOWN | {"Pdf", "Nifti", "Mesh", "BioSequence", "BioStructure"}
"""Names of the features of `datasets` whose values are files."""


def with_media(
    feature: object,
    value: object,
    places: Places,
    count: PixelCount,
    again: Callable[[], object],
    where: str = "",
    identify: Callable[[Image], str] | None = None,
) -> object:
    """A stored value with its pictures opened, a `Video` in the place of each video and a `Sound` in that of each sound.
    count: of the pixels of the doc.

    again: reads the stored row once more. identify: computes the identity of each RGB picture too, which its shared pixels keep
    (`picture_digest` or `picture_identity`).
    Errors: DataError, or what Pillow raises, if a picture can't be decoded or the doc has too many pixels.
    """

    def opened(medium: object, stored: object) -> object:
        picture = _picture(medium, stored, places, count, again, where)
        if identify is not None and (getattr(picture, "mode", "") == "RGB" or _is_undecoded(picture)):
            identify(picture)
        return picture

    return _change_media(feature, value, opened)


def _is_undecoded(medium: object) -> bool:
    from PIL.Image import Image

    from mm_eval.data.shared import undecoded

    return isinstance(medium, Image) and undecoded(medium) is not None


def without_media(feature: object, value: object) -> object:
    """A stored value with `{"path": ...}` in the place of each picture, video and sound."""

    def path_of(_: object, stored: object) -> object:
        return {"path": stored.get("path") if isinstance(stored, Mapping) else stored}

    return _change_media(feature, value, path_of)


def _change_media(feature: object, value: object, change: Callable[[object, object], object]) -> object:
    """A stored value with change(feature, value) in the place of each medium, also in lists and records."""
    if value is None:
        return None
    if type(feature).__name__ in MEDIA:
        return change(feature, value)
    if has_any_value(feature):
        return plain_value(feature, value)
    inner = inner_feature(feature)
    if isinstance(inner, Mapping) and isinstance(value, Mapping):  # a list of records is stored as a record of lists
        return {
            name: [_change_media(inner[name], item, change) for item in items] if isinstance(items, list) else items
            for name, items in value.items()
        }
    if inner is not None and isinstance(value, list):
        return [_change_media(inner, item, change) for item in value]
    if isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {name: _change_media(feature[name], item, change) for name, item in value.items()}
    return value


def _picture(
    feature: Any, value: object, places: Places, count: PixelCount, again: Callable[[], object], where: str
) -> Image | Any:
    if type(feature).__name__ == "Video":
        return _video(value, places, again)
    if type(feature).__name__ == "Audio" and feature.decode:
        return sound_of({"path": value} if isinstance(value, str) else value, places, sure=True)
    if type(feature).__name__ != "Image" or not feature.decode:
        return value
    content = value.get("bytes") if isinstance(value, Mapping) else None
    name = value.get("path") if isinstance(value, Mapping) else str(value)
    if content is None:
        if name is None:
            raise DataError("a picture has neither bytes nor a path.")
        if "::" in name and not name.startswith(("http:", "https:")):
            raise DataError(f"the picture {name[:200]!r} is inside an archive.", hint="Unpack the archive.")
        content = places.read(name)
    with decoding("", name or ""):
        picture = open_picture(content, count.add, decoding(where, name or ""))
        return picture if feature.mode in (None, picture.mode) else picture.convert(feature.mode)


def _video(value: object, places: Places, again: Callable[[], object]) -> Video:
    """A video of a column of the type `datasets.Video`, which has bytes or a path."""
    content, name = (value.get("bytes"), value.get("path")) if isinstance(value, Mapping) else (None, str(value))
    if content is not None:
        return Video(path_of_bytes(content, again))
    if name is None:
        raise DataError("a video has neither bytes nor a path.")
    if name.startswith("zip://") and "::" in name:  # as `datasets` names a file in an archive
        member, archive = name.removeprefix("zip://").split("::", 1)
        if places.find(archive):
            return Video(f"{archive}::{member}")
    return Video(places.locate(name))


def inner_feature(feature: object) -> object:
    """The feature of a list's items; None if the feature is not a list."""
    return getattr(feature, "feature", feature[0] if isinstance(feature, list) and feature else None)


def media_of(feature: object) -> Iterator[str]:
    """The names of the media features of a column, also in lists and records."""
    if type(feature).__name__ in MEDIA:
        yield type(feature).__name__
        return
    parts = feature.values() if isinstance(feature, Mapping) else [inner_feature(feature)]
    for part in parts:
        if part is not None:
            yield from media_of(part)


def picture_in_text(text: str) -> bytes | None:
    """The file of a picture that a text holds: a data URL, or base64 as in the tables of VLMEvalKit. None for any other text."""
    stated, comma, content = text.partition(",")
    is_url = bool(comma) and stated.startswith("data:") and stated.endswith(";base64")
    if not is_url and len(text) < LEAST_BASE64:
        return None
    file = _of_base64(content if is_url else "".join(text[: 2 * LEAST_BASE64].split())[:LEAST_BASE64])
    if is_url or not file or not format_of(file):
        return file if is_url else None
    return _of_base64(text)


LEAST_BASE64 = 48
"""No picture's base64 has fewer characters. So many of them, a multiple of four, are enough to tell its format."""


def _of_base64(text: str) -> bytes | None:
    """The bytes of a text in base64, which may have white space in it. None for any other text."""
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def shown_picture(cell: object) -> Image:
    """The picture of a cell of the data as every model is shown it: upright, in RGB with 8 bits a channel.

    cell: a picture, a file's bytes, a record of `datasets`, base64, a data URL, a URL, an open file, an array of pixels, or the
    name of a file below the data's folder. Boxes and points are places in this picture; `shown_size` gives its size alone.
    Errors: DocError if it can't be read.
    """
    from PIL.Image import Image
    from PIL.ImageOps import exif_transpose

    with _of_a_doc(), decoding(""):
        file = _file_of_cell(cell)
        with decoding("", file[1] if file else ""):
            picture = stored_as(cell, PLACES.get()) if file is None else open_picture(file[0])
        if not isinstance(picture, Image):
            raise DataError(f"there is no picture in the cell {cell!r:.60}.")
        check_size(picture)
        if picture.getexif().get(ORIENTATION) is not None:  # one that the task's code opened
            picture = exif_transpose(eight_bits(picture))
        return as_rgb(picture)


def shown_size(cell: object) -> tuple[int, int]:
    """(width, height) of `shown_picture(cell)`; of a file only the header is read. Errors: DocError if that can't be read."""
    with _of_a_doc(), decoding(""):
        file = _file_of_cell(cell)
        if file is None:
            return shown_picture(cell).size
        with decoding("", file[1]):
            return size_of(file[0])


@contextmanager
def _of_a_doc() -> Iterator[None]:
    """Makes a picture's error one of its doc alone, wherever a task's function meets it."""
    try:
        yield
    except DataError as error:
        if type(error) is not DataError:
            raise
        raise DocError(error.what, where=error.where, hint=error.hint) from error


def _file_of_cell(cell: object) -> tuple[bytes, str] | None:
    """As `file_of`, for a cell of the data: a name must be that of a file below the data's folder. DataError for another text."""
    if isinstance(cell, Mapping) and cell.keys() <= {"bytes", "path"}:
        cell = cell.get("bytes") or cell.get("path")
    if not isinstance(cell, str) or picture_in_text(cell) is not None:
        return file_of(cell, PLACES.get())
    try:
        return PLACES.get().read(cell), cell
    except DataError:
        if "." in cell or (content := _of_base64(cell)) is None:
            raise
        return content, ""  # of a format that is not known: the error names those that are


def file_of(item: object, places: Places) -> tuple[bytes, str] | None:
    """(the bytes of a picture's file, its name if that is known) of what a task's function gave: bytes, a record of `datasets`,
    base64, a data URL, a name, a URL or an open file. None for anything else.

    A relative name is looked for below the data's folders; an absolute one is the function's own.
    Errors: DataError if it can't be read.
    """
    if isinstance(item, Mapping) and item.keys() <= {"bytes", "path"}:
        item = item.get("bytes") or item.get("path")
    if isinstance(item, io.IOBase) and item.readable():
        if item.seekable():
            item.seek(0)
        item = item.read()
    if isinstance(item, os.PathLike):
        item = os.fspath(item)
    if isinstance(item, (bytes, bytearray)):
        return bytes(item), ""
    if not isinstance(item, str):
        return None
    if (content := picture_in_text(item)) is not None:
        return content, ""
    name = item.lower().partition("?")[0]
    if name.endswith(PICTURES) or name.startswith(("http://", "https://")) and not name.endswith(SUFFIXES):
        own = os.path.isabs(item) and os.path.isfile(item)
        return Path(item).read_bytes() if own else places.read(item), item
    return None


def stored_as(item: Any, places: Places, where: str = "") -> object:
    """The picture that a task's function gave in another form (see `file_of`), or as an array of pixels. Anything else is
    returned as it is, and so is the name of an animated file, which is shown as a video.

    Errors: DataError, or what Pillow raises, if it can't be read.
    """
    if (file := file_of(item, places)) is not None:
        with decoding("", file[1]):
            return item if _names_a_film(item, file[0]) else open_picture(file[0], later=decoding(where, file[1]))
    if type(item).__name__ == "ndarray" and str(item.dtype) == "uint8":
        from PIL import Image

        return Image.fromarray(item)
    return item


def _names_a_film(item: object, file: bytes) -> bool:
    is_name = isinstance(item, os.PathLike) or isinstance(item, str) and picture_in_text(item) is None
    return is_name and is_moving(file)


def to_pictures(visuals: object, where: str, what: str = "doc_to_visual") -> list[Image]:
    """RGB pictures from what a task's function returned: a picture, a list of pictures, or None.

    what: the function's key, for errors.
    Errors: DataError if an item is not a picture, can't be decoded, or is too large.
    """
    from PIL import Image

    if visuals is None:
        return []
    check_pillow()
    items = visuals if isinstance(visuals, Sequence) else [visuals]
    pictures, count = [], PixelCount()
    for item in items:
        if not isinstance(item, Image.Image):
            raise DataError(f"{what} gave {type(item).__name__}; a picture is needed.", where=where)
        with decoding(where):
            check_size(item)
            count.add(item)
            pictures.append(as_rgb(item))
    return pictures


def encoded(picture: Image, digest: str) -> tuple[str, bytes]:
    """(MIME type, file content) of a picture: the file that it was read from if that has exactly these pixels, else a PNG.

    Crops and resizes keep a picture's `info`, so the file is used only if its pixels have this digest.
    A file with transparency or several frames is never used, since servers blend and select frames by their own rules.
    """
    known = picture.info.get(SOURCE)
    if known is not None and (own_file(picture) or picture_digest(open_picture(known[1])) == digest):
        return MIME[known[0]], known[1]
    file = io.BytesIO()
    clean = picture.copy()
    clean.info.clear()
    clean.save(file, "PNG", compress_level=1)
    return MIME["PNG"], file.getvalue()


def as_sent(picture: Image) -> Image:
    """A picture without its pixels in memory: the file that a server gets (see `encoded`) has them. RGB.

    It is encoded once, without loss, and decoded again where its pixels are needed.
    """
    from mm_eval.data.shared import original_of

    original = original_of(picture)
    if original is not None and original.held is None and original.root.held is None:
        return picture
    digest = picture_digest(picture)
    mime, content = encoded(picture, digest)
    is_stored = original is not None and original.content is not None and original.root.file_digest != ""
    return of_sent_file(mime, content, digest, picture.size, is_stored)


def of_sent_file(mime: str, content: bytes, digest: str, size: tuple[int, int], is_stored: bool = False) -> Image:
    """An RGB picture of a file of ours, or of one that has its pixels.

    is_stored: it is the file that the picture was read from, which may identify it. A picture of any other file is known by its
    pixels: the file may be another one with the next version of Pillow.
    """
    from PIL import Image

    from mm_eval.data.shared import Original, share

    def decoded() -> object:
        return as_rgb(open_picture(content)).im

    original = Original(None, content, digest, decode=decoded, file_bytes=len(content))
    if not is_stored:
        original.file_digest = ""
    header = Image.Image()
    header._mode, header._size = "RGB", size
    picture = share(header, original)
    picture.info[SOURCE] = next(kind for kind, known in MIME.items() if known == mime), content
    return picture


def own_file(picture: Image) -> bytes | None:
    """The file that a picture was read from, if the picture was not changed since; None if that is not known."""
    from mm_eval.data.shared import original_of

    original = original_of(picture)
    return original.content if original is not None else None


def picture_digest(picture: Image) -> str:
    """sha256 of a picture's size and RGB pixels.

    It is computed once for all pictures that share their pixels, and remembered for the file that has them. A large picture is
    hashed in strips, so that its pixels are not copied as a whole.
    """
    from mm_eval.data.known_pictures import known_pictures
    from mm_eval.data.shared import original_of

    original = original_of(picture)
    if original is None:
        return _digest(picture)
    root = original.root
    with root.lock:
        if root.digest is None:
            key = root.key() if root.key is not None else None
            found = known_pictures().get(key) if key is not None and root.walked else None
            root.digest = found or _digest(picture)
            if key is not None and found is None:
                known_pictures().put(key, root.digest)
        return root.digest


def remembered_digest(picture: Image) -> str | None:
    """`picture_digest` of a picture if it was computed before on this machine. Nothing is decoded."""
    from mm_eval.data.known_pictures import known_pictures
    from mm_eval.data.shared import original_of

    if (original := original_of(picture)) is None:
        return None
    root = original.root
    return root.digest or (known_pictures().get(root.key()) if root.key is not None else None)


def picture_identity(picture: Image) -> str:
    """What identifies a picture for a server: its file where that is sent as it is stored, else its pixels."""
    return file_identity(picture) or picture_digest(picture)


def _digest(picture: Image) -> str:
    digest = hashlib.sha256(f"{picture.width}x{picture.height}".encode())
    if picture.width * picture.height > LARGE:
        rows = max(1, LARGE // (8 * picture.width))
        for top in range(0, picture.height, rows):
            strip = picture.crop((0, top, picture.width, min(top + rows, picture.height)))
            digest.update(strip.convert("RGB").tobytes())
        return digest.hexdigest()
    digest.update((picture if picture.mode == "RGB" else picture.convert("RGB")).tobytes())
    return digest.hexdigest()
