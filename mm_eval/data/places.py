"""Where the files are that rows name: in folders or in archives, at a URL, on this machine or in a repository of the hub.

`Places` reads them for the rows of a data set, `DataFiles` finds those in archives, and `put_in_place` unpacks one for task code
that looks for it at a path of its own.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mm_eval.data.archives import IN, archives_below, is_safe, members_of, open_member, split, unpack
from mm_eval.data.data_files import datasets_cache
from mm_eval.data.sound.forms import SUFFIXES as SOUNDS
from mm_eval.values.errors import DataError

SUFFIXES = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v", ".ts", ".mpg", ".mpeg", ".flv", ".wmv", ".3gp", ".ogv")
"""A column's text that ends with one of these names a file with frames and not a picture."""

TEXTS = (".srt", ".vtt", ".json", ".jsonl")
"""Files with subtitles."""

PICTURES = (
    ".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".webp", ".gif", ".bmp", ".dib", ".tif", ".tiff", ".pbm", ".pgm", ".ppm",
    ".pnm", ".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx", ".avif", ".avifs", ".heic", ".heif", ".jxl",
)  # fmt: skip
"""Pictures, which are read where they are in an archive. The last three can't be decoded, but are no videos either."""

NAMED = (*SUFFIXES, *TEXTS, *PICTURES, *SOUNDS)
"""The endings of files that rows name, in folders and archives."""

MOST_BYTES = 2**31
"""The largest picture file that is read, in bytes; no picture within the limit of pixels needs more."""


@dataclass(frozen=True)
class Places:
    """Where a row's picture files may be. roots: folders, the dataset's own first. urls: `--allow_url_media`.

    files: the videos, sounds and subtitles in the data's folders, and these and pictures in their archives.
    """

    roots: tuple[Path, ...] = ()
    urls: bool = False
    files: DataFiles | None = None

    def read(self, name: str) -> bytes:
        """The content of a file or URL that a row names. DataError if it is not allowed or can't be read."""
        if "://" in name:
            if not self.urls:
                raise DataError(f"the picture is a URL: {name[:200]!r}.", hint="Allow it with --allow_url_media.")
            from mm_eval.data.url_media import fetch

            return fetch(name)
        try:
            path = self.find(name)
        except DataError:
            packed = self.files.packed(name) if self.files is not None else None
            if packed is None:
                raise
            return packed
        if (size := path.stat().st_size) > MOST_BYTES:
            raise DataError(f"the picture {name[:200]!r} has {size:,} bytes; the limit is {MOST_BYTES:,}.")
        return path.read_bytes()

    def locate(self, name: str, kind: str = "video") -> str:
        """The path of a video, of its subtitles, or of a sound, `ARCHIVE::MEMBER` for one in an archive. DataError if there is
        none. kind: "video" or "sound", for the error."""
        with suppress(DataError):
            return str(self.find(name))
        if self.files is None or "\0" in name:
            raise DataError(f"there is no {kind} file {name[-200:]!r} below the data's folder.")
        return self.files.find(name)

    def subtitles(self, name: str) -> str | None:
        """As `locate`, for a file with subtitles. None if this video has none, while other videos of the data have some."""
        with suppress(DataError):
            return str(self.find(name))
        return self.files.find_subtitles(name) if self.files else self.locate(name)

    def find(self, name: str) -> Path:
        """The path of a file that a row names. DataError if it is not below one of the folders, symlinks followed."""
        if "\0" in name:
            raise DataError("a picture's file name contains a NUL byte.")
        for root in self.roots:
            if not os.path.isfile(os.path.join(root, name)):
                continue
            found = (root / name).resolve()
            if found.is_relative_to(root.resolve()):
                return found
        hint = "Rows name files relative to their dataset's folder."
        raise DataError(f"the picture {name[:200]!r} is not a file below the data's folder.", hint=hint)


PLACES: ContextVar[Places] = ContextVar("places", default=Places())  # noqa: B039 - a Places is frozen
"""Where the files are that the rows of a task's function name, while it is called (`media.shown_picture`)."""


class DataFile(NamedTuple):
    """Where one file is. path: its own, or `ARCHIVE::MEMBER`. names: its paths from the data's folder, by the parts of which it
    is found. own: the name that it has in its archive, or from the data's folder. content: what tells equal members in zips."""

    path: str
    names: tuple[tuple[str, ...], ...]
    own: str
    content: tuple[int, int] | None

    def ends_with(self, parts: tuple[str, ...]) -> bool:
        return any(name[-len(parts) :] == parts for name in self.names)


