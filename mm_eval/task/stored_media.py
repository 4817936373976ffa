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
from mm_eval.task.media import open_picture

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Places:
    """Where the pictures that a row names may be. roots: folders, the data's own first; urls: `--allow_url_media`."""

    roots: tuple[Path, ...] = ()
    urls: bool = False

    def read(self, name: str) -> bytes:
        """The file that a row names, or what its URL gives. DataError when it is not allowed or can't be read."""
        return self._fetch(name) if "://" in name else self.find(name).read_bytes()

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


def decoded(feature: Any, value: Any, places: Places) -> Any:
    """A stored value with its pictures opened. DataError, or what Pillow raises, when one can't be."""
    if value is None:
        return None
    if type(feature).__name__ == "Image":
        return _picture(feature, value, places)
    inner = getattr(feature, "feature", feature[0] if isinstance(feature, list) and feature else None)
    if isinstance(inner, Mapping) and isinstance(value, Mapping):  # a list of records is stored as a record of lists
        return {
            name: [decoded(inner[name], item, places) for item in items] if isinstance(items, list) else items
            for name, items in value.items()
        }
    if inner is not None and isinstance(value, list):
        return [decoded(inner, item, places) for item in value]
    if isinstance(feature, Mapping) and isinstance(value, Mapping):
        return {name: decoded(feature[name], item, places) for name, item in value.items()}
    return value


def _picture(feature: Any, value: Any, places: Places) -> Image | Any:
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
    return picture if feature.mode in (None, picture.mode) else picture.convert(feature.mode)


def only_pictures(feature: Any) -> bool:
    """Whether a column's media are pictures alone, so that `decoded` can open them (not video, audio or PDF)."""
    name = type(feature).__name__
    if name in {"Video", "Audio", "Pdf"}:
        return False
    inner = getattr(feature, "feature", None)
    parts = feature.values() if isinstance(feature, Mapping) else feature if isinstance(feature, list) else [inner]
    return all(only_pictures(part) for part in parts if part is not None)
