"""Rows as the `datasets.Dataset` that task code takes, and JSON and CSV files that only `datasets` finds, as those on the hub.

`datasets` can't keep a column with values of several types through `map`: its own `Json` makes the text "5" the number 5, and
keeps ten digits of a float. `any_value` and `dataset_of_any` keep every value.
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from mm_eval.data import rows as ours
from mm_eval.data.arrow_files import TextFiles, Unreadable, declared_features, rows_of
from mm_eval.data.data_files import content_cache, datasets_cache
from mm_eval.data.rows import Rows, has_any_value, plain_value, wide_type, with_short_floats
from mm_eval.data.shards import check_shards
from mm_eval.data.text_files import TextFormat, columns_of, declared, features_of, numbers_of, stored, type_of
from mm_eval.values.types import Options

TEXT_KINDS = ("json", "csv")
"""Builders of `datasets` whose files `text_files.py` reads."""
FOLDER_KINDS = ("imagefolder", "videofolder", "audiofolder")
"""Builders of `datasets` whose metadata `text_files.py` reads."""


class _Stored(str):
    """JSON text as it is stored: it is not encoded once more."""


@cache
def any_value() -> Any:
    """The feature `mm_eval.data.rows.AnyValue` for `datasets`. The class is made here, since it needs `datasets`."""
    import pyarrow as pa
    from datasets.features.features import register_feature

    @dataclass
    class AnyValue:
        id: str | None = field(default=None, repr=False)
        pa_type: ClassVar[object] = pa.string()
        _type: str = field(default="AnyValue", init=False, repr=False)

        def __call__(self) -> object:
            return self.pa_type

        def encode_example(self, value: object) -> str:
            return value if isinstance(value, _Stored) else _Stored(json.dumps(value, ensure_ascii=False))

        def decode_example(self, value: str | None, token_per_repo_id: object = None) -> object:
            return None if value is None else json.loads(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this function of `datasets` is experimental
        register_feature(AnyValue, "AnyValue")
    return AnyValue


@cache
def dataset_of_any() -> Any:
    """A `datasets.Dataset` whose methods keep the types of values, also in columns of AnyValue.

    `datasets` itself makes a list of 1 and "007", as task code collects options from columns, a list of 1 and 7.
    """
    import datasets

    class DatasetOfAny(datasets.Dataset):  # type: ignore[misc]
        def map(self, function: Callable[..., object] | None = None, *args: object, **options: object) -> Any:
            given = inspect.signature(datasets.Dataset.map).bind_partial(self, function, *args, **options).arguments
            has_any = any(map(has_any_value, self.features.values()))
            as_usual = function is None or given.get("features") is not None or self.format["type"] is not None
            if as_usual or self.cache_files and not has_any:  # the results for large data go to a file
                found = self._usual().map(function, *args, **options)
                if as_usual or not _has_json(found) or _has_json(self):
                    return _of_class(found)
            removed = given.get("remove_columns") or []
            removed = [removed] if isinstance(removed, str) else removed
            kept = {name: feature for name, feature in self.features.items() if name not in removed}
            recorder = _Recorder(function, kept, bool(given.get("batched")))
            # `datasets` calls the function with its arguments, and writes nothing, since the recorder returns None
            others = {name: value for name, value in given.items() if name not in ("self", "function", "num_proc")}
            self._usual().map(recorder, **{**others, "remove_columns": None, "load_from_cache_file": False})
            return recorder.applied(self)

        def _usual(self) -> Any:
            """These rows as `datasets` has them; processes of its own take no class that is made here."""
            found = copy(self)
            found.__class__ = datasets.Dataset
            return found

        def filter(self, *args: object, **options: object) -> Any:
            return _of_class(self._usual().filter(*args, **options))

        def select(self, *args: object, **options: object) -> Any:
            return _of_class(super().select(*args, **options))

        def shuffle(self, *args: object, **options: object) -> object:
            return _of_class(super().shuffle(*args, **options))

        def add_column(self, *args: object, **options: object) -> object:
            return _of_class(super().add_column(*args, **options))

        def repeat(self, *args: object, **options: object) -> Any:
            return _of_class(super().repeat(*args, **options))

        def sort(
            self, column_names: Any, reverse: Any = False, null_placement: str = "at_end", **options: object
        ) -> object:
            names = [column_names] if isinstance(column_names, str) else list(column_names)
            if not any(has_any_value(self.features.get(name)) for name in names):
                return _of_class(super().sort(column_names, reverse, null_placement, **options))
            order = list(range(len(self)))
            backwards = [reverse] * len(names) if isinstance(reverse, bool) else reverse
            first = null_placement in ("at_start", "first")
            for name, back in reversed(list(zip(names, backwards, strict=True))):
                values = list(self[name])
                filled = sorted((n for n in order if values[n] is not None), key=values.__getitem__, reverse=back)
                empty = [n for n in order if values[n] is None]
                order = [*empty, *filled] if first else [*filled, *empty]
            return self.select(order)

        def unique(self, column: str) -> list[object]:
            if not has_any_value(self.features.get(column)):
                return list(super().unique(column))
            return list({json.dumps(value): value for value in self[column]}.values())

        def to_list(self) -> list[object]:
            return [self._plain(row) for row in super().to_list()]

        def to_dict(self, batch_size: int | None = None, batched: bool = False) -> object:
            found = super().to_dict(batch_size, batched)
            return map(self._plain_columns, found) if batched else self._plain_columns(found)

        def to_pandas(self, batch_size: int | None = None, batched: bool = False) -> object:
            found = super().to_pandas(batch_size, batched)
            return map(self._plain_frame, found) if batched else self._plain_frame(found)

        def cast_column(self, column: str, feature: object, *args: object, **options: object) -> Any:
            if not has_any_value(self.features.get(column)) or has_any_value(feature):
                return super().cast_column(column, feature, *args, **options)
            wanted = declared_features(datasets.Features({column: feature}).to_dict())[column]
            cast = datasets.Dataset.from_dict({column: [declared(value, wanted) for value in self[column]]})
            cast = cast.cast_column(column, feature)
            others = self.remove_columns(column)
            found = datasets.concatenate_datasets([others, cast], axis=1) if others.column_names else cast
            return _of_class(found.select_columns(self.column_names))

        def cast(self, features: Any, *args: object, **options: object) -> Any:
            found = self
            for name, feature in features.items():
                if name in found.column_names and has_any_value(found.features[name]):
                    found = found.cast_column(name, feature)
            return _of_class(datasets.Dataset.cast(found, features, *args, **options))

        def _plain(self, row: Mapping[str, object]) -> dict[str, object]:
            return {name: plain_value(self.features[name], value) for name, value in row.items()}

        def _plain_columns(self, columns: Mapping[str, list[object]]) -> dict[str, list[object]]:
            return {name: [plain_value(self.features[name], it) for it in items] for name, items in columns.items()}

        def _plain_frame(self, frame: Any) -> object:
            import pandas

            for name in filter(lambda name: has_any_value(self.features[name]), self.column_names):
                values = [None if it is None or it != it else it for it in frame[name].tolist()]
                values = [plain_value(self.features[name], it) for it in values]
                frame[name] = pandas.Series(values, index=frame.index, dtype=object)
            return frame

    return DatasetOfAny


def _of_class(rows: object) -> Any:
    rows.__class__ = dataset_of_any()
    return rows


def _has_json(rows: Any) -> bool:
    """Whether a column holds values of several types as `datasets` stores them, which changes some."""
    return "Json(" in repr(rows.features)


def keeping_types(rows: object) -> object:
    """The same rows for task code, whose `map` keeps the types of values."""
    import datasets

    return _of_class(rows) if type(rows) is datasets.Dataset else rows


_SAME = object()
"""A value that a function of `map` has left as it is."""


class _Recorder:
    """A function of `map` whose results are kept as they are: `datasets` would store 4 beside 2.5 as 4.0."""

    def __init__(self, function: Any, kept: Mapping[str, object], batched: bool) -> None:
        from datasets.formatting.formatting import LazyDict

        self._function, self._names, self._batched, self._row = function, tuple(kept), batched, LazyDict
        self._media = {name: it for name, it in kept.items() if not _is_plain(it) and not has_any_value(it)}
        self._found: list[tuple[range, Mapping[str, object]]] = []
        self._rows = 0

    def __call__(self, *args: Any, **options: Any) -> object:
        size = len(args[0].pa_table if isinstance(args[0], self._row) else args[0]) if self._batched else 1
        places = range(self._rows, self._rows + size)
        self._rows += size
        found = self._function(*args, **options)
        if not isinstance(found, Mapping):
            return found
        given = self._values(args[0]) if isinstance(args[0], self._row) else dict.fromkeys(self._names, _SAME)
        kept = {name: value for name, value in given.items() if name in self._names}
        if isinstance(found, self._row):
            own = self._values(found)
            own = {
                name: it for name, it in own.items() if name in self._names or name not in found.pa_table.column_names
            }
        else:
            own = dict(found)
        result = {**kept, **own}
        for name in self._media.keys() & {name for name, value in result.items() if value is not _SAME}:
            result[name] = self._encoded(self._media[name], result[name])
        self._found.append((places, result))
        return None

    def _encoded(self, feature: Any, value: Any) -> object:
        """Pictures as their files' bytes: decoded, they would take ten times the memory."""
        from datasets.features.features import encode_nested_example

        if self._batched:
            return [encode_nested_example(feature, item) for item in value]
        return encode_nested_example(feature, value)

    @staticmethod
    def _values(row: Any) -> dict[str, object]:
        return {name: _SAME if name in row.keys_to_format else value for name, value in row.data.items()}

    def applied(self, rows: Any) -> object:
        """The rows with the columns that the function gave."""
        import datasets

        if not self._found:  # it was called for its effects alone
            return rows
        is_whole = sum(len(places) for places, _ in self._found) == len(rows)
        names = list(dict.fromkeys(name for _, result in self._found for name in result))
        same = [name for name in names if is_whole and all(result.get(name) is _SAME for _, result in self._found)]
        columns = {name: self._column(name, rows) for name in names if name not in same}
        lengths = {len(column) for column in columns.values()} | ({len(rows)} if same else set())
        if len(lengths) > 1:
            raise ValueError("the function of map gives columns of different lengths")
        if not columns:
            return rows.select_columns(names)
        found = _dataset_of_columns(columns, {name: rows.features[name] for name in columns if name in rows.features})
        if same:
            found = datasets.concatenate_datasets([rows.select_columns(same), found], axis=1)
        return _of_class(found.select_columns(names))

    def _column(self, name: str, rows: Any) -> list[Any]:
        before = list(rows[name]) if any(result.get(name) is _SAME for _, result in self._found) else []
        found: list[Any] = []
        for places, result in self._found:
            value: Any = result.get(name)
            if value is _SAME:
                found += before[places.start : places.stop]
            elif self._batched:
                found += value.tolist() if hasattr(value, "tolist") else value
            else:
                found.append(value)
        return found


