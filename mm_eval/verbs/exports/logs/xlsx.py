"""Reads the first sheet of an xlsx file as a stream, with the standard library.

    for line, row in rows_of(Path("m_T.xlsx")): ...      # row: {column: value}

Texts are what was written, not what a spreadsheet would show:

- Writers that take "=5" for a formula store it without a computed value, and say so (`fullCalcOnLoad`): it is the text "=5". A
  formula that a spreadsheet has computed is its value.
- "_x000D_" and the like are the characters that XML can't hold.

The file is data from a stranger. Its members are bounded. Cells without a column's name are skipped, and the space between cells
costs nothing: one cell in the last row and column is one cell. More than `MOST_EMPTY` empty rows end the table.
"""

from __future__ import annotations

import math
import re
import zipfile
from array import array
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from mm_eval.values.errors import ConfigError, kind_and_text
from mm_eval.verbs.exports.logs.files import MOST_MEMBER, damaged, opened

MOST_EMPTY = 10_000
"""Empty rows after which a table has ended."""
MOST_COLUMNS = 2_000
MOST_TEXT = 16 * 2**20
"""Characters of one text; a spreadsheet's own limit is 32,767."""
WIDEST = 16_384
"""Columns of a sheet, by the format."""
MOST_ELEMENTS = 10_000_000
"""Elements of one member: about 5 million cells. A file of some kilobytes may unpack to so many."""
CHUNK = 2**16
ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
CELL = re.compile(r"([A-Z]{1,3})(\d{1,7})")
RETURN = re.compile(rb"(?<=[^>\0])\r(?!\0)")
"""A carriage return that is not behind a tag; none of UTF-16."""
WHOLE = re.compile(r"-?\d+")
DATES = frozenset([*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)])
"""The number formats of dates and times that have no definition in the file."""
NO_DATE = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
"""The parts of a number format that are shown as they stand, or are colours and conditions."""


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """(line, {column: value}) of the first sheet, None for an empty cell. The first line with a cell names the columns.

    Errors: ConfigError for a damaged file, for members that are too large, and where two columns have one name.
    """
    sheet: _Sheet | None = None
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            book = _Book(archive, path)
            sheet = _Sheet(book)
            names: dict[int, str] = {}
            for line, cells in sheet.rows():
                if not names:
                    names = _names(cells, path, line)
                    empty, sheet.wanted = dict.fromkeys(names.values()), names.keys()
                elif row := {names[column]: value for column, value in cells.items() if column in names}:
                    sheet.last = line
                    yield line, {**empty, **row}
    except ConfigError:
        raise
    except Exception as error:  # zipfile's, zlib's and the XML parser's own errors share no base
        what = f"it is not a whole xlsx file ({kind_and_text(error)})"
        raise damaged(path, what, (sheet and sheet.line) or None) from error


def _names(cells: Mapping[int, object], path: Path, line: int) -> dict[int, str]:
    names = {column: str(value) for column, value in cells.items()}
    if twice := next((name for name, count in Counter(names.values()).items() if count > 1), None):
        raise damaged(path, f"two columns are named {twice!r}", line)
    if len(names) > MOST_COLUMNS:
        raise damaged(path, f"the first line names {len(names):,} columns, more than {MOST_COLUMNS:,}", line)
    return names


