"""Decodes picture files. Every picture of a row is opened here.

Only `FORMATS` are opened; none of their decoders starts a program or opens another file. `decoding` turns what a decoder raises
into the DataError of one doc. `decode_ahead` decodes the pictures of the next docs in threads, while the requests of the doc
before them are made; Pillow and hashlib work without Python's lock.
"""

from __future__ import annotations

import io
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache, partial
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from mm_eval.values.errors import ConfigError, DataError, MMEvalError
from mm_eval.values.types import Doc

if TYPE_CHECKING:
    from PIL.Image import Image

    from mm_eval.data.shared import Recent

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "DIB", "TIFF", "PPM", "JPEG2000", "AVIF")
"""The formats that are opened. Pillow reads EPS by starting Ghostscript, and IPTC by opening any format inside it."""

MOST_PIXELS = 178_956_970
"""The limit for one picture, checked in the header of its file. A task's code can turn off Pillow's own limit."""

MOST_PIXELS_OF_A_DOC = 1_000_000_000
"""The limit for all pictures of a doc, which are in memory together with 4 bytes for each pixel."""

PIXELS_IN_FLIGHT = 256_000_000
"""The limit for the pictures that all threads of an adapter decode and encode at a time (see `PixelBudget`)."""

LARGE = 2**24
"""A picture with more pixels is not kept for the next doc, and is hashed in strips."""

KEPT = 4
"""Decoded pictures that are kept for the next docs, which mostly show the same picture if any does."""

BLOCK_BYTES = 2**26
"""The size of the blocks in which Pillow stores a large picture (see `_formats`)."""

OPTIONAL_DECODERS = {"AVIF": "avif", "JPEG2000": "jpg_2000", "WEBP": "webp"}
"""Formats that a build of Pillow may lack, and the names of their decoders in `PIL.features`."""

FIRST_BYTES = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"II+\0": "TIFF",
    b"MM\0+": "TIFF",
    b"\0\0\0\x0cjP  ": "JPEG2000",
    b"\xff\x4f\xff\x51": "JPEG2000",
}
MOVING = ("GIF", "PNG", "WEBP", "AVIF")
"""Formats of which a file may be an animation."""

LONGEST_BRANDS = 256
"""The bytes in which an AVIF's brands are looked for."""

ORIENTATION = 0x0112
"""EXIF's tag of how a picture is turned."""

MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
SOURCE = "mm_eval.file"
"""Key of a picture's `info` for (format, bytes) of its file, if that file may be sent to a server."""


class decoding(AbstractContextManager[None]):
    """Turns what a decoder raises into a DataError that names the doc, and the picture's file if its `name` is known.

    On damaged bytes decoders raise struct.error, RuntimeError, KeyError, MemoryError and others, not only OSError.
    """

    def __init__(self, where: str, name: str = "") -> None:
        self.where, self.name = where, name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, MMEvalError):
            reason = str(error) or type(error).__name__
            picture = f"the picture {self.name[-200:]!r}" if self.name else "a picture"
            raise DataError(f"{picture} can't be decoded: {reason}", where=self.where) from error


def open_picture(
    content: bytes, check: Callable[[Image], None] = lambda picture: None, later: decoding | None = None
) -> Image:
    """A picture from a file's bytes (see `_decode`). The caller may change it.

    The last pictures are kept unless they are large. Their pixels are copied only if the caller changes them.
    check: called with the picture before its pixels are decoded; it may raise an error.
    later: a whole file that is shown as it is stored is decoded when its pixels are first used. Errors of then name the doc and
        the file of this.
    Raises what Pillow raises (see `decoding`).
    """
    checked = False

    def decode(content: bytes) -> Image:
        nonlocal checked
        checked = True
        return (_undecoded(content, check, later) if later else None) or _shareable(content, check)

    picture = _recent().get(content, decode, lambda each: each.width * each.height <= LARGE)
    if not checked:
        check(picture)
    shared = picture.copy()
    shared.format = picture.format
    return shared


