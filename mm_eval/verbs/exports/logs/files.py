"""Reads the files of logs as streams: JSON lines, and one large JSON document (tables are in tables.py).

A log is data from a stranger: nothing of it is run, each file must be a regular one, and what is held at a time is bounded by one
entry of it. What can't be read is a ConfigError with the file and, where there is one, the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from mm_eval.values.errors import ConfigError
from mm_eval.values.run_files import DEPTH, MOST_LINE, UNREADABLE, is_shallow, json_value, open_regular
from mm_eval.values.types import JsonObject

T = TypeVar("T")
CHUNK = 2**20
MOST_MEMBER = 4 * MOST_LINE
"""Bytes of one file in an archive (.eval, .xlsx), unpacked."""
XLSX_CELL = 32_767
"""Characters of a cell of xlsx: longer text was cut when the file was written."""


def damaged(path: Path | str, what: object, line: int | None = None, hint: str = "") -> ConfigError:
    """The error of a file that can't be read."""
    where = str(path) if line is None else f"{path}:{line}"
    said = str(what).strip().rstrip(".").split("\n")[0][:300]
    return ConfigError(f"the log can't be read: {said}.", where=where, hint=hint)


class OddValue(TypeError):
    """A value of a log has a type that its suite does not write. Its text is a sentence."""


@contextmanager
def reading(path: Path | str, line: int | None = None) -> Iterator[None]:
    """Inside, a value of a wrong type is a ConfigError with file and line."""
    try:
        yield
    except UNREADABLE as error:
        said = str(error) if isinstance(error, OddValue) else f"a value is not what the suite writes ({error!r})"
        raise damaged(path, said, line) from error


def as_mapping(value: object, name: str) -> JsonObject:
    """A part of a log that is a JSON object; an empty one where it is missing. name: for the error."""
    return _as({} if value is None else value, dict, name, "an object")


def as_list(value: object, name: str) -> list[Any]:
    """A part of a log that is a list; an empty one where it is missing."""
    return _as([] if value is None else value, list, name, "a list")


def as_text(value: object, name: str) -> str:
    """A part of a log that is a text; an empty one where it is missing."""
    return _as("" if value is None else value, str, name, "a text")


def _as(value: object, kind: type[T], name: str, said: str) -> T:
    if not isinstance(value, kind):
        raise OddValue(f"`{name}` is {shown(value)} where {said} is needed")
    return value


def shown(value: object) -> str:
    """A value for a sentence, of bounded length."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def opened(path: Path) -> IO[bytes]:
    """A file of a log, open for reading."""
    try:
        return open_regular(path.parent, path)
    except OSError as error:
        raise damaged(path, error.strerror or error) from error


def head(path: Path, most: int = 4096) -> bytes:
    """The first bytes of a file."""
    with opened(path) as file:
        return file.read(most)


def entries(path: Path, key: str = "") -> Iterator[tuple[int, Any]]:
    """(line, entry) of JSON lines, or of a JSON list, or of the list under `key` of a JSON object. The line of a list is 0."""
    start = head(path).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[" or key and start == b"{":
        yield from ((0, value) for name, value in document(path, [key or ""]) if name == (key or ""))
        return
    yield from json_lines(path)


def json_lines(path: Path) -> Iterator[tuple[int, object]]:
    """(line, value) of each line that is not empty."""
    with opened(path) as file:
        number = 0
        while line := file.readline(MOST_LINE):
            number += 1
            if len(line) == MOST_LINE and not line.endswith(b"\n"):
                raise damaged(path, f"the line has more than {MOST_LINE:,} bytes", number)
            text = line.strip(b"\r\n \t\0\xef\xbb\xbf")
            if not text:
                continue
            try:
                yield number, json_value(text.decode("utf-8"))
            except ValueError as error:
                cut = not line.endswith(b"\n")
                raise damaged(path, "the file ends in the middle of a line" if cut else error, number) from error


def document(path: Path, streamed: Iterable[str] = ()) -> Iterator[tuple[str, Any]]:
    """(key, value) of a JSON object; of the keys in `streamed`, (key, element) of each element of their list.

    A document that is a list has the key "". One value at a time is held in memory.
    """
    with opened(path) as file:
        yield from _Document(file, path, frozenset(streamed)).read()


class _Document:
    """Walks through the top of a JSON document."""

    def __init__(self, file: IO[bytes], path: Path, streamed: frozenset[str]) -> None:
        self._file, self._path, self._streamed = file, path, streamed
        self._text, self._at, self._ended = "", 0, False
        self._rest = b""
        self._decode = json.JSONDecoder().raw_decode

    def read(self) -> Iterator[tuple[str, Any]]:
        first = self._next()
        if first == "\ufeff":
            first = self._next()
        if first == "[":
            yield from (("", value) for value in self._elements())
        elif first == "{":
            yield from self._members()
        else:
            raise damaged(self._path, "it is not a JSON object or list")

    def _members(self) -> Iterator[tuple[str, object]]:
        if self._peek() == "}":
            return
        while True:
            key = self._value()
            if not isinstance(key, str) or self._next() != ":":
                raise self._invalid()
            if key in self._streamed and self._peek() == "[":
                self._next()
                yield from ((key, value) for value in self._elements())
            else:
                yield key, self._value()
            if (mark := self._next()) == "}":
                return
            if mark != ",":
                raise self._invalid()

    def _elements(self) -> Iterator[object]:
        if self._peek() == "]":
            self._next()
            return
        while True:
            yield self._value()
            if (mark := self._next()) == "]":
                return
            if mark != ",":
                raise self._invalid()

    def _value(self) -> object:
        self._peek()
        wanted = CHUNK
        while True:
            try:
                value, end = self._decode(self._text, self._at)
                if end < len(self._text) or self._ended:
                    self._at = end
                    if not is_shallow(value, DEPTH):
                        raise damaged(self._path, f"values are nested more than {DEPTH} deep")
                    return value
            except RecursionError:
                raise damaged(self._path, f"values are nested more than {DEPTH} deep") from None
            except ValueError as error:
                if self._ended:
                    raise self._invalid() from error
            if len(self._text) - self._at > 4 * MOST_LINE:
                raise damaged(self._path, f"one value has more than {4 * MOST_LINE:,} characters")
            self._more(wanted)
            wanted *= 2  # a value is decoded again as often as its size doubles

    def _invalid(self) -> ConfigError:
        return damaged(self._path, "the file ends in the middle" if self._ended else "it is not valid JSON")

    def _peek(self) -> str:
        while True:
            match = _BLANK.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                raise damaged(self._path, "the file ends in the middle")
            self._more(CHUNK)

    def _next(self) -> str:
        mark = self._peek()
        self._at += 1
        return mark

    def _more(self, wanted: int) -> None:
        read = self._file.read(wanted)
        content = self._rest + read
        self._ended = not read
        keep = 0
        if not self._ended:  # a character may be cut in two
            while keep < 4 and keep < len(content) and content[-1 - keep] & 0xC0 == 0x80:
                keep += 1
            keep += keep < len(content) and content[-1 - keep] >= 0xC0
        self._rest = content[len(content) - keep :] if keep else b""
        try:
            text = (content[: len(content) - keep] if keep else content).decode("utf-8")
        except UnicodeDecodeError as error:
            raise damaged(self._path, error) from error
        self._text, self._at = self._text[self._at :] + text, 0


_BLANK = re.compile(r"[ \t\r\n]*")