class _Book:
    """What the sheets of a workbook share."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.archive, self.path = archive, path
        self.sheet, self.is_1904, self.computed = "", False, True
        parts = {name.lower(): name for name in archive.namelist()}
        book = parts.get("xl/workbook.xml")
        if book is None:
            raise ValueError("it has no xl/workbook.xml")
        sheets: list[str] = []

        def start(tag: str, given: Mapping[str, str]) -> None:
            if tag == "sheet":
                sheets.append(given.get("id", ""))
            elif tag == "workbookPr":
                self.is_1904 = _is_true(given.get("date1904"))
            elif tag == "calcPr":
                self.computed = not _is_true(given.get("fullCalcOnLoad"))

        self.parse(book, start)
        targets: dict[str, str] = {}

        def relation(tag: str, given: Mapping[str, str]) -> None:
            if tag == "Relationship" and given.get("Type", "").endswith("/worksheet"):
                target = given.get("Target", "")
                targets[given.get("Id", "")] = target[1:] if target.startswith("/") else f"xl/{target}"

        self.parse(parts["xl/_rels/workbook.xml.rels"], relation)
        found = [parts[targets[name].lower()] for name in sheets if name in targets]
        if not found:
            raise ValueError("it has no sheet with cells")
        self.sheet = found[0]
        self.strings = _Strings(self, parts.get("xl/sharedstrings.xml"))
        self.dates = self._dates(parts.get("xl/styles.xml"))

    def member(self, name: str) -> IO[bytes]:
        info = self.archive.getinfo(name)
        if info.file_size > MOST_MEMBER:
            raise damaged(self.path, f"{name} in it has more than {MOST_MEMBER:,} bytes")
        return self.archive.open(info)

    def parse(self, name: str, start: object, end: object = None, text: object = None) -> None:
        for _ in self.pieces(name, start, end, text):
            pass

    def pieces(self, name: str, start: Any, end: Any = None, text: Any = None) -> Iterator[None]:
        """Reads an XML member, and yields after each piece of it. The names are without their namespaces."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        count = size = 0

        def begin(tag: str, given: Mapping[str, str]) -> None:
            nonlocal count, size
            count, size = count + 1, 0
            if count > MOST_ELEMENTS:
                raise damaged(self.path, f"{name} in it has more than {MOST_ELEMENTS:,} elements")
            start(tag.rpartition(" ")[2], {key.rpartition(" ")[2]: value for key, value in given.items()})

        def hold(content: str) -> None:
            nonlocal size
            size += len(content)
            if size > MOST_TEXT:
                raise damaged(self.path, f"a text of {name} in it has more than {MOST_TEXT:,} characters")
            text(content)

        parser.StartElementHandler = begin
        if end is not None:
            parser.EndElementHandler = lambda tag: end(tag.rpartition(" ")[2])
        if text is not None:
            parser.CharacterDataHandler = hold
        parser.StartDoctypeDeclHandler = _refuse_doctype
        before = b">"
        with self.member(name) as file:
            while content := file.read(CHUNK):
                parser.Parse(_with_returns(before, content), False)
                before = content[-1:]
                yield
            parser.Parse(b"", True)
            yield

    def _dates(self, styles: str | None) -> frozenset[int]:
        """The styles of cells that show a number as a date or a time."""
        formats: dict[int, str] = {}
        kinds: list[int] = []
        inside = False

        def start(tag: str, given: Mapping[str, str]) -> None:
            nonlocal inside
            if tag == "numFmt":
                formats[int(given["numFmtId"])] = given.get("formatCode", "")
            elif tag == "cellXfs":
                inside = True
            elif tag == "xf" and inside:
                kinds.append(int(given.get("numFmtId", 0)))

        def end(tag: str) -> None:
            nonlocal inside
            inside = inside and tag != "cellXfs"

        if styles is not None:
            self.parse(styles, start, end)
        dated = {
            number for number, code in formats.items() if re.search("[dmyhs]", NO_DATE.sub("", code), re.IGNORECASE)
        }
        dated |= DATES - formats.keys()
        return frozenset(n for n, kind in enumerate(kinds) if kind in dated)


class _Strings:
    """The texts that cells share, as one block of bytes: lists of short texts would take a multiple of it."""

    def __init__(self, book: _Book, name: str | None) -> None:
        self._bytes, self._ends = bytearray(), array("Q")
        if name is None:
            return
        found: list[str] = []
        shown = True

        def start(tag: str, _: Mapping[str, str]) -> None:
            nonlocal shown
            shown = tag != "rPh" and shown

        def end(tag: str) -> None:
            nonlocal shown
            if tag == "rPh":
                shown = True  # how a text is pronounced is no part of it
            elif tag == "t" and shown:
                self._bytes += "".join(found).encode("utf-8", "surrogatepass")
            elif tag == "si":
                self._ends.append(len(self._bytes))
            found.clear()

        book.parse(name, start, end, found.append)

    def __getitem__(self, place: int) -> str:
        if not 0 <= place < len(self._ends):
            raise ValueError(f"there is no shared text {place}")
        begin = self._ends[place - 1] if place else 0
        return unescaped(self._bytes[begin : self._ends[place]].decode("utf-8", "surrogatepass"))


