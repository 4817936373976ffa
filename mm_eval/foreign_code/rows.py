"""Tables of docs between two processes: columns that both have are named, files that both can read too; the rest is written.

Pictures make a table large, and `process_docs` mostly selects rows or adds a column: then no picture is copied.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.errors import DataError
from mm_eval.values.types import JsonObject

METADATA_ONLY = frozenset({"replace_schema_metadata"})
"""Changes of a table after its file was read that leave its content as it is."""


def written_rows(rows: Any, given: Sequence[object] = ()) -> dict[str, object]:
    """What names a `datasets.Dataset` for the other process. given: those that this process got from it for this call.

    What is not named is in a file, which the reader removes.
    """
    import pyarrow as pa

    from mm_eval.data.as_dataset import in_memory

    rows = in_memory(rows)
    table, stated = rows.data.table, {"features": rows.features.to_dict(), "indices": None}
    opened, path = tempfile.mkstemp(prefix="mm-eval-rows-", suffix=".arrow")
    with os.fdopen(opened, "wb") as file:
        columns: JsonObject = {}
        if rows._indices is not None:
            columns["indices"] = rows._indices.table
        number, shared = _base(table, given)
        files = _files(rows) if number is None else None
        own = [name for name in table.column_names if name not in shared]
        if files is None and own:
            columns["table"] = table.select(own)
        stated |= {
            "base": number,
            "shared": shared,
            "files": files,
            "order": table.column_names,
            "parts": list(columns),
        }
        for part in columns.values():  # one stream after the other
            with pa.ipc.new_stream(file, part.schema.remove_metadata()) as stream:
                stream.write_table(part.replace_schema_metadata(None))
    if not columns:
        os.unlink(path)
    return {**stated, "features": json.dumps(stated["features"]), "file": path if columns else None}


def read_rows(stated: Mapping[str, Any], given: Sequence[Any] = ()) -> object:
    """The `datasets.Dataset` that the other process named. given: those that this process gave it for this call."""
    import datasets
    import pyarrow as pa

    from mm_eval.data.as_dataset import any_value, dataset_of

    any_value()  # `from_dict` knows it from now on
    parts: JsonObject = {}
    if stated["file"] is not None:
        try:
            source = pa.memory_map(str(stated["file"]))
            for name in stated["parts"]:
                with pa.ipc.open_stream(source) as stream:
                    parts[name] = stream.read_all()
        except (OSError, pa.ArrowInvalid) as error:
            raise DataError(f"a table of the task's own code can't be read: {error}") from error
        finally:
            os.unlink(str(stated["file"]))  # what is mapped stays readable
    if stated["files"] is not None:
        tables = [datasets.table.MemoryMappedTable.from_file(str(path)) for path in stated["files"]]
        data = datasets.table.concat_tables(tables) if len(tables) > 1 else tables[0]
        features = datasets.Features.from_dict(json.loads(stated["features"]))
        found = dataset_of(data, features)
    else:
        base = None if stated["base"] is None else given[int(stated["base"])].data.table
        columns = {}
        for name in stated["order"]:
            columns[name] = base.column(name) if base is not None and name in stated["shared"] else parts["table"][name]
        features = datasets.Features.from_dict(json.loads(stated["features"]))
        table = pa.table(columns) if columns else pa.table({})
        found = dataset_of(datasets.table.InMemoryTable(table), features)
    if "indices" in parts:
        found = found.select(parts["indices"].column(0).to_pylist())
    return found


def _base(table: Any, given: Sequence[Any]) -> tuple[int | None, list[str]]:
    """(the given table that has the same columns in memory, which columns these are); None where no column is the same."""
    for number, rows in enumerate(given):
        known = rows.data.table
        if known.num_rows == table.num_rows:
            shared = [
                name
                for name in table.column_names
                if name in known.column_names and _buffers(known.column(name)) == _buffers(table.column(name))
            ]
            if shared:
                return number, shared
    return None, []


def _buffers(column: Any) -> list[object]:
    """Where the values of a column are in memory: equal lists are the same values."""
    found: list[object] = [str(column.type)]
    for chunk in column.chunks:
        found += [len(chunk), chunk.offset, *((b.address, b.size) if b is not None else None for b in chunk.buffers())]
    return found


def _files(rows: Any) -> list[str] | None:
    """The files whose rows one after another are a table; None if it has no files or was changed since they were read."""
    from datasets.table import ConcatenationTable, MemoryMappedTable

    data = rows.data
    if isinstance(data, ConcatenationTable):
        blocks = [block for group in data.blocks for block in group]
        if any(len(group) != 1 for group in data.blocks):
            return None
    else:
        blocks = [data]
    if not all(isinstance(block, MemoryMappedTable) for block in blocks):
        return None
    if any(name not in METADATA_ONLY for block in blocks for name, *_ in block.replays or ()):
        return None
    files = [str(block.path) for block in blocks]
    return files if sum(block.num_rows for block in blocks) == len(rows.data) else None