def as_dataset(rows: Rows) -> Any:
    """The same rows for task code."""
    import datasets
    from datasets.table import InMemoryTable, MemoryMappedTable

    data = MemoryMappedTable.from_file(str(rows.file)) if rows.file is not None else InMemoryTable(rows.data)
    return dataset_of(data, datasets.Features({name: _feature(rows.features[name]) for name in rows.schema.names}))


def dataset_of(data: object, features: object) -> Any:
    """The rows of a table of `datasets`."""
    import datasets

    return _of_class(datasets.Dataset(data, info=datasets.DatasetInfo(features=features)))


def dataset_of_docs(docs: Sequence[Mapping[str, object]]) -> object:
    """The rows that task code gave as a list: as `Dataset.from_list`, but every value of JSON keeps its type."""
    names = dict.fromkeys(name for doc in docs for name in doc)
    return _dataset_of_columns({name: [doc.get(name) for doc in docs] for name in names}, {})


def in_memory(found: object) -> object:
    """What task code gave, or, if that is rows that can only be read in sequence (streaming), the rows of a Dataset."""
    import datasets

    return dataset_of_docs(list(found)) if isinstance(found, datasets.IterableDataset) else found


def _dataset_of_columns(columns: Mapping[str, list[object]], known: Options) -> Any:
    """known: the features that columns of these names had, of which those of labels and media stay."""
    import datasets
    import pyarrow as pa
    from datasets.table import InMemoryTable

    arrays, features, media = {}, {}, {}
    for name, values in columns.items():
        feature = type_of(values)
        if has_any_value(feature):
            with suppress(TypeError, ValueError):  # pictures, dates, arrays: `datasets` knows them
                features[name] = _feature(feature)
                arrays[name] = pa.array(stored(values, feature))
        if name not in arrays and name in known and not _is_plain(known[name]) and not has_any_value(known[name]):
            media[name] = datasets.Dataset.from_dict({name: values}, features=datasets.Features({name: known[name]}))
    parts = list(media.values())
    others = {name: values for name, values in columns.items() if name not in arrays and name not in media}
    if others or not columns:
        parts.append(datasets.Dataset.from_dict(others))
    if arrays:
        kept = datasets.Features({name: features[name] for name in arrays})
        parts.append(dataset_of(InMemoryTable(pa.table(arrays).cast(kept.arrow_schema)), kept))
    found = datasets.concatenate_datasets(parts, axis=1) if len(parts) > 1 else parts[0]
    return _of_class(found.select_columns(list(columns)))


