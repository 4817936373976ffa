"""What mm-eval gives of rows that other libraries wrote: `python -m tests.matrix.data` writes docs/tables/data_writers.csv.

tests/matrix/files/ holds the files, made once by tests/matrix/data_writers.py beside the libraries in the folders' names:

    pip install --target DIR polars==2.1.0 ...; PYTHONPATH=DIR python tests/matrix/data_writers.py tests/matrix/files polars

What was guessed before the first run: every value as in the rows, but dates of pandas' JSON as milliseconds and lists of DuckDB's
CSV as text; zarr and DICOM refused. Wrong: polars' Arrow files with categories could not be read, and a zarr store was read as
three documents, its descriptions.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from mm_eval.data.dataset import load_docs
from mm_eval.data.source import DataSource
from mm_eval.values.errors import MMEvalError
from tests.conftest import ROOT
from tests.matrix.data_writers import CATEGORY, FULL

FILES = Path(__file__).with_name("files")
TABLE = ROOT / "docs" / "tables" / "data_writers.csv"
PICTURE_TABLE = ROOT / "docs" / "tables" / "data_pictures.csv"
KINDS = {
    ".parquet": "parquet", ".arrow": "arrow", ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json",
    ".tar": "webdataset",
}  # fmt: skip
GROUPS = {
    "text": ("id", "day_text", "text"),
    "number": ("whole", "broken", "money"),
    "truth": ("truth",),
    "category": ("category",),
    "date, time": ("day", "time"),
    "null": ("some_text", "some_number"),
    "list": ("list",),
    "nested": ("nested",),
    "picture": ("picture",),
}
TABLES = ("pandas", "polars", "duckdb", "datasets")
SAME = "as in the rows"


def files(*libraries: str) -> list[Path]:
    """What these libraries wrote; a folder that is one data set counts as one."""
    return [
        path
        for folder in sorted(FILES.iterdir())
        if folder.name.split("-")[0] in libraries
        for path in sorted(folder.iterdir())
    ]


def docs_of(path: Path) -> Any:
    """A file's docs as a task with this data gets them."""
    kind = KINDS.get(path.suffix)
    kwargs = {"data_files": str(path)} if kind else {}
    return load_docs(kind or str(path), None, "train", DataSource(offline=True), where="own.yaml:4", kwargs=kwargs)


def cells(path: Path) -> dict[str, str]:
    """By group of columns: as in the rows, or what is there in place of the first value that differs."""
    docs = docs_of(path)
    found = [docs.full(place) for place in range(len(docs))]
    written = FULL | {"category": CATEGORY}
    return {
        group: next((text for name in names if (text := _difference(name, found, written[name]))), SAME)
        if names[0] in found[0]
        else ""
        for group, names in GROUPS.items()
    }


def _difference(name: str, found: list[dict[str, Any]], written: list[Any]) -> str:
    if name not in found[0]:
        return ""
    for doc, value in zip(found, written, strict=True):
        given = doc[name]
        if isinstance(given, Image.Image):
            given, value = _pixels(given), _pixels(Image.open(io.BytesIO(value)))
        if given != value and (given is None or str(given) != str(value)):
            return f"`{given}` for `{value}`"
    return ""


def _pixels(picture: Image.Image) -> list[Any]:
    return [picture.getpixel((x, y)) for y in range(picture.height) for x in range(picture.width)]


def rows() -> Iterator[list[str]]:
    """The rows of the table: a file each."""
    for path in files(*TABLES):
        yield [path.parent.name.replace("-", " "), path.name, *cells(path).values()]


def picture_rows() -> Iterator[list[str]]:
    """Pictures, arrays and volumes of the sciences: the pixels of the first row, or the sentence that refuses them."""
    for folder in sorted(FILES.iterdir()):
        library = folder.name.split("-")[0]
        if library in TABLES:
            continue
        try:
            docs = docs_of(folder) if library != "webdataset" else docs_of(folder / "rows.tar")
        except MMEvalError as error:
            yield [folder.name.replace("-", " "), _names(folder), _refused(error, folder)]
            continue
        for place, name in zip(range(len(docs)), _names(folder).split(", ") * len(docs), strict=False):
            try:
                shown = ", ".join(
                    _shown(value) for value in docs.full(place).values() if isinstance(value, Image.Image)
                )
            except MMEvalError as error:
                shown = _refused(error, folder)
            yield [folder.name.replace("-", " "), f"{name}, {place}" if library == "webdataset" else name, shown]


def _names(folder: Path) -> str:
    return ", ".join(path.name for path in sorted(folder.iterdir()))


def _shown(picture: Image.Image) -> str:
    line = [picture.getpixel((column, 0)) for column in range(picture.width)]
    return f"{picture.mode} {picture.width} x {picture.height}, first line `{line}`"


def _refused(error: MMEvalError, folder: Path) -> str:
    said = error.what.replace(f"{folder}/", "").replace(str(folder), folder.name)
    return f"refused: {said}"


def write_tables() -> None:
    for path, head, found in (
        (TABLE, ["library", "file", *GROUPS], rows()),
        (PICTURE_TABLE, ["library", "file", "mm-eval"], picture_rows()),
    ):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([head, *found])


if __name__ == "__main__":
    write_tables()
