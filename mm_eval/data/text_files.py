"""Reads JSON lines, JSON, CSV and TSV files as they are written: no value depends on what other rows hold.

`datasets` reads texts that look like dates as timestamps, 1 beside 2.5 as 1.0, and drops the cells `None` and `NA` of a CSV file.
Here a JSON value keeps its type: a column with values of several types, or with objects of several keys, holds JSON (`AnyValue`).
A CSV column is one of numbers only where printing each number gives its cell back, and only an empty cell is null.
Where the types are declared (a card, `features:`), values are converted to them.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from mm_eval.data.rows import AnyValue, ClassLabel, Image, List, Value
from mm_eval.values.errors import DataError, first_line

CHUNK = 10 * 2**20
"""Characters of JSON lines that are parsed at a time; `datasets` parses as many bytes."""
CSV_ROWS = 10_000
"""Rows of a CSV file that are parsed at a time, as in `datasets`."""
NULL, TEXT, CELLS = Value("null"), Value("string"), Value("large_string")
OF_KIND = {str: TEXT, int: Value("int64"), float: Value("float64"), bool: Value("bool")}
INTEGER = re.compile(r"0|-?[1-9][0-9]*")
INTEGERS = range(-(2**63), 2**63)

Columns: TypeAlias = dict[str, list[Any]]
"""{column: values} of some rows; all lists are equally long."""


@dataclass(frozen=True)
class TextFormat:
    """How text files are read. kind: "json" or "csv". options: those of `pandas.read_csv`, for CSV.

    member: the key of a JSON file's object that holds the rows.
    """

    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    member: str | None = None
    encoding: str = "utf-8"
    errors: str = "strict"


def columns_of(path: Path, form: TextFormat) -> Iterator[Columns]:
    """The columns of a file, some rows at a time. DataError, with the line, if it can't be read."""
    try:
        parts = _csv(path, form) if form.kind == "csv" else map(_columns, _json(path, form))
        yield from (columns for columns in parts if any(columns.values()))
    except UnicodeError as error:
        line = _undecodable(path, form)
        name = form.encoding.upper()
        hint = "Save the file as UTF-8, or name its encoding: dataset_kwargs: {encoding: ...}."
        raise DataError(f"{path}:{line} can't be read as {form.kind}: it is not {name} text.", hint=hint) from error


# JSON


def _json(path: Path, form: TextFormat) -> Iterator[list[Mapping[str, object]]]:
    encoding = "utf-8-sig" if form.encoding.lower() in ("utf-8", "utf8") else form.encoding
    with path.open(encoding=encoding, errors=form.errors, newline="\n") as file:
        start = next((line for line in file if line.strip()), "")
        file.seek(0)
        if form.member is not None or start.lstrip().startswith("["):
            yield _objects(path, _loaded(path, file.read(), 1), form.member)
            return
        lines: list[str] = []
        size, first = 0, 1
        for line in file:
            lines.append(line)
            size += len(line)
            if size >= CHUNK:
                yield _lines(path, lines, first)
                first += len(lines)
                lines, size = [], 0
        try:
            parsed = _lines(path, lines, first)
        except DataError:
            if first > 1 or (sequence := _sequence("".join(lines))) is None:
                raise
            parsed = _objects(path, sequence, None)
        yield parsed


def _lines(path: Path, lines: Sequence[str], first: int) -> list[Mapping[str, object]]:
    found: list[Mapping[str, object]] = []
    for number, line in enumerate(lines, first):
        if line.strip():
            row = _loaded(path, line.rstrip(), number)
            if not isinstance(row, dict):
                raise DataError(f"{path}:{number} holds {line.strip()[:80]!r}; expected an object, {{...}}.")
            found.append(row)
    return found


def _loaded(path: Path, text: str, line: int) -> object:
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        line += error.lineno - 1
        raise DataError(f"{path}:{line} is not JSON: {error.msg} (column {error.colno}).") from error
    except ValueError as error:
        raise DataError(f"{path}:{line} can't be read: {error}.") from error


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(n for n in names if names.count(n) > 1)!r} is twice in an object")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_object)  # `json.loads` makes one for each text