def _feature(feature: Any) -> object:
    """A feature of ours as one of `datasets`."""
    import datasets

    if isinstance(feature, Mapping):
        return {name: _feature(inner) for name, inner in feature.items()}
    if isinstance(feature, ours.List):
        return datasets.List(_feature(feature.feature))
    if isinstance(feature, ours.Image):
        return datasets.Image(mode=feature.mode, decode=feature.decode)
    if isinstance(feature, ours.ClassLabel):
        return datasets.ClassLabel(names=list(feature.names))
    return any_value()() if isinstance(feature, ours.AnyValue) else datasets.Value(feature.dtype)


def load_local(path: str, name: str | None, split: str | None, options: Options) -> object:
    """As `datasets.load_dataset` for files on this machine, but JSON and CSV files are read as `text_files.py` says.

    Errors: those of `datasets`, and DataError for a text file that can't be read.
    """
    import datasets

    saved = _saved(Path(path) if name is None else Path(path, name), split)
    if saved is not None:
        return saved
    builder = _builder(path, name, options)
    if not options.get("streaming") and (found := text_data(builder, split)) is not None:
        return found
    cache = content_cache(builder, path, name)
    folder = str(cache.get("cache_dir", datasets_cache() / "mm-eval-folders"))
    if (found := _folder_data(path, name, split, options, builder, f"{folder}-as-written")) is not None:
        return found
    if (found := _view_data(path, name, split, options, builder, f"{folder}-as-written")) is not None:
        return found
    found = datasets.load_dataset(path, name, split=split, **{**options, **cache})
    if not options.get("streaming") and not options.get("features"):  # declared ones leave out what they don't name
        check_shards(builder, found)
    return found