class DataFiles:
    """The files of a data set that rows name, found by the end of their path.

    `a/b.mp4` is a file or member below any folder whose path ends so. The name of an archive counts as a folder, as if it had
    been unpacked into one of its name. A file in a folder is used rather than an archive's member. The folders are read
    when the first name is looked for.

    roots: the folders, or a function that gives them. allowed: further folders that a link may lead to.
    """

    def __init__(self, roots: Sequence[Path] | Callable[[], Sequence[Path]], allowed: Sequence[Path] = ()) -> None:
        self._roots, self._allowed = roots, allowed
        self._places: dict[str, list[DataFile]] | None = None
        self._unread: list[str] = []
        self._lock = threading.Lock()

    def find(self, name: str) -> str:
        """The path of a file, or `ARCHIVE::MEMBER`.

        Errors: DataError if there is no such file or there are several; NotHereError if the repository is not on this machine.
        """
        parts, near = self._near(name)
        found = [place for place in near if place.ends_with(parts)]
        if not found:  # the same frames in another container
            found = [
                p for p in near if p.ends_with((*parts[:-1], os.path.basename(p.own))) and _has_frames(p.own, name)
            ]
        for better in (lambda p: IN not in p.path, lambda p: p.own == name):
            found = [place for place in found if better(place)] or found
        if not found:
            raise DataError(f"there is no file {name[-200:]!r} in the data's folders and archives.{self._note()}")
        if len(found) > 1 and (found[0].content is None or len({place.content for place in found}) > 1):
            listed = " and ".join(_short(place) for place in found[:2])
            raise DataError(f"there are {len(found)} files {name[-200:]!r}: {listed}.", hint="Name its folder, too.")
        return found[0].path

    def _near(self, name: str) -> tuple[tuple[str, ...], list[DataFile]]:
        """The parts of a name, and the files with the same last part but for its ending."""
        parts = tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))
        if not parts or not is_safe(name):
            raise DataError(f"{name[-200:]!r} is not the name of a file below the data's folder.")
        with self._lock:
            if self._places is None:
                self._places = self._read()
            places = self._places
        return parts, places.get(_stem(parts[-1]), [])

    def packed(self, name: str) -> bytes | None:
        """The content of a file in an archive; None if no archive has a file of this name.

        Errors: DataError if there are several, if it is too large, or if the archive can't be read.
        """
        if not is_safe(name):
            return None
        parts, near = self._near(name)
        if not any(place.ends_with(parts) for place in near) and not self._unread:
            return None
        path = self.find(name)
        if IN not in path:
            return None
        with open_member(path) as (file, size):
            if size > MOST_BYTES:
                raise DataError(f"the file {name[-200:]!r} has {size:,} bytes; the limit is {MOST_BYTES:,}.")
            return file.read(size)

    def find_subtitles(self, name: str) -> str | None:
        """As `find`; None if this one is missing, and there are others of its kind and no archive that can't be read."""
        try:
            return self.find(name)
        except DataError:
            suffix = os.path.splitext(name)[1].lower()
            others = (place for each in (self._places or {}).values() for place in each)
            if is_safe(name) and not self._unread and any(place.own.lower().endswith(suffix) for place in others):
                return None
            raise

    def _read(self) -> dict[str, list[DataFile]]:
        places: dict[str, list[DataFile]] = defaultdict(list)
        roots = [Path(root) for root in (self._roots() if callable(self._roots) else self._roots)]
        allowed = [folder.resolve() for folder in (*roots, *self._allowed)]
        for root in roots:
            for folder, inner, files in os.walk(root):
                inner[:] = sorted(name for name in inner if not name.startswith("."))
                below = os.path.relpath(folder, root)
                within = () if below == "." else tuple(below.split(os.sep))
                for file in sorted(files):
                    path = os.path.join(folder, file)
                    if file.lower().endswith(NAMED) and _is_below(path, allowed):
                        name = (*within, file)
                        places[_stem(file)].append(DataFile(path, (name,), "/".join(name), None))
                readable, others = archives_below(folder, files)
                self._unread += [f"{name!r} can be read only as a whole: unpack it there" for name in sorted(others)]
                for archive in sorted(readable):
                    self._add(archive, within, places, allowed)
        return dict(places)

    def _add(
        self, archive: str, within: tuple[str, ...], places: dict[str, list[DataFile]], allowed: list[Path]
    ) -> None:
        if os.path.exists(archive) and not _is_below(archive, allowed):
            return
        try:
            members = members_of(archive)
        except DataError as error:
            self._unread.append(error.what.rstrip("."))
            return
        stem = os.path.splitext(os.path.basename(archive))[0]
        for member in members.values():
            if member.name.lower().endswith(NAMED):
                name = tuple(member.name.split("/"))
                names = ((*within, *name), (*within, stem, *name))
                content = None if member.check is None else (member.size, member.check)
                places[_stem(name[-1])].append(DataFile(f"{archive}{IN}{member.name}", names, member.name, content))

    def _note(self) -> str:
        more = f"; and {len(self._unread) - 3} more" if len(self._unread) > 3 else ""
        return f" {'; '.join(self._unread[:3])}{more}." if self._unread else ""


