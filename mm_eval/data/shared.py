"""Pictures that share their pixels until one of them is changed.

A picture is decoded once. It goes through `doc_to_visual`, which mostly begins with `convert("RGB")`, to
the digest, the thumbnail and the adapter. Copies of its pixels at these steps took a tenth of the time of a run without a model.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

WITHOUT_PALETTE = ("RGB", "RGBA", "L", "LA", "CMYK", "YCbCr", "1")
"""Modes whose pixels Pillow changes in no place but those that ask for a copy first."""


@dataclass
class Original:
    """A decoded picture and what is known of it.

    content: the file that has exactly these pixels and that any program would show so; None if there is none.
    digest: of its pixels as RGB, once it is known. lock: held while the digest is computed, so that one thread does it.
    """

    pixels: Any
    content: bytes | None = None
    digest: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)


class SharedPicture(Image.Image):
    """A picture of an `Original`. `copy`, and `convert` to its own mode, share its pixels; a change copies them first."""

    original: Original | None = None

    def load(self) -> Any:
        access = super().load()
        return _Pixels(self, access) if self.readonly else access

    def copy(self) -> Image.Image:
        original = original_of(self)
        return super().copy() if original is None else share(self, original)

    __copy__ = copy

    def convert(self, mode: str | None = None, *arguments: Any, **options: Any) -> Image.Image:
        if mode == self.mode and not arguments and not options and "transparency" not in self.info:
            return self.copy()
        return super().convert(mode, *arguments, **options)


class _Pixels:
    """What `load` gives: single pixels to read, and to write after the picture has a copy of its own."""

    def __init__(self, picture: SharedPicture, access: Any) -> None:
        self._picture, self._access = picture, access

    def __getitem__(self, place: Any) -> Any:
        return self._access[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        if self._picture.readonly:
            self._picture._copy()  # type: ignore[no-untyped-call, unused-ignore]
            self._access = super(SharedPicture, self._picture).load()
        self._access[place] = value


def share(picture: Image.Image, original: Original) -> Image.Image:
    """A picture with the pixels of an original and the information of `picture`."""
    shared = SharedPicture()
    shared.im = original.pixels
    shared._mode, shared._size = picture.mode, picture.size
    shared.info = picture.info.copy()
    shared.format = picture.format
    shared.readonly = 1
    shared.original = original
    return shared


def original_of(picture: Image.Image) -> Original | None:
    """The original whose pixels a picture still has."""
    original = picture.original if isinstance(picture, SharedPicture) else None
    return original if original is not None and picture.readonly and picture.im is original.pixels else None


@dataclass
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    picture: Image.Image | None = None


class Recent:
    """The last few pictures by their files' content; one that several threads ask for is decoded once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, content: bytes, decode: Callable[[bytes], Image.Image], keeps: Callable[[Image.Image], bool]
    ) -> Image.Image:
        """The picture of a file, decoded if it is not one of the last. keeps: whether it may stay in memory."""
        with self._lock:
            entry = self._entries.setdefault(content, _Entry())
            self._entries.move_to_end(content)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        with entry.lock:
            if (picture := entry.picture) is None:
                picture = decode(content)
                if keeps(picture):
                    entry.picture = picture
        return picture
