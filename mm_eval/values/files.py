"""Reading and writing files safely: whole files put in place in one step, complete writes, syncs; reading Python source.

`encoder` makes the JSON of records, of which a run writes hundreds of thousands.

Standard library only, so that every folder may import it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from json import encoder as _json
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast


def write_atomic(path: Path, content: str | bytes | Iterable[str], *, durable: bool = True) -> None:
    """Puts a whole file in place, or leaves the old one: written beside it, synced, renamed. Makes missing folders.

    content: all of it, or its parts in order. Text is written as UTF-8, unpaired surrogates as backslash escapes.
    durable: when the call returns the file survives a power failure. False for files that can be made again: no sync.
    Errors: OSError, and whatever iterating over the parts raises; the temporary file is removed in both cases.
    """
    parts = [content] if isinstance(content, (str, bytes)) else content
    with replacing(path, durable=durable) as beside, beside.open("wb") as file:
        for part in parts:
            file.write(part.encode("utf-8", "backslashreplace") if isinstance(part, str) else part)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    if durable:
        sync_folder(path.parent)


@contextmanager
def replacing(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A path beside `path` to write to. At the end of the block that file takes the place of `path`. Makes missing folders.

    After an error in the block the file is removed, and `path` is as it was. OSError for a device or a pipe, such as
    /dev/stdout: it would be replaced by a file.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    # The last part but one is the pid, by which RunFolder finds what killed processes left; the random part keeps threads and
    # other hosts apart.
    beside = path.with_name(f".{path.name}.{os.urandom(3).hex()}.{os.getpid()}.tmp")
    try:
        make_folder(path.parent) if durable else path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def write_all(fd: int, data: bytes) -> None:
    """Writes all bytes, however few `os.write` takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def cache_folder() -> Path:
    """Where all that can be made again is kept: `$MM_EVAL_CACHE`, else `mm_eval` in the user's cache folder."""
    if own := os.environ.get("MM_EVAL_CACHE"):
        return Path(own).absolute()
    root = os.environ.get("XDG_CACHE_HOME", "")
    return Path(root if os.path.isabs(root) else os.path.join(os.path.expanduser("~"), ".cache"), "mm_eval")


def make_folder(path: Path) -> None:
    """Makes a folder and those around it that are missing. Their names survive a power failure: each parent is synced."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        with suppress(PermissionError):  # a parent that may be entered and not read
            sync_folder(each.parent)


def sync(fd: int) -> None:
    """Puts the content of a file on the disk. macOS has no fdatasync."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        os.fsync(fd)


_PARSING = RLock()
"""Two threads that make syntax trees at a time disturb each other in Python 3.11 (SystemError)."""


def parse_python(source: str | bytes) -> ast.Module:
    """The syntax tree of Python source. One thread makes one at a time."""
    import ast

    with _PARSING:
        return ast.parse(source)


def python_value(text: str) -> object:
    """The value of a Python literal such as "['a', 'b']", of which a syntax tree is made, too.

    Errors: those of `ast.literal_eval`: ValueError and SyntaxError for any other text.
    """
    import ast

    with _PARSING:
        return ast.literal_eval(text)


def sync_folder(folder: Path) -> None:
    """Makes new and renamed entries of a folder durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def encoder(**options: Any) -> Callable[[object], str]:
    """The `encode` of `json.JSONEncoder(**options)`, without indent. Its compiled part is made once, which saves a third.

    >>> encoder(separators=(",", ":"))({"a": [1, None]})
    '{"a":[1,null]}'
    """
    made = json.JSONEncoder(**options)
    compiled: Any = getattr(_json, "c_make_encoder", None)
    if compiled is None:  # a Python without compiled modules
        return made.encode
    text = _json.encode_basestring_ascii if made.ensure_ascii else _json.encode_basestring
    parts = compiled(
        None,  # no look-out for circles: records are made of plain values
        made.default,
        text,
        None,
        made.key_separator,
        made.item_separator,
        made.sort_keys,
        made.skipkeys,
        made.allow_nan,
    )

    def encode(value: object) -> str:
        return "".join(parts(value, 0))

    return encode


_canonical = encoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))
_quoted = _json.encode_basestring


def digest_of(value: object) -> str:
    """sha256 of the canonical JSON of a value: one digest for equal values."""
    return hashlib.sha256(_canonical(value).encode("utf-8", "surrogatepass")).hexdigest()


def digests_with(common: dict[str, object], key: str) -> Callable[[str], str]:
    """A function of a text: `digest_of({**common, key: text})`. What comes before the text is written and hashed once.

    >>> digests_with({"a": 1, "b": "one", "c": 3}, "b")("two") == digest_of({"a": 1, "b": "two", "c": 3})
    True
    """
    before = _canonical({name: value for name, value in common.items() if name < key})
    after = _canonical({name: value for name, value in common.items() if name > key})
    begun = hashlib.sha256(f"{before[:-1]}{',' * (before != '{}')}{_quoted(key)}:".encode("utf-8", "surrogatepass"))
    end = f"{',' * (after != '{}')}{after[1:]}"

    def digest(text: str) -> str:
        whole = begun.copy()
        whole.update((_quoted(text) + end).encode("utf-8", "surrogatepass"))
        return whole.hexdigest()

    return digest