@lru_cache(maxsize=1)
def _recent() -> Recent:
    from mm_eval.data.shared import Recent

    return Recent(KEPT)


def _shareable(content: bytes, check: Callable[[Image], None]) -> Image:
    """A picture from a file's bytes, whose copies share its pixels. Pixels with a palette are copied instead.

    The pixels of a picture whose digest is known are decoded when they are first used.
    """
    from mm_eval.data.known_pictures import key_of, known_pictures
    from mm_eval.data.shared import WITHOUT_PALETTE, Original, share

    key = key_of(content)
    digest = known_pictures().get(key)
    picture, plain = _decode(content, check) if digest is None else (_open_picture(content, check), True)
    is_file = plain and picture.format in MIME and _same_everywhere(picture)
    if is_file:
        picture.info[SOURCE] = picture.format, content
    if picture.mode not in WITHOUT_PALETTE:
        return picture
    own = content if is_file else None
    if digest is None:
        return share(picture, Original(picture.im, own, key=(lambda: key) if plain else None))
    return share(picture, Original(None, own, digest, decode=_decoder(content, picture), file_bytes=len(content)))


def _undecoded(content: bytes, check: Callable[[Image], None], later: decoding) -> Image | None:
    """A picture whose file is whole and shown as it is stored, by its header. None for any other file.

    Nothing is looked up or digested before it is needed.
    """
    from mm_eval.data.known_pictures import key_of
    from mm_eval.data.sent_files import MODES, is_plain
    from mm_eval.data.shared import Original, share

    if not is_plain(content):
        return None
    picture = _open_picture(content, check)
    turned = picture.format != "PNG" and picture.getexif().get(ORIENTATION) is not None  # a PNG would be decoded for it
    if turned or picture.format not in MIME or picture.mode not in MODES or not _same_everywhere(picture):
        return None
    picture.info[SOURCE] = picture.format, content
    decode, key = _decoder(content, picture, later), partial(key_of, content)
    return share(picture, Original(None, content, key=key, decode=decode, file_bytes=len(content), walked=True))


def _decoder(content: bytes, picture: Image, later: AbstractContextManager[None] | None = None) -> Callable[[], object]:
    """Gives the pixels of a file of which the header was read. later: as of `open_picture`."""
    form = picture.mode, picture.size

    def decoded() -> object:
        with later or nullcontext():
            whole, plain = _decode(content, lambda picture: None)
            if (whole.mode, whole.size) != form or not plain:
                raise ValueError(f"it has {whole.mode} pixels of {whole.size}, while its header states {form}.")
            return whole.im

    return decoded


