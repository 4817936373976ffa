"""Pictures as rows name them: bytes, a file below the data's own folder, or a URL where the user allowed that.

A row is data, not a config: whoever wrote it must not be able to read another file of this machine into a prompt, or to
reach a host in its network.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.errors import DataError
from mm_eval.task.decode import PixelCount, open_picture

if TYPE_CHECKING:
    from PIL.Image import Image

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
