"""Columns of pictures that a data file does not declare as such, as pandas and pyarrow write them.

A parquet file that `datasets` wrote says which columns are pictures. Without that, the same bytes would reach a task as plain
mappings, `{"bytes": ..., "path": ...}`, or as bytes.
"""

from __future__ import annotations

from typing import Any

_STARTS = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\x00", b"MM\x00*", b"P5", b"P6", b"\x00\x00\x00\x0cjP")
"""The first bytes of PNG, JPEG, GIF, BMP, TIFF, PPM and JPEG 2000 files."""
_MOST_ROWS = 10_000
"""The rows in which a first picture is looked for."""


def with_pictures_declared(rows: Any) -> Any:
    """The rows of a `datasets.Dataset`, in which each column with the bytes of pictures, or lists of them, is one of pictures."""
    import datasets

    for name, is_list in undeclared_pictures(rows) if isinstance(rows, datasets.Dataset) else ():
        picture: Any = datasets.Image()
        rows = rows.cast_column(name, datasets.Sequence(picture) if is_list else picture)
    return rows


def undeclared_pictures(rows: Any) -> list[tuple[str, bool]]:
    """The columns of pictures that are not declared as such, each with whether it holds lists. rows: a Dataset or `Rows`."""
    import pyarrow as pa

    found, data, features = [], rows.data, rows.features
    for field in data.schema:
        is_list = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
        inner = field.type.value_type if is_list else field.type
        if "Image(" in repr(features[field.name]) or not _may_be_picture(inner):
            continue
        column = data.column(field.name)
        empty = not is_list and column.null_count == len(column)  # as image_7 of MMMU, which other configurations fill
        if empty or _is_picture(_first(column)):
            found.append((field.name, is_list))
    return found


def _may_be_picture(stored: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_struct(stored):
        return {stored.field(place).name for place in range(stored.num_fields)} == {"bytes", "path"}
    return bool(pa.types.is_binary(stored) or pa.types.is_large_binary(stored))


def _first(column: Any) -> bytes | None:
    """The bytes of the first value that has some, in a list too."""
    for place in range(min(len(column), _MOST_ROWS)):
        value = column[place]
        if not value.is_valid:
            continue
        held = value.as_py()
        for each in held if isinstance(held, list) else [held]:
            content = each.get("bytes") if isinstance(each, dict) else each
            if isinstance(content, bytes):
                return content
    return None


def _is_picture(content: bytes | None) -> bool:
    is_webp = content is not None and content[:4] == b"RIFF" and content[8:12] == b"WEBP"
    is_avif = content is not None and content[4:12] in (b"ftypavif", b"ftypavis")
    return content is not None and (content.startswith(_STARTS) or is_webp or is_avif)