def _folder_data(path: str, name: str | None, split: str | None, options: Options, known: object, cache: str) -> object:
    """The rows of a folder of pictures, videos or sounds with metadata.csv or metadata.jsonl, whose values are kept as written.

    None for other data. known: the builder of `datasets` that has found the files. cache: a folder for the rows.
    """
    from datasets.packaged_modules.folder_based_builder.folder_based_builder import FolderBasedBuilder

    if not isinstance(known, FolderBasedBuilder) or known.config.filters is not None or known.config.drop_metadata:
        return None
    wanted = known.config.metadata_filenames or known.METADATA_FILENAMES
    names = [str(name) for files in known.config.data_files.values() for name in files]
    names = [name for name in names if Path(name).name in wanted or name.lower().endswith(".zip")]
    files = [file for file in _local_files(known, names)[0] if file.name in wanted] if names else []
    kinds = {".csv": "csv", ".jsonl": "json"}
    if not files or len({file.suffix for file in files}) > 1 or files[0].suffix not in kinds:
        return None
    any_value()  # the rows in the cache may have such columns
    builder = _builder(path, name, options, cache)
    builder._read_metadata = _Metadata(TextFormat(kinds[files[0].suffix]), files, builder.config.features).read
    builder.download_and_prepare()
    return _of_classes(builder.as_dataset(split=split))


