"""Reads xlsx, row by row, with openpyxl (`pip install 'mm-eval[xlsx]'`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mm_eval.features.exports.logs.files import damaged, opened
from mm_eval.values.errors import ConfigError


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line, {column: value}) of the first sheet. The first line names the columns.

    Errors: ConfigError where openpyxl is missing, and for a damaged file.
    """
    try:
        import openpyxl
    except ImportError as error:
        hint = "pip install 'mm-eval[xlsx]', or save the table as .tsv."
        raise ConfigError("reading xlsx needs the package openpyxl.", where=str(path), hint=hint) from error
    opened(path).close()
    line = 0
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            names: list[str] = []
            for cells in book.worksheets[0].iter_rows(values_only=True):
                line += 1
                if not names:
                    names = ["" if cell is None else str(cell) for cell in cells]
                elif any(cell is not None for cell in cells):
                    yield line, {name: cell for name, cell in zip(names, cells, strict=False) if name}
        finally:
            book.close()
    except ConfigError:
        raise
    except Exception as error:  # zipfile's, zlib's and the XML parser's own errors share no base
        raise damaged(path, f"it is not a whole xlsx file ({type(error).__name__}: {error})", line or None) from error