class _Sheet:
    """The cells of a sheet, row by row. wanted: the columns that are read."""

    def __init__(self, book: _Book) -> None:
        self._book = book
        self.line = self.last = 0
        self.wanted: Container[int] = range(1, WIDEST + 1)
        self._column = 0
        self._given: Mapping[str, str] = {}
        self._text: list[str] = []
        self._value: str | None = None
        self._formula: str | None = None
        self._inline, self._shown = "", True
        self._cells: dict[int, object] = {}
        self._done: list[tuple[int, dict[int, object]]] = []

    def rows(self) -> Iterator[tuple[int, dict[int, Any]]]:
        """(line, {column: value}) of each row with a cell that is not empty, until a long stretch without any."""
        for _ in self._book.pieces(self._book.sheet, self._start, self._end, self._text.append):
            for line, cells in self._done:
                if line - self.last > MOST_EMPTY:
                    return
                yield line, cells
            self._done.clear()
            if self.line - self.last > MOST_EMPTY + 1:
                return

    def _start(self, tag: str, given: Mapping[str, str]) -> None:
        self._text.clear()
        if tag == "row":
            self.line = int(given["r"]) if "r" in given else self.line + 1
            self._column, self._cells = 0, {}
        elif tag == "c":
            match = CELL.fullmatch(given.get("r", ""))
            self._column = _column(match[1]) if match else self._column + 1
            self._given, self._value, self._formula, self._inline = given, None, None, ""
        elif tag == "f":
            self._formula = given.get("t", "")
        elif tag == "rPh":
            self._shown = False

    def _end(self, tag: str) -> None:
        text = "".join(self._text)
        self._text.clear()
        if tag == "v":
            self._value = text
        elif tag == "f":
            self._formula = f"{{={text}}}" if self._formula == "array" else f"={text}" if text else ""
        elif tag == "t" and self._shown:
            self._inline += text
        elif tag == "rPh":
            self._shown = True
        elif tag == "c":
            value = self._cell() if self._column in self.wanted else None
            if value is not None and value != "":
                self._cells[self._column] = value
        elif tag == "row" and self._cells:
            self._done.append((self.line, self._cells))
            if self.last == 0:
                self.last = self.line

    def _cell(self) -> object:
        kind, text = self._given.get("t", "n"), self._value
        if self._formula and (text in (None, "") or not self._book.computed):
            return self._formula
        if kind == "inlineStr":
            return unescaped(self._inline)
        if text is None or text == "":
            return None
        if kind == "s":
            return self._book.strings[int(text)]
        if kind == "b":
            return text.strip() in ("1", "true")
        if kind in ("str", "e", "d"):
            return unescaped(text)
        number = int(text) if WHOLE.fullmatch(text) else float(text)
        if not math.isfinite(number):
            raise ValueError(f"the cell {self._given.get('r')} is {text!r}, which is not a number")
        return self._date(number) if int(self._given.get("s", 0)) in self._book.dates else number

    def _date(self, days: float) -> object:
        """A date as text; a day without a time of day as the day alone."""
        begin = datetime(1904, 1, 1) if self._book.is_1904 else datetime(1899, 12, 31 if days < 60 else 30)
        try:
            found = begin + timedelta(seconds=round(days * 86400, 3))
        except OverflowError:
            return days
        if days < 1:
            return found.time().isoformat()
        return found.date().isoformat() if found.time() == datetime.min.time() else found.isoformat(" ")


def unescaped(text: str) -> str:
    """A text with the characters that xlsx writes as `_xHHHH_`.

    >>> unescaped("a_x000D_\\nb"), unescaped("_x005F_x000D_")
    ('a\\r\\nb', '_x000D_')
    """
    if "_x" not in text:
        return text
    found = ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # a character may be two halves


def _with_returns(before: bytes, content: bytes) -> bytes:
    """XML whose carriage returns inside of texts stay: openpyxl writes them as they are, and a reader of XML drops them.

    Behind a tag they are white space of the file, also before its first tag, where no reference may stand. before: the last byte.
    """
    if b"\r" not in content:
        return content
    return RETURN.sub(b"&#13;", before + content)[1:]


def _is_true(value: str | None) -> bool:
    return value in ("1", "true", "on")


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _refuse_doctype(*_: object) -> None:
    raise ValueError("it defines entities of its own, which no spreadsheet does")
