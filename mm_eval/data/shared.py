"""Pictures that share their pixels until one of them is changed.

A picture is decoded once. It goes through `doc_to_visual`, which mostly begins with `convert("RGB")`, to
the digest, the thumbnail and the adapter. Copies of its pixels at these steps took a tenth of the time of a run without a model.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PIL import Image
from PIL._util import DeferredError

WITHOUT_PALETTE = ("RGB", "RGBA", "L", "LA", "CMYK", "YCbCr", "1")
"""Modes whose pixels Pillow changes in no place but those that ask for a copy first."""

GREY = ("L", "1")
"""Modes of which every program makes the same RGB."""


class Original:
    """A picture and what is known of it. Its pixels may be decoded only when they are first used.

    content: the file that has exactly these pixels and that any program would show so; None if there is none.
    digest: of its pixels as RGB, once it is known. key: gives that of its file, under which the digest is remembered; None to
    remember none. walked: `content` is known to be whole. file_digest: as of `file_identity`, empty where there is none; None
    before it was asked for.
    of: the original whose pixels, converted to RGB, these are; it has their digest. decode: gives the pixels when they are first
    used, from `file_bytes` bytes that stay in memory. held: the pixels, None before. decoded: called after `decode`. lock: held
    while pixels or digest are computed, so that one thread does it.
    """

    def __init__(
        self,
        pixels: object = None,
        content: bytes | None = None,
        digest: str | None = None,
        key: Callable[[], bytes] | None = None,
        decode: Callable[[], object] | None = None,
        of: Original | None = None,
        file_bytes: int = 0,
        walked: bool = False,
    ) -> None:
        self.held, self.content, self.digest, self.key = pixels, content, digest, key
        self.walked = walked
        self.file_digest: str | None = None
        self._of = of
        self.file_bytes = file_bytes
        self.lock = threading.RLock()
        self._as_rgb: weakref.ref[Original] | None = None  # it holds this one
        self.decoded: Callable[[], None] | None = None
        self._decode = decode

    @property
    def root(self) -> Original:
        """The original that knows the digest."""
        return self._of or self

    def as_rgb(self, picture: SharedPicture) -> Original:
        """The original of a picture's pixels as RGB, which are converted when they are first used. picture: has these pixels."""
        with self.lock:
            known = self._as_rgb() if self._as_rgb is not None else None
            if known is None:
                same = share(picture, self)  # the picture may be changed before
                own = self.content if picture.mode in GREY else None
                known = Original(None, own, decode=lambda: Image.Image.convert(same, "RGB").im, of=self)
                self._as_rgb = weakref.ref(known)
            return known

    @property
    def pixels(self) -> object:
        """Pillow's pixels, decoded once."""
        if self.held is None and self._decode is not None:
            with self.lock:
                if self.held is None:
                    self.held = self._decode()
                    if self.decoded is not None:
                        self.decoded()
        return self.held


class SharedPicture(Image.Image):
    """A picture of an `Original`. `copy`, and `convert` to its own mode, share its pixels; a change copies them first."""

    original: Original | None = None
    readonly: int = 0  # in Pillow a property that asks for the pixels
    _own: object = None

    @property
    def im(self) -> Any:
        """The pixels, decoded now if they have not been."""
        if self._own is None and self.original is not None:
            self._own = self.original.pixels
        if isinstance(self._own, DeferredError):  # the picture was closed
            raise self._own.ex
        return self._own

    @im.setter
    def im(self, pixels: object) -> None:
        self._own = pixels

    _im = im

    def load(self) -> Any:
        access = super().load()
        return _Pixels(self, access) if self.readonly else access

    def copy(self) -> Image.Image:
        original = original_of(self)
        return super().copy() if original is None else share(self, original)

    __copy__ = copy

    def convert(self, mode: str | None = None, *arguments: Any, **options: Any) -> Image.Image:
        if arguments or options or "transparency" in self.info:
            return super().convert(mode, *arguments, **options)
        if mode == self.mode:
            return self.copy()
        original = original_of(self)
        if mode != "RGB" or original is None:
            return super().convert(mode)
        return share(self, original.as_rgb(self), "RGB")


class _Pixels:
    """What `load` gives: single pixels to read, and to write after the picture has a copy of its own."""

    def __init__(self, picture: SharedPicture, access: Any) -> None:
        self._picture, self._access = picture, access

    def __getitem__(self, place: Any) -> object:
        return self._access[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        if self._picture.readonly:
            self._picture._copy()  # type: ignore[no-untyped-call, unused-ignore]
            self._access = super(SharedPicture, self._picture).load()
        self._access[place] = value


def share(picture: Image.Image, original: Original, mode: str | None = None) -> Image.Image:
    """A picture with the pixels of an original and the information of `picture`. mode: by default that of `picture`."""
    shared = SharedPicture()
    shared._mode, shared._size = mode or picture.mode, picture.size
    shared.info = picture.info.copy()
    shared.format = None if mode else picture.format
    shared.readonly = 1
    shared.original = original
    return shared


def original_of(picture: Image.Image) -> Original | None:
    """The original whose pixels a picture still has."""
    original = picture.original if isinstance(picture, SharedPicture) else None
    if original is None or not isinstance(picture, SharedPicture) or not picture.readonly:
        return None
    return original if picture._own is None or picture._own is original.held else None


def undecoded(picture: Image.Image) -> Original | None:
    """What a picture's pixels will be decoded from; None if they are in memory."""
    original = original_of(picture)
    return original if original is not None and original.held is None else None


@dataclass(eq=False)
class _Entry:
    content: bytes
    lock: threading.Lock = field(default_factory=threading.Lock)
    picture: Image.Image | None = None


class Recent:
    """The last few pictures by their files' content; one that several threads ask for is decoded once.

    Files are compared, which ends at their first other byte; a hash would read each of them whole.
    """

    def __init__(self, most: int) -> None:
        self._entries: deque[_Entry] = deque(maxlen=most)
        self._lock = threading.Lock()

    def get(
        self, content: bytes, decode: Callable[[bytes], Image.Image], keeps: Callable[[Image.Image], bool]
    ) -> Image.Image:
        """The picture of a file, decoded if it is not one of the last. keeps: whether it may stay in memory."""
        with self._lock:
            entry = next((each for each in self._entries if each.content == content), None)
            if entry is None:
                entry = _Entry(content)
            else:
                self._entries.remove(entry)
            self._entries.append(entry)
        with entry.lock:
            if (picture := entry.picture) is None:
                picture = decode(content)
                if keeps(picture):
                    entry.picture = picture
        return picture
