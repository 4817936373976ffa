"""Reads the first sheet of an .xlsx file, which is a zip archive of XML files."""

import re
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows below the header, each as {column: text}; an empty cell is ""."""
    with zipfile.ZipFile(path) as archive:
        shared = []
        if "xl/sharedStrings.xml" in archive.namelist():
            strings = ET.fromstring(archive.read("xl/sharedStrings.xml"))
            shared = ["".join(text.text or "" for text in each.iter(f"{SPACE}t")) for each in strings]
        sheet = ET.fromstring(archive.read("xl/worksheets/sheet1.xml"))
    rows = [{_column(cell): _text(cell, shared) for cell in row.iter(f"{SPACE}c")} for row in sheet.iter(f"{SPACE}row")]
    header = {column: name for column, name in rows[0].items() if name}
    return [{name: row.get(column, "") for column, name in header.items()} for row in rows[1:]]


def _column(cell: ET.Element) -> str:
    """The letters of a cell's place: "AB" of "AB12"."""
    return re.sub(r"\d", "", cell.get("r", ""))


def _text(cell: ET.Element, shared: list[str]) -> str:
    if cell.get("t") == "inlineStr":
        return "".join(text.text or "" for text in cell.iter(f"{SPACE}t"))
    value = cell.findtext(f"{SPACE}v") or ""
    return shared[int(value)] if cell.get("t") == "s" else value
