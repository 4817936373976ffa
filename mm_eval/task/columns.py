"""Columns that a config names."""

from __future__ import annotations

from typing import Any

from mm_eval.errors import DataError, did_you_mean
from mm_eval.types import Doc


def require_column(doc: Doc, column: str, what: str, where: str) -> Any:
    """doc[column]; DataError that names the columns there are."""
    if column not in doc:
        raise DataError(
            f"{what} names the column {column!r}, which the doc lacks.", where=where, hint=did_you_mean(column, doc)
        )
    return doc[column]