def _stem(file: str) -> str:
    return os.path.splitext(file)[0].casefold()


def _has_frames(*names: str) -> bool:
    return all(name.lower().endswith(SUFFIXES) for name in names)


def _short(place: DataFile) -> str:
    archive, mark, member = place.path.partition(IN)
    return f"{member!r} in {os.path.basename(archive)!r}" if mark else repr(place.own)


def _is_below(path: str, folders: Sequence[Path]) -> bool:
    real = Path(path).resolve()
    return any(real.is_relative_to(folder) for folder in folders)


FILES_KEY = "video"
"""The key of `dataset_kwargs` that says that the hub's repository has the files that rows name, as in lmms-eval."""


def has_files(kwargs: Mapping[str, object]) -> bool:
    """Whether `dataset_kwargs` say that the repository has the files that rows name."""
    return bool(kwargs.get(FILES_KEY))


def files_named(kwargs: Mapping[str, object]) -> list[str]:
    """The names and patterns under `data_files` of `dataset_kwargs`, of all splits."""
    found = kwargs.get("data_files") or ()
    parts = found.values() if isinstance(found, Mapping) else [found]
    return [str(name) for part in parts for name in (part if isinstance(part, list | tuple) else [part])]


def places_of(
    folder: Path | None, kwargs: Mapping[str, object], urls: bool, repository: Callable[[], Sequence[Path]] | None
) -> Places:
    """The dataset's folder, the folders of its data files, and the caches of the hub.

    The files that rows name are also found in archives there, and with `dataset_kwargs: {video: true}` in the hub's repository.
    folder: of the dataset on this machine, None if its rows are from the hub. repository: gives the folder with all files of the
    hub's repository, which it downloads; called when the first file is looked for.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    own = [folder] if folder is not None else []
    base = folder or Path()  # of a dataset on this machine its files are meant, and not those of the working directory
    own += [(base / name).parent for name in files_named(kwargs) if "://" not in name and "*" not in name]
    own += [Path(str(kwargs["data_dir"]))] if kwargs.get("data_dir") else []
    own = list(dict.fromkeys(own))
    caches = (Path(HF_HUB_CACHE), datasets_cache())
    files_below = DataFiles(repository if has_files(kwargs) and repository is not None else own, caches)
    if has_files(kwargs) and kwargs.get("cache_dir"):
        keep_in(str(kwargs["cache_dir"]), files_below)
    return Places((*own, *caches), urls, files_below)


_known: dict[str, DataFiles] = {}
_lock = threading.Lock()


def keep_in(cache_dir: str, files: DataFiles) -> None:
    """From now on the files of a data set are found below `$HF_HOME/<cache_dir>`, too, by `put_in_place`."""
    with _lock:
        _known[os.path.join(home_of_hub(), os.path.normpath(cache_dir), "")] = files


def home_of_hub() -> str:
    """The folder that HF_HOME names, below which lmms-eval unpacks the files of data sets."""
    return os.path.abspath(os.path.expanduser(os.environ.get("HF_HOME") or "~/.cache/huggingface"))


def put_in_place(path: str) -> bool:
    """Puts a file of a data set at the path at which lmms-eval would have unpacked it. False if it has none there.

    lmms-eval's task code looks for unpacked files in `$HF_HOME/<cache_dir>`. It checks with os.path.exists that a file is there,
    and leaves the process or its subtitles if it isn't. lmms-eval has unpacked everything by then. Here each file is put in its
    place when it is first looked for, since the path is the code's own.
    Errors: DataError if it can't be read or written.
    """
    full = os.path.abspath(path)
    files, name = next(
        ((each, full[len(home) :]) for home, each in _known.items() if full.startswith(home)), (None, "")
    )
    if files is None or not os.path.splitext(name)[1]:
        return False
    try:
        found = files.find(name)
    except DataError:
        return False
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if split(found) is None:
        os.symlink(os.path.abspath(found), full)
    else:
        unpack(found, Path(full))
    return True