def _view_data(path: str, name: str | None, split: str | None, options: Options, known: Any, cache: str) -> Any:
    """The rows of Arrow files whose texts are views, as polars writes them: as plain texts. None for other data.

    Arrow selects no rows of views and doesn't decode categories of them. known: the builder of `datasets` that has found the
    files. cache: a folder for the rows.
    """
    import datasets
    import pyarrow as pa
    from datasets.packaged_modules.arrow.arrow import Arrow

    if not isinstance(known, Arrow) or options.get("streaming") or known.config.features is not None:
        return None
    files = [file for names in known.config.data_files.values() for file in _local_files(known, names)[0]]
    schema = _arrow_schema(files[0]) if files else pa.schema([])
    plain = pa.schema([field.with_type(_plain_text(field.type)) for field in schema])
    if plain == schema:
        return None
    builder = _builder(path, name, options, cache)
    builder.info.features = datasets.Features.from_arrow_schema(plain)
    cast = builder._cast_table
    builder._cast_table = lambda table: cast(_without_views(table))
    builder.download_and_prepare()
    return _of_classes(builder.as_dataset(split=split))


def _arrow_schema(file: Path) -> Any:
    import pyarrow as pa

    with pa.memory_map(str(file)) as source:
        try:
            return pa.ipc.open_stream(source).schema
        except (OSError, pa.ArrowInvalid):
            return pa.ipc.open_file(source).schema


def _plain_text(kind: Any) -> Any:
    """A type with plain texts in place of views; one of categories that are views is one of texts."""
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_dictionary(kind):
        inner = _plain_text(kind.value_type)
        return kind if inner == kind.value_type else inner
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain_text(field.type)) for field in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_text(kind.value_type), kind.list_size)
    for is_kind, make in ((pa.types.is_list, pa.list_), (pa.types.is_large_list, pa.large_list)):
        if is_kind(kind):
            return make(_plain_text(kind.value_type))
    return kind


def _without_views(table: Any) -> Any:
    """A table whose categories of views are texts."""
    import pyarrow as pa

    for place, column in enumerate(table.schema):
        if pa.types.is_dictionary(column.type) and (kind := _plain_text(column.type)) != column.type:
            parts = [
                pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(kind)).dictionary_decode()
                for part in table.column(place).chunks
            ]
            table = table.set_column(place, column.with_type(kind), pa.chunked_array(parts, kind))
    return table


def _of_classes(found: object) -> object:
    for rows in found.values() if isinstance(found, Mapping) else [found]:
        _of_class(rows)
    return found


class _Metadata:
    """The metadata of a folder of pictures, for its builder of `datasets`. features: those that the task declares."""

    def __init__(self, form: TextFormat, files: Sequence[Path], features: Any) -> None:
        self._form = form
        self._found = features_of((part for file in files for part in columns_of(file, form)), form.kind)
        self._stated = {} if features is None else declared_features(features.to_dict())

    def read(self, metadata_file: str, metadata_ext: str = "") -> Iterator[_MetadataTable]:
        """In place of the method of `datasets`. metadata_ext: it is in the format already."""
        import datasets

        schema = datasets.Features({name: _feature(feature) for name, feature in self._found.items()}).arrow_schema
        with _on_disk(metadata_file) as file:
            for part in columns_of(file, self._form):
                rows = len(next(iter(part.values())))
                columns = {name: self._values(name, part.get(name, [None] * rows)) for name in self._found}
                yield _MetadataTable(schema, columns)

    def _values(self, name: str, values: list[object]) -> list[Any]:
        if name in self._stated:
            return [declared(value, self._stated[name]) for value in values]
        return numbers_of(values, self._found[name]) if self._form.kind == "csv" else values


@contextmanager
def _on_disk(name: str) -> Iterator[Path]:
    """A file, also one that `datasets` names in an archive, `zip://metadata.csv::a.zip`."""
    if "://" not in name:
        yield Path(name)
        return
    from datasets.utils.file_utils import xopen

    with tempfile.TemporaryDirectory() as folder, xopen(name, "rb") as packed:
        found = Path(folder, Path(name.split("::")[0]).name)
        found.write_bytes(packed.read())
        yield found


