"""Decodes picture files. Every picture of a row is opened here, whatever its bytes are.

Only `FORMATS` are opened: none of their decoders starts a program or opens another file. `decoding` turns whatever a decoder
raises into the DataError of one doc.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from mm_eval.errors import DataError, MMEvalError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "JPEG2000", "AVIF")
"""The formats that are opened. Pillow reads EPS by starting Ghostscript, and IPTC by opening any format inside it."""

MOST_PIXELS = 178_956_970
"""Pixels of one picture at most, by the header of its file. Pillow has the same limit, which the code of a task can turn off."""
MOST_PIXELS_OF_A_DOC = 1_000_000_000
"""Pixels of all pictures of one doc at most: they are in memory together, at 4 bytes a pixel."""
PIXELS_IN_FLIGHT = 256_000_000
"""Pixels that all threads of an adapter decode and encode at a time (see `PixelBudget`)."""
LARGE = 2**24
"""Pixels from which a picture is not kept decoded for the next doc, and is hashed in strips."""
BLOCK_BYTES = 2**26
"""Bytes of the blocks in which Pillow stores a large picture (see `_formats`)."""

MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
SOURCE = "mm_eval.file"
"""Key of a picture's `info`: (format, bytes) of the file that it was decoded from, where a server may be sent that file."""


class decoding:
    """Turns whatever a decoder raises into a DataError that names the doc.

    Decoders raise far more than OSError on damaged bytes: struct.error, RuntimeError, KeyError, MemoryError and others.
    """

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, MMEvalError):
            said = str(error) or type(error).__name__
            raise DataError(f"a picture can't be decoded: {said}", where=self.where) from error


def open_picture(content: bytes) -> Image:
    """A picture from a file's bytes (see `_decode`), for the caller to change as it likes.

    The last file stays decoded unless it is large, since the docs on one picture mostly follow each other.
    Raises whatever Pillow raises (see `decoding`).
    """
    global _last
    known, last = _last
    if last is None or known != content:
        _last = b"", None
        last = _decode(content)
        if last.width * last.height <= LARGE:
            _last = content, last
    picture = last.copy()
    picture.format = last.format
    return picture


_last: tuple[bytes, Image | None] = b"", None


def _decode(content: bytes) -> Image:
    """A picture from a file's bytes, turned upright where the file says so; of an animation the first frame.

    The size in the header is checked before a pixel is unpacked. 16 bits a channel are scaled to 8 (see `eight_bits`).
    A truncated file is an error, even if the code of some task has told Pillow to fill such files with grey.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    reset_pillow()
    try:
        picture: Image.Image = Image.open(io.BytesIO(content), formats=_formats())
    except UnidentifiedImageError:
        known = ", ".join(_formats())
        raise UnidentifiedImageError(f"its {len(content)} bytes are not a picture in one of: {known}.") from None
    check_size(picture)
    picture.load()
    scaled = eight_bits(picture)
    if picture.getexif().get(0x0112) is not None:
        return ImageOps.exif_transpose(scaled)
    if scaled is picture and picture.format in MIME and _shown_alike(picture):
        picture.info[SOURCE] = (picture.format, content)
    return scaled


@lru_cache(maxsize=1)
def _formats() -> tuple[str, ...]:
    """Those of `FORMATS` that this Pillow can read: AVIF is new, and may be left out when Pillow is built.

    Asked once a process, and the place to set the size of Pillow's blocks. By default a large picture is stored in blocks of
    16 MiB, which malloc keeps for the thread that freed them: eight pictures of 178 megapixels, decoded one after another by six
    threads, left 5.8 GB in use. Blocks of more than 32 MiB go back to the system (2.2 GB).
    """
    from PIL import Image, _imaging

    _imaging.set_block_size(BLOCK_BYTES)
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def reset_pillow() -> None:
    """Takes back what a task's code may have changed for the whole process, and keeps Pillow from starting Ghostscript.

    Otherwise the same file would be decoded or refused depending on which other tasks were loaded. A task's own function can
    still open any format, but none through a program.
    """
    from PIL import EpsImagePlugin, ImageFile

    ImageFile.LOAD_TRUNCATED_IMAGES = False
    EpsImagePlugin.gs_binary = False


def check_size(picture: Image) -> None:
    """Raises DecompressionBombError for a picture of more than `MOST_PIXELS`; only the header has to be read for it."""
    from PIL import Image

    if picture.width * picture.height > MOST_PIXELS:
        said = f"{picture.width} x {picture.height} pixels are more than the limit of {MOST_PIXELS:,} for one picture"
        raise Image.DecompressionBombError(f"{said} (a decompression bomb?).")


class PixelCount:
    """Adds up the pixels of a doc's pictures as they are decoded."""

    def __init__(self) -> None:
        self.pixels = 0

    def add(self, picture: Image) -> None:
        """Raises ValueError when the doc has more than `MOST_PIXELS_OF_A_DOC`."""
        self.pixels += picture.width * picture.height
        if self.pixels > MOST_PIXELS_OF_A_DOC:
            raise ValueError(f"the pictures of this doc have more than {MOST_PIXELS_OF_A_DOC:,} pixels together.")