def _sequence(text: str) -> list[object] | None:
    """Objects that go over several lines, one after another; None if it is not that."""
    place, found = 0, list[Any]()
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            value, place = DECODER.raw_decode(text, place)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        found.append(value)
    return found


def _objects(path: Path, loaded: object, member: str | None) -> list[Mapping[str, object]]:
    """The rows of a whole file: a list of objects, or of other values, which become the column `text`."""
    if member is not None:
        if not isinstance(loaded, dict) or member not in loaded:
            raise DataError(f"{path} is not an object with the field {member!r}.")
        loaded = loaded[member]
    if isinstance(loaded, dict):  # {column: values}
        if not all(isinstance(values, list) for values in loaded.values()):
            return [loaded]
        if len({len(values) for values in loaded.values()}) != 1:
            raise DataError(f"{path}: the lists of {member!r} differ in their length.")
        return [dict(zip(loaded, row, strict=True)) for row in zip(*loaded.values(), strict=True)]
    if not isinstance(loaded, list):
        raise DataError(f"{path} is not a list of objects.")
    objects = sum(isinstance(row, dict) for row in loaded)
    if 0 < objects < len(loaded):
        raise DataError(f"{path} holds a list of objects and other values; expected one of them.")
    return loaded if objects else [{"text": value} for value in loaded]


def _columns(rows: Sequence[Mapping[str, object]]) -> Columns:
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


# CSV


def _csv(path: Path, form: TextFormat) -> Iterator[Columns]:
    import pandas

    options = {"keep_default_na": False, "na_values": [""], **form.options, "chunksize": CSV_ROWS}
    if options.get("index_col") is None:
        options["index_col"] = False
    if form.errors != "strict":
        options["encoding_errors"] = form.errors
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas.errors.ParserWarning)
            with pandas.read_csv(path, dtype=object, encoding=form.encoding, **options) as parts:
                for part in parts:
                    yield {str(name): _cells(part.iloc[:, at]) for at, name in enumerate(part.columns)}
    except pandas.errors.EmptyDataError:
        return
    except pandas.errors.ParserWarning as error:
        what = f"{path}: the rows have more cells than the header names."
        raise DataError(what, hint="Name each column in the first line.") from error
    except pandas.errors.ParserError as error:
        said = first_line(error).removeprefix("Error tokenizing data. C error: ")
        raise DataError(f"{path} can't be read as csv: {said}.") from error


def _cells(column: Any) -> list[object]:
    return [None if cell is None or cell != cell else cell for cell in column.tolist()]


def _undecodable(path: Path, form: TextFormat) -> int:
    """The first line that is not text in this encoding."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode(form.encoding)
            except UnicodeError:
                return number
    return 1


# Types


def type_of(values: Sequence[Any]) -> object:
    """The feature of JSON values that keeps each as it is."""
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) != 1:
        return AnyValue() if kinds else NULL
    [kind] = kinds
    if kind is list:
        return List(type_of([item for value in values if value is not None for item in value]))
    if kind is dict:
        objects = [value for value in values if value is not None]
        names = {tuple(value) for value in objects}
        if len(names) != 1 or names == {()}:
            return AnyValue()
        return {name: type_of([value[name] for value in objects]) for name in objects[0]}
    if kind is int and not all(value is None or value in INTEGERS for value in values):
        return AnyValue()
    return OF_KIND.get(kind, AnyValue())


def joined(one: object, other: object) -> object:
    """The feature of values of two features."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    if isinstance(one, List) and isinstance(other, List):
        return List(joined(one.feature, other.feature))
    if isinstance(one, Mapping) and isinstance(other, Mapping) and list(one) == list(other):
        return {name: joined(one[name], other[name]) for name in one}
    return AnyValue()