@dataclass(frozen=True)
class _MetadataTable:
    """What a builder asks of an arrow table."""

    schema: Any
    columns: Mapping[str, list[Any]]

    def to_pylist(self) -> list[dict[str, object]]:
        return [dict(zip(self.columns, row, strict=True)) for row in zip(*self.columns.values(), strict=True)]


def load_from_hub(path: str, name: str | None, split: str | None = None, **options: object) -> object:
    """As `datasets.load_dataset` for an id of the hub, but JSON and CSV files are read as `text_files.py` says.

    Without network these are the files in the hub's cache; where that lacks them, rows are as `datasets` keeps them.
    """
    import datasets

    found = datasets.load_dataset(path, name, split=split, **options)
    one = next(iter(found.values()), None) if isinstance(found, datasets.DatasetDict) else found
    if not isinstance(one, datasets.Dataset) or one.info.builder_name not in (*TEXT_KINDS, *FOLDER_KINDS):
        return found
    ours = _hub_text(path, name, split, options)
    return found if ours is None else ours


def _hub_text(path: str, name: str | None, split: str | None, options: Mapping[str, Any]) -> object:
    import datasets
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError

    def read(path: str, options: Options) -> Any:
        builder = _builder(path, name, options)
        if (found := text_data(builder, split)) is not None:
            return found
        return _folder_data(path, name, split, options, builder, str(datasets_cache() / "mm-eval-folders"))

    if not datasets.config.HF_HUB_OFFLINE:
        return read(path, options)
    try:
        folder = huggingface_hub.snapshot_download(
            path, repo_type="dataset", revision=options.get("revision"), local_files_only=True
        )
        others = {key: value for key, value in options.items() if key not in ("revision", "token")}
        return read(folder, others)
    except (OSError, ValueError, HFValidationError, datasets.exceptions.DatasetsError):
        return None


def _builder(path: str, name: str | None, options: Options, cache: str | None = None) -> Any:
    """What finds the files of a data set; it reads no row. cache: a folder where it may prepare them."""
    import datasets

    known = inspect.signature(datasets.load_dataset_builder).parameters
    loader_only = set(inspect.signature(datasets.load_dataset).parameters) - set(known)
    options = {key: value for key, value in options.items() if key not in loader_only}
    # beside rows that `datasets` has prepared, a builder takes the types that it found there for declared ones
    return datasets.load_dataset_builder(
        path, name, **{**options, "cache_dir": cache or str(datasets_cache() / "mm-eval-files")}
    )


