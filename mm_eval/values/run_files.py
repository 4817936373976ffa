"""Reads the files of a run folder. A run folder is data from a stranger: people exchange them.

Every file of one is opened here, and nowhere else:

- It must be a regular file. A pipe or a device would block, or never end.
- A link is followed inside the folder only.
- What is read is bounded: a file of JSON, a line of JSON lines, and how deep values lie in each other.

Standard library and errors only, so that every folder may import it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from mm_eval.values.errors import ConfigError, MMEvalError, StoreError, kind_and_text

if TYPE_CHECKING:
    from mm_eval.values.types import JsonObject

RUN_FILE = "run.json"
FORMAT = 1
"""The form of a run folder, which run.json states as its `format`. The next form needs a reader for this one."""
DEPTH = 200
"""How deep lists and mappings may lie in each other. Rows of real data need less than 20."""
MOST_JSON = 256 * 2**20
"""Bytes of run.json, results.json and files.json."""
MOST_LINE = 64 * 2**20
"""Bytes of a line of a journal, of samples/ and of the thumbnails. An answer of 10 million characters takes 60 MB at most."""
MOST_FILE = 64 * 2**30
"""Bytes of a file that is read line by line."""


class OtherFormatError(ConfigError):
    """A run folder is of a format that this version does not read."""


def real_path(path: Path) -> Path:
    """A path without links. A circle of links, at which `Path.resolve` raises RuntimeError, stands for itself."""
    return Path(os.path.realpath(path))


def is_inside(folder: Path, path: Path) -> bool:
    """Whether a path lies in a run folder, also when links are followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # a circle of links, or a name that no file can have
        return False


def refuse_links_out(folder: Path, *names: str) -> None:
    """OSError if one of these parts of a run folder is a link to outside of it. For what is going to be written."""
    for name in names:
        if not is_inside(folder, folder / name):
            raise _unsafe(folder / name, "it is a link to outside of the run folder, which is not followed")


def open_regular(folder: Path, path: Path, most: int = MOST_FILE) -> BinaryIO:
    """A file of a run folder, open for reading.

    Errors: OSError for what is missing, no regular file, a link to outside of the folder, or of more than `most` bytes.
    """
    try:
        real = path.resolve(strict=True)
        inside = real.is_relative_to(folder.resolve())
    except (RuntimeError, ValueError) as error:  # a circle of links, or a name that no file can have
        raise _unsafe(path, str(error)) from error
    if not inside:
        raise _unsafe(path, "it is a link to outside of the run folder, which is not followed")
    fd = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise _unsafe(path, "it is not a regular file")
        if found.st_size > most:
            raise _unsafe(path, f"it has {found.st_size:,} bytes, more than a run writes ({most:,})", errno.EFBIG)
        return open(fd, "rb")
    except BaseException:
        os.close(fd)
        raise


def read_bytes(folder: Path, path: Path, most: int = MOST_JSON) -> bytes:
    """The content of a file of a run folder. Errors as of `open_regular`."""
    with open_regular(folder, path, most) as file:
        return file.read(most + 1)[:most]


def lines_of(folder: Path, path: Path, start: int = 0, most: int = MOST_LINE) -> Iterator[tuple[int, bytes | None]]:
    """(place, line) of each line of a file, the last one also without a newline; None for a line of more than `most` bytes.

    A line without a newline is the last one, also if its rest is written meanwhile: that would be read as a line of its own.
    Errors as of `open_regular`.
    """
    with open_regular(folder, path) as file:
        file.seek(start)
        at = start
        while line := file.readline(most):
            begun, whole = at, True
            at += len(line)
            while len(line) == most and not line.endswith(b"\n"):  # the rest of a line that is too long
                whole = False
                line = file.readline(most)
                at += len(line)
            yield begun, line if whole else None
            if not line.endswith(b"\n"):
                return


def journal_files(folder: Path) -> list[Path]:
    """The journal's files in the order of their names; none where there is no journal.

    Raises StoreError for a journal outside of the folder, and for a path that no folder can have.
    """
    try:
        refuse_links_out(folder, "journal")
        return sorted((folder / "journal").glob("*.jsonl"))
    except OSError as error:
        raise StoreError(f"the journal can't be read: {error.strerror}.", where=str(folder)) from error


def json_value(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it is none, or if values lie too deep in each other.

    >>> json_value(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        value = json.loads(text)
    except RecursionError:
        raise too_deep() from None
    marks = (b"[", b"{") if isinstance(text, bytes) else ("[", "{")
    if sum(map(text.count, marks)) > DEPTH and not is_shallow(value):  # type: ignore[arg-type]
        raise too_deep()
    return value


def is_shallow(value: object, depth: int = DEPTH) -> bool:
    """Whether lists and mappings lie at most `depth` deep in each other."""
    level = [value]
    for _ in range(depth):
        level = [
            item
            for each in level
            if isinstance(each, (dict, list, tuple))
            for item in (each.values() if isinstance(each, dict) else each)
            if isinstance(item, (dict, list, tuple))
        ]
        if not level:
            return True
    return False


def too_deep() -> ValueError:
    return ValueError(f"values are nested more than {DEPTH} deep")


def read_json(folder: Path, name: str, hint: str = "") -> JsonObject:
    """A file of a run folder that is a JSON object.

    Errors: StoreError if it is none; OSError for an unreadable one, of which `folder_error` of the engine makes a sentence;
    OtherFormatError for a run.json of another format, so that no verb takes a folder of one for a run.
    """
    path = folder / name
    content = read_bytes(folder, path)
    try:
        value = json_value(content.decode("utf-8"))
    except ValueError as error:
        raise StoreError(f"it is not valid JSON: {error}.", where=str(path), hint=hint) from error
    if not isinstance(value, dict):
        raise StoreError("it is not a JSON object.", where=str(path), hint=hint)
    if name == RUN_FILE:
        _check_format(value.get("format"), path)
    return value


def _check_format(stated: object, path: Path) -> None:
    """OtherFormatError for the run.json of a folder that this version does not read."""
    if type(stated) is not int or stated < FORMAT:
        what = f"this mm-eval reads run folders whose run.json states `format: {FORMAT}`, and this one does not."
        raise OtherFormatError(what, where=str(path), hint="Run it again with this version, in another folder.")
    if stated > FORMAT:
        what = f"a newer mm-eval wrote this run folder: it has format {stated}, and this one reads {FORMAT}."
        raise OtherFormatError(what, where=str(path), hint="Read it with the version that wrote it.")


UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    ArithmeticError,
    RecursionError,
)
"""What reading a value of another form than a run writes may raise."""


def odd_content(error: Exception, where: Path | str) -> MMEvalError:
    """The error of a run folder whose values are not what a run writes."""
    said = kind_and_text(error)[:300]
    hint = "mm-eval score RUN writes results and samples again."
    return StoreError(f"the run folder is not what a run writes ({said}).", where=str(where), hint=hint)


def _unsafe(path: Path, what: str, number: int = errno.EINVAL) -> OSError:
    return OSError(number, what, str(path))