def eight_bits(picture: Image) -> Image:
    """The picture with 8 bits a channel; itself where it has them already. Pillow alone would clip to white or black.

    16 bits are scaled by their whole range, 65,535 to 255; a TIFF of 12 bits by its own, 4,095 to 255. PNG and PNM give 16 bits.
    Raises ValueError where no rule is right: numbers of 32 bits, signed ones and floats have no known white, and Pillow does not
    turn 16-bit TIFFs round whose white is 0.
    """
    mode = picture.mode
    if mode != "F" and mode != "I" and not mode.startswith("I;16"):
        return picture
    if mode == "F" or mode == "I" and picture.format not in ("PNG", "PPM"):
        kind = "floats" if mode == "F" else "signed or 32-bit numbers"
        raise ValueError(f"its pixels are {kind}, whose white is not known; store 8 or 16 bits a channel.")
    tags = getattr(picture, "tag_v2", {})
    if tags.get(262) == 0:
        raise ValueError("it is a 16-bit TIFF in which 0 is white; store it with 0 as black.")
    most = 4095 if tags.get(258) == (12,) else 65535
    return picture.convert("I").point(lambda value: value * (255 / most)).convert("L")


def as_rgb(picture: Image) -> Image:
    """What is hashed and what every adapter shows: RGB, 8 bits a channel, transparency dropped.

    Dropped means as Pillow's `convert("RGB")` does it, on which published numbers rest: the colours below stay as they are
    stored. A picture that already is that is not copied.
    """
    from PIL import Image

    in_memory = type(picture) is Image.Image and picture.mode == "RGB"
    return picture if in_memory else eight_bits(picture).convert("RGB")


def _shown_alike(picture: Image) -> bool:
    """Whether every reader shows the file's RGB pixels: it has no transparency to blend, and a single frame."""
    return not picture.has_transparency_data and not getattr(picture, "is_animated", False)


class PixelBudget:
    """Bounds the pixels that several threads have decoded at a time.

    A thread holds the pixels of a whole question at once, so that no two wait for each other. A question beyond the budget
    waits until it is alone.
    """

    def __init__(self, pixels: int) -> None:
        self._all = self._free = pixels
        self._changed = threading.Condition()

    @contextmanager
    def held(self, pixels: int) -> Iterator[None]:
        """Waits until so many pixels are free, and holds them inside the block."""
        pixels = min(pixels, self._all)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= pixels)
            self._free -= pixels
        try:
            yield
        finally:
            with self._changed:
                self._free += pixels
                self._changed.notify_all()


IN_FLIGHT = PixelBudget(PIXELS_IN_FLIGHT)