def text_data(builder: object, split: str | None) -> object:
    """The rows of a split, or of each, of JSON and CSV files that `datasets` has found; None for other formats.

    builder: of `datasets.load_dataset_builder`. split: as `datasets` takes it, such as `test[:10]`.
    Errors: DataError, with the line, if a file can't be read.
    """
    import datasets
    from datasets.packaged_modules.csv.csv import Csv
    from datasets.packaged_modules.json.json import Json

    if not isinstance(builder, Json | Csv):
        return None
    kind, config = "json" if isinstance(builder, Json) else "csv", builder.config
    if split is not None:
        named = [name for name in config.data_files if re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", split)]
    else:
        named = list(config.data_files)
    files = {str(name): _local_files(builder, config.data_files[name]) for name in named}
    if not files:
        return None
    features = builder.info.features if builder.info.features is not None else config.features
    stated = None if features is None else features.to_dict()
    try:
        every = {
            name: as_dataset(rows_of(TextFiles(paths, _format(kind, config, sources), stated), paths))
            for name, (paths, sources) in files.items()
        }
    except Unreadable:
        return None
    return datasets.DatasetDict(every) if split is None else _part(every, split)


def _part(every: Mapping[str, Any], split: str) -> object:
    """The rows of a split as `datasets` names it, such as `test[:10]` or `train+test`."""
    import datasets

    if split in every:
        return every[split]
    parts = datasets.ReadInstruction.from_spec(split).to_absolute({name: len(rows) for name, rows in every.items()})
    chosen = [every[part.splitname].select(range(part.from_ or 0, _end(part, every))) for part in parts]
    return _of_class(datasets.concatenate_datasets(chosen))


def _saved(folder: Path, split: str | None) -> object:
    """The rows of a folder that `Dataset.save_to_disk` or `DatasetDict.save_to_disk` wrote; None for any other."""
    import datasets

    if not any((folder / name).is_file() for name in ("dataset_dict.json", "state.json")):
        return None
    found = datasets.load_from_disk(str(folder))
    if split is None:
        return found
    if isinstance(found, datasets.Dataset):  # rows that were never a split have the name that they are asked by
        name = re.split(r"\W", split)[0] if found.split is None else str(found.split)
        found = {name: found}
    return _part(found, split)


def _end(part: Any, every: Mapping[str, Any]) -> int:
    return len(every[part.splitname]) if part.to is None else int(part.to)


def _local_files(builder: Any, names: Sequence[str]) -> tuple[list[Path], list[str]]:
    """The files on this machine, downloaded and unpacked where need be, and what each of the names was."""
    import datasets

    settings = datasets.DownloadConfig(
        cache_dir=str(datasets.config.DOWNLOADED_DATASETS_PATH),
        use_etag=False,
        token=builder.token,
        storage_options=builder.storage_options,
    )
    manager = datasets.DownloadManager(dataset_name=builder.dataset_name, download_config=settings)
    found = [
        (file, str(name)) for name in names for file in manager.iter_files(manager.download_and_extract(str(name)))
    ]
    # a packed file has the archive's name, and the members of an archive have their own
    return [Path(file) for file, _ in found], [file if Path(file).suffix else name for file, name in found]


def _format(kind: str, config: Any, names: Sequence[str]) -> TextFormat:
    """How `datasets` was told to read the files."""
    encoding, errors = config.encoding or "utf-8", config.encoding_errors or "strict"
    if kind == "json":
        return TextFormat(kind, member=config.field, encoding=encoding, errors=errors)
    usual = {each.name: each.default for each in fields(type(config))}
    options = {
        name: value
        for name, value in config.pd_read_csv_kwargs.items()
        if value != usual.get(name) and name not in ("encoding", "encoding_errors", "chunksize")
    }
    if "sep" not in options and all(re.search(r"\.tsv(\.\w+)?$", name, re.IGNORECASE) for name in names):
        options["sep"] = "\t"
    return TextFormat(kind, options, encoding=encoding, errors=errors)


def short_floats(rows: Any) -> object:
    """A Dataset whose columns of float32 and float16 print the shortest text that gives the same narrow float."""
    import datasets

    schema = rows.data.schema
    narrow = [each.name for each in schema if wide_type(each.type) != each.type and _is_plain(rows.features[each.name])]
    if not narrow:
        return rows
    features = datasets.Features({name: _wide_feature(rows.features[name]) for name in narrow})
    chosen = rows.select_columns(narrow).with_format("arrow")
    wide = chosen.map(with_short_floats, batched=True, features=features).with_format(None)
    others = rows.remove_columns(narrow)
    joined = datasets.concatenate_datasets([others, wide], axis=1) if others.column_names else wide
    return _of_class(joined.select_columns(rows.column_names))


def _is_plain(feature: object) -> bool:
    """Whether a feature is made of values, lists and records alone."""
    import datasets

    if isinstance(feature, Mapping):
        return all(map(_is_plain, feature.values()))
    inner = getattr(feature, "feature", None)
    return isinstance(feature, datasets.Value) if inner is None else _is_plain(inner)


def _wide_feature(feature: Any) -> object:
    import datasets

    if isinstance(feature, Mapping):
        return {name: _wide_feature(inner) for name, inner in feature.items()}
    if isinstance(feature, datasets.Value):
        return datasets.Value("float64") if feature.dtype in ("float32", "float16") else feature
    inner = _wide_feature(feature.feature)
    length = getattr(feature, "length", -1)
    return datasets.LargeList(inner) if isinstance(feature, datasets.LargeList) else datasets.List(inner, length=length)