def _open_picture(content: bytes, check: Callable[[Image], None]) -> Image:
    """A picture of which the header is read. The size in it is checked."""
    from PIL import Image, UnidentifiedImageError

    check_pillow()
    _require_decoder(content)
    try:
        picture: Image.Image = Image.open(io.BytesIO(content), formats=_formats())
    except UnidentifiedImageError:
        if content[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            what = "a TIFF of a kind that Pillow can't read, such as one with more bands than colours"
            raise UnidentifiedImageError(f"it is {what}; store the bands to show as PNG.") from None
        known = ", ".join(_formats())
        raise UnidentifiedImageError(f"its {len(content)} bytes are not a picture in one of: {known}.") from None
    check_size(picture)
    check(picture)
    return picture


def _require_decoder(content: bytes) -> None:
    """Raises DataError for a file whose decoder is missing in this build of Pillow."""
    from PIL import features

    kind = format_of(content)
    if kind in OPTIONAL_DECODERS and not features.check(OPTIONAL_DECODERS[kind]):
        what = f"the picture is {kind}, which this build of Pillow can't decode."
        raise DataError(what, hint="Install Pillow's own wheel: pip install -U --force-reinstall pillow")


def format_of(content: bytes) -> str:
    """The name of a picture file's format by its first bytes, as in `FORMATS`; empty for other bytes."""
    if brands := brands_of(content):
        return "AVIF" if brands & {b"avif", b"avis"} else ""
    if content[:4] == b"RIFF":
        return "WEBP" if content[8:12] == b"WEBP" else ""
    if content[:1] == b"P":
        return "PPM" if content[1:2] in (b"1", b"2", b"3", b"4", b"5", b"6") and content[2:3].isspace() else ""
    return next((name for start, name in FIRST_BYTES.items() if content.startswith(start)), "")


def brands_of(content: bytes) -> set[bytes]:
    """The brands in the first bytes of a file of the family of MP4, such as AVIF; empty for others."""
    if content[4:8] != b"ftyp":
        return set()
    size = min(int.from_bytes(content[:4], "big"), LONGEST_BRANDS)
    return {content[at : at + 4] for at in range(8, size, 4) if at != 12}  # the third word is a version


def is_moving(content: bytes) -> bool:
    """Whether a picture's file has several pictures that follow one another in time. Raises what Pillow raises."""
    if format_of(content) not in MOVING:
        return False
    return bool(getattr(_open_picture(content, lambda picture: None), "is_animated", False))


def size_of(content: bytes) -> tuple[int, int]:
    """(width, height) of the picture that `open_picture` gives of a file, from its header. Raises what Pillow raises."""
    picture = _open_picture(content, lambda picture: None)
    late = (b"eXIf", b"Raw profile type", b"XML:com.adobe.xmp")  # chunks of a PNG that may follow its pixels
    if picture.format == "PNG" and not any(name in content for name in late):
        return picture.size
    # a TIFF's size is upright already, and its orientation says so only once it is decoded
    sideways = picture.format != "TIFF" and picture.getexif().get(ORIENTATION) in (5, 6, 7, 8)
    return (picture.height, picture.width) if sideways else picture.size


def _decode(content: bytes, check: Callable[[Image], None]) -> tuple[Image, bool]:
    """(a picture from a file's bytes, turned upright by its EXIF orientation; whether its pixels are as the file stores them).

    The first frame of an animation. 16 bits a channel are scaled to 8 (see `eight_bits`).
    A truncated file is an error, and so is a Pillow that is set to fill such files with grey.
    """
    from PIL import ImageOps

    picture = _open_picture(content, check)
    picture.load()
    scaled = eight_bits(picture)
    if picture.getexif().get(ORIENTATION) is not None:
        return ImageOps.exif_transpose(scaled), False
    return scaled, scaled is picture


@lru_cache(maxsize=1)
def _formats() -> tuple[str, ...]:
    """The FORMATS that this Pillow can read; AVIF is new and may be missing in a build.

    Runs once and also sets the size of Pillow's blocks. By default a large picture is stored in blocks of 16 MiB. malloc
    keeps them for the thread that freed them: eight pictures of 178 megapixels, decoded one after another by six threads, left
    5.8 GB in use. Blocks of more than 32 MiB are returned to the system (2.2 GB).
    """
    from PIL import Image, _imaging

    _imaging.set_block_size(BLOCK_BYTES)
    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def check_pillow() -> None:
    """Raises ConfigError if Pillow is set to fill truncated pictures, and stops it from starting Ghostscript.

    Such a setting would be some other code's of this process: a task's code that changes it runs in one of its own. A task's
    function can still open any format that needs no other program.
    """
    from PIL import EpsImagePlugin, ImageFile

    EpsImagePlugin.gs_binary = False
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        what = "Pillow fills truncated pictures with grey in this process, so that a damaged picture would be shown to the model."
        raise ConfigError(what, hint="Set PIL.ImageFile.LOAD_TRUNCATED_IMAGES to False.")


def check_size(picture: Image) -> None:
    """Raises DecompressionBombError for a picture of more than `MOST_PIXELS`; only its header is read."""
    from PIL import Image

    if picture.width * picture.height > MOST_PIXELS:
        size = f"{picture.width} x {picture.height} pixels are more than the limit of {MOST_PIXELS:,} for one picture"
        raise Image.DecompressionBombError(f"{size} (a decompression bomb?).")


class PixelCount:
    """Adds up the pixels of a doc's pictures before they are decoded. most: the limit, by default `MOST_PIXELS_OF_A_DOC`."""

    def __init__(self, most: int | None = None) -> None:
        self.pixels, self.most = 0, MOST_PIXELS_OF_A_DOC if most is None else most

    def add(self, picture: Image) -> None:
        """Raises ValueError if the doc has more pixels than the limit."""
        self.pixels += picture.width * picture.height
        if self.pixels > self.most:
            raise ValueError(f"the pictures of this document have more than {self.most:,} pixels together.")


def eight_bits(picture: Image) -> Image:
    """The picture with 8 bits a channel. Pillow's own conversion would clip values to white or black.

    16 bits of grey are scaled by their whole range, 65,535 to 255, and rounded; a TIFF of 12 bits by 4,095 to 255. PNG and PNM
    have 16 bits.
    Raises ValueError where the white value is unknown: for 32-bit, signed and float pixels, and for 16-bit TIFFs in which 0 is
    white, which Pillow does not invert.
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
    return picture.convert("I").point(lambda value: value * (255 / most) + 0.5).convert("L")


def as_rgb(picture: Image) -> Image:
    """The picture that is hashed and that every adapter shows: RGB, 8 bits a channel, no transparency.

    Transparency is dropped as by Pillow's `convert("RGB")`, which published numbers are based on: the stored colours stay. A
    picture that is already in this form is not copied. Pillow notes a transparent colour of a palette in the `info` of the RGB
    picture, and processors of transformers would make every pixel of that colour white, so that the note is removed.
    """
    from PIL import Image

    from mm_eval.data.shared import SharedPicture

    in_memory = type(picture) in (Image.Image, SharedPicture) and picture.mode == "RGB"
    converted = picture if in_memory else eight_bits(picture).convert("RGB")
    if "transparency" in converted.info:
        converted = converted.copy()
        del converted.info["transparency"]
    return converted


def _same_everywhere(picture: Image) -> bool:
    """Whether every program shows the same pixels of this file: it has no transparency to blend, and a single frame."""
    return not picture.has_transparency_data and not getattr(picture, "is_animated", False)


class PixelBudget:
    """Limits the pixels that several threads have decoded at a time.

    A thread reserves the pixels of a whole question at once, so that two threads can't deadlock. A question larger than the
    budget waits until it is the only one.
    """

    def __init__(self, pixels: int) -> None:
        self._all = self._free = pixels
        self._changed = threading.Condition()

    @contextmanager
    def held(self, pixels: int) -> Iterator[None]:
        """Waits until this many pixels are free, and reserves them inside the block."""
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


MOST_WORKERS = 8

Load: TypeAlias = Callable[..., Doc]
"""load(doc_id) -> the whole doc; load(doc_id, most), for the threads, raises an error for more than `most` pixels."""


def cores() -> int:
    """The processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def decode_ahead(load: Load, doc_ids: Sequence[int]) -> Iterator[Callable[[int], Callable[[], Doc]]]:
    """Gives a function from each of these doc ids, in their order, to a function that gives the whole doc.

    Only decoding and hashing happen in the threads, never a task's own code. Docs with large pictures, and those that can't be
    decoded, are left to the caller's thread, so that memory stays bounded and errors are raised where the doc is used.
    """
    workers = min(cores(), MOST_WORKERS)
    if workers < 2 or len(doc_ids) < 2:
        yield lambda doc_id: lambda: load(doc_id)
        return
    share = PIXELS_IN_FLIGHT // (2 * workers)
    left, begun = iter(doc_ids), deque[Future[Doc]]()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="decode")

    def begin(count: int) -> None:
        begun.extend(pool.submit(load, doc_id, share) for doc_id in islice(left, count))

    def whole(doc_id: int) -> Callable[[], Doc]:
        waiting = [begun.popleft()]
        begin(1)

        def take() -> Doc:
            """The doc; decoded again at a second call, so that nothing holds its pictures."""
            if waiting:
                future = waiting.pop()
                if future.exception() is None:
                    return future.result()
            return load(doc_id)

        return take

    begin(2 * workers)
    try:
        yield whole
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