def type_of_cells(cells: Sequence[str | None]) -> object:
    """The feature of a CSV column: numbers only where printing each gives its cell back."""
    texts = {cell for cell in cells if cell is not None}
    if not texts:
        return NULL
    if all(isinstance(text, str) and INTEGER.fullmatch(text) and int(text) in INTEGERS for text in texts):
        return OF_KIND[int]
    return OF_KIND[float] if all(map(_is_float, texts)) else CELLS


def _is_float(text: object) -> bool:
    try:
        return isinstance(text, str) and math.isfinite(float(text)) and repr(float(text)) == text
    except ValueError:
        return False


def joined_cells(one: object, other: object) -> object:
    """As `joined`, for CSV columns."""
    return CELLS if NULL not in (one, other) and one != other else joined(one, other)


def features_of(parts: Iterator[Columns], kind: str) -> dict[str, object]:
    """{column: feature} of all rows. A column that some rows lack is null there."""
    found: dict[str, object] = {}
    infer, join = (type_of_cells, joined_cells) if kind == "csv" else (type_of, joined)
    for columns in parts:
        for name, values in columns.items():
            own = infer(values)
            found[name] = join(found[name], own) if name in found else own
    return found


# Values as they are stored


def stored(values: list[object], feature: object) -> list[object]:
    """JSON values as a column of the feature that `features_of` gave stores them."""
    return list(map(partial(_as_stored, feature), values)) if _has_any(feature) else values


def _has_any(feature: object) -> bool:
    if isinstance(feature, Mapping):
        return any(map(_has_any, feature.values()))
    return _has_any(feature.feature) if isinstance(feature, List) else isinstance(feature, AnyValue)


def _as_stored(feature: object, value: Any) -> object:
    if value is None:
        return None
    if isinstance(feature, AnyValue):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(feature, List):
        return [_as_stored(feature.feature, item) for item in value]
    if isinstance(feature, Mapping):
        return {name: _as_stored(inner, value[name]) for name, inner in feature.items()}
    return value


def numbers_of(cells: list[Any], feature: Any) -> list[object]:
    """The cells of a CSV column as values of the feature that `features_of` gave."""
    convert: Callable[[str], object] | None = {"int64": int, "float64": float}.get(feature.dtype)
    return [None if cell is None else convert(cell) for cell in cells] if convert else cells


def declared(value: Any, feature: Any) -> object:
    """A value of a text file as one of a declared feature. ValueError or TypeError if it isn't one."""
    if value is None:
        return None
    if isinstance(feature, AnyValue):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(feature, Mapping):
        if isinstance(value, list):  # a list of records is stored as a record of lists
            return {name: declared([item[name] for item in value], inner) for name, inner in feature.items()}
        return {name: declared(value.get(name), inner) for name, inner in dict(feature).items()}
    if isinstance(feature, List):
        if not isinstance(value, list):
            raise TypeError(f"{value!r:.80} is not a list")
        return [declared(item, feature.feature) for item in value]
    if isinstance(feature, Image):
        return {"bytes": None, "path": value} if isinstance(value, str) else value
    if isinstance(feature, ClassLabel):
        return feature.names.index(value) if value in feature.names else int(value)
    return _declared_value(value, feature.dtype)


def _declared_value(value: Any, dtype: str) -> object:
    if "string" in dtype:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if dtype == "bool":
        known = {"true": True, "false": False, "1": True, "0": False}
        if str(value).lower() not in known:
            raise ValueError(f"{value!r:.80} is not a bool")
        return known[str(value).lower()]
    number = int if "int" in dtype else float if dtype.startswith("float") else None
    if number is not None:
        try:
            found = number(value)
        except ValueError as error:
            raise ValueError(f"failed to parse {value!r:.80} as a scalar of type {dtype}") from error
        if number is int and found != value and not isinstance(value, str):
            raise ValueError(f"{value!r} is not a whole number")
        return found
    return value.encode() if "binary" in dtype and isinstance(value, str) else value
