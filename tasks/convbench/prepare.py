"""Writes the rows of ConvBench from its spreadsheet: python -m mm_eval.tasks.convbench.prepare FOLDER

FOLDER has the authors' ConvBench.xlsx. Written is FOLDER/test.json, whose rows name their picture below FOLDER/images.
"""

import json
import re
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
COLUMNS = (
    *("ID", "image_id", "instruction-conditioned-caption", "third_turn_demands"),
    *(f"The_{ordinal}_turn_instruction" for ordinal in ("first", "second", "third")),
    *(f"{ordinal}_turn_answer" for ordinal in ("first", "second", "third")),
)
WITHOUT_PICTURE = "131"
"""The ID whose picture is not among the authors'; they count the other 577."""


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of the first sheet that have an ID, each as {column: text}; an empty cell is ""."""
    with zipfile.ZipFile(path) as archive:
        strings = ET.fromstring(archive.read("xl/sharedStrings.xml"))
        shared = ["".join(text.text or "" for text in each.iter(f"{SPACE}t")) for each in strings]
        sheet = ET.fromstring(archive.read("xl/worksheets/sheet1.xml"))

    def text(cell: ET.Element) -> str:
        if cell.get("t") == "inlineStr":
            return "".join(each.text or "" for each in cell.iter(f"{SPACE}t"))
        value = cell.findtext(f"{SPACE}v") or ""
        return shared[int(value)] if cell.get("t") == "s" else value

    found = [
        {re.sub(r"\d", "", cell.get("r", "")): text(cell) for cell in row.iter(f"{SPACE}c")}
        for row in sheet.iter(f"{SPACE}row")
    ]
    header = {place: name for place, name in found[0].items() if name} if found else {}
    rows = [{name: row.get(place, "") for place, name in header.items()} for row in found[1:]]
    return [row for row in rows if row.get("ID", "").strip()]


def main(folder: Path) -> str | None:
    """Writes the rows; what is wrong, if something is."""
    table = folder / "ConvBench.xlsx"
    if not table.is_file():
        return f"{folder} has no ConvBench.xlsx."
    try:
        rows = rows_of(table)
    except (ET.ParseError, KeyError, IndexError, ValueError, zipfile.BadZipFile) as error:
        return f"{table} can't be read: {error!r}"
    if missing := [column for column in COLUMNS if not rows or column not in rows[0]]:
        return f"{table} has no column {missing[0]!r}: the spreadsheet of the authors' repository on GitHub lacks the answers."
    for row in rows:
        row.update(ID=re.sub(r"\.0+$", "", row["ID"].strip()), image_id=row["image_id"].strip())
        row["image_path"] = f"images/{row['image_id']}"
    rows = [row for row in rows if row["ID"] != WITHOUT_PICTURE]
    if empty := next(((row["ID"], column) for row in rows for column in COLUMNS if not row[column].strip()), None):
        return f"{table}: ID {empty[0]} has nothing in {empty[1]!r}."
    if len({row["ID"] for row in rows}) < len(rows) or not {row["ID"] for row in rows} <= set(map(str, range(1, 579))):
        return f"{table}: its IDs are not different numbers from 1 to 578, by which the authors drew which side is A."
    (folder / "test.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])) if len(sys.argv) == 2 else __doc__)
