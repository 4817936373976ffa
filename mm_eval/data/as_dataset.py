"""Rows as the `datasets.Dataset` that task code takes, and JSON and CSV files that only `datasets` finds, as those on the hub.

`datasets` can't keep a column with values of several types through `map`: its own `Json` makes the text "5" the number 5, and
keeps ten digits of a float. `any_value` and `dataset_of_any` keep every value.
"""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from mm_eval.data import rows as ours
from mm_eval.data.arrow_files import TextFiles, Unreadable, rows_of
from mm_eval.data.data_files import content_cache, datasets_cache
from mm_eval.data.rows import Rows, has_any_value, wide_type, with_short_floats
from mm_eval.data.text_files import TextFormat, stored, type_of

TEXT_KINDS = ("json", "csv")
"""Builders of `datasets` whose files `text_files.py` reads."""


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
        pa_type: ClassVar[Any] = pa.string()
        _type: str = field(default="AnyValue", init=False, repr=False)

        def __call__(self) -> Any:
            return self.pa_type

        def encode_example(self, value: Any) -> str:
            return value if isinstance(value, _Stored) else _Stored(json.dumps(value, ensure_ascii=False))

        def decode_example(self, value: str | None, token_per_repo_id: Any = None) -> Any:
            return None if value is None else json.loads(value)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this function of `datasets` is experimental
        register_feature(AnyValue, "AnyValue")
    return AnyValue


@cache
def dataset_of_any() -> Any:
    """A `datasets.Dataset` with columns of AnyValue, which `map` keeps as they are."""
    import datasets

    class DatasetOfAny(datasets.Dataset):  # type: ignore[misc]
        def map(self, function: Callable[..., Any] | None = None, *args: Any, **options: Any) -> Any:
            removed = options.get("remove_columns") or []
            removed = [removed] if isinstance(removed, str) else removed
            kept = {name: it for name, it in self.features.items() if has_any_value(it) and name not in removed}
            if function is None or not kept or options.get("features") is not None:
                return _of_class(super().map(function, *args, **options))
            call = _Encoding(function, kept, bool(options.get("batched")), options.get("input_columns"))
            return _of_class(super().map(call, *args, **options))

        def filter(self, *args: Any, **options: Any) -> Any:
            return _of_class(super().filter(*args, **options))

        def select(self, *args: Any, **options: Any) -> Any:
            return _of_class(super().select(*args, **options))

        def shuffle(self, *args: Any, **options: Any) -> Any:
            return _of_class(super().shuffle(*args, **options))

        def sort(self, *args: Any, **options: Any) -> Any:
            return _of_class(super().sort(*args, **options))

    return DatasetOfAny


def _of_class(rows: Any) -> Any:
    if any(map(has_any_value, rows.features.values())):
        rows.__class__ = dataset_of_any()
    return rows


@dataclass(frozen=True)
class _Encoding:
    """A function of `map` whose result holds the columns of AnyValue as they are stored."""

    function: Callable[..., Any]
    kept: Mapping[str, Any]
    batched: bool
    input_columns: Any

    def __call__(self, *args: Any, **options: Any) -> Any:
        found = self.function(*args, **options)
        if not isinstance(found, Mapping):
            return found
        given = args[0] if self.input_columns is None and isinstance(args[0], Mapping) else {}
        values = {**{name: given[name] for name in self.kept if name in given}, **found}
        return {**values, **{name: self._encoded(name, values[name]) for name in self.kept if name in values}}

    def _encoded(self, name: str, value: Any) -> Any:
        from datasets.features.features import encode_nested_example

        feature = self.kept[name]
        if self.batched:
            return [None if item is None else encode_nested_example(feature, item) for item in value]
        return None if value is None else encode_nested_example(feature, value)


def as_dataset(rows: Rows) -> Any:
    """The same rows for task code."""
    import datasets
    from datasets.table import InMemoryTable, MemoryMappedTable

    data = MemoryMappedTable.from_file(str(rows.file)) if rows.file is not None else InMemoryTable(rows.data)
    return dataset_of(data, datasets.Features({name: _feature(rows.features[name]) for name in rows.schema.names}))


def dataset_of(data: Any, features: Any) -> Any:
    """The rows of a table of `datasets`."""
    import datasets

    return _of_class(datasets.Dataset(data, info=datasets.DatasetInfo(features=features)))


def dataset_of_docs(docs: Sequence[Mapping[str, Any]]) -> Any:
    """The rows that task code gave as a list: as `Dataset.from_list`, but every value of JSON keeps its type."""
    import datasets
    import pyarrow as pa
    from datasets.table import InMemoryTable

    columns = {name: [doc.get(name) for doc in docs] for name in dict.fromkeys(name for doc in docs for name in doc)}
    arrays, features = {}, {}
    for name, values in columns.items():
        feature = type_of(values)
        if has_any_value(feature):
            with suppress(TypeError, ValueError):  # pictures, dates, arrays: `datasets` knows them
                features[name] = _feature(feature)
                arrays[name] = pa.array(stored(values, feature))
    others = {name: values for name, values in columns.items() if name not in arrays}
    found = datasets.Dataset.from_dict(others)
    if arrays:
        kept = datasets.Features({name: features[name] for name in arrays})
        of_any = dataset_of(InMemoryTable(pa.table(arrays).cast(kept.arrow_schema)), kept)
        found = datasets.concatenate_datasets([found, of_any], axis=1) if others else of_any
    return _of_class(found.select_columns(list(columns)))


def _feature(feature: Any) -> Any:
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


def load_local(path: str, name: str | None, split: str | None, options: Mapping[str, Any]) -> Any:
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
    return datasets.load_dataset(path, name, split=split, **{**options, **content_cache(builder, path, name)})


def load_from_hub(path: str, name: str | None, split: str | None = None, **options: Any) -> Any:
    """As `datasets.load_dataset` for an id of the hub, but JSON and CSV files are read as `text_files.py` says.

    Without network these are the files in the hub's cache; where that lacks them, rows are as `datasets` keeps them.
    """
    import datasets

    found = datasets.load_dataset(path, name, split=split, **options)
    one = next(iter(found.values()), None) if isinstance(found, datasets.DatasetDict) else found
    if not isinstance(one, datasets.Dataset) or one.info.builder_name not in TEXT_KINDS:
        return found
    ours = _hub_text(path, name, split, options)
    return found if ours is None else ours


def _hub_text(path: str, name: str | None, split: str | None, options: Mapping[str, Any]) -> Any:
    import datasets
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError

    if not datasets.config.HF_HUB_OFFLINE:
        return text_data(_builder(path, name, options), split)
    try:
        folder = huggingface_hub.snapshot_download(
            path, repo_type="dataset", revision=options.get("revision"), local_files_only=True
        )
        others = {key: value for key, value in options.items() if key not in ("revision", "token")}
        return text_data(_builder(folder, name, others), split)
    except (OSError, ValueError, HFValidationError, datasets.exceptions.DatasetsError):
        return None


def _builder(path: str, name: str | None, options: Mapping[str, Any]) -> Any:
    """What finds the files of a data set; it reads no row."""
    import datasets

    known = inspect.signature(datasets.load_dataset_builder).parameters
    loader_only = set(inspect.signature(datasets.load_dataset).parameters) - set(known)
    options = {key: value for key, value in options.items() if key not in loader_only}
    # beside rows that `datasets` has prepared, a builder takes the types that it found there for declared ones
    return datasets.load_dataset_builder(
        path, name, **{**options, "cache_dir": str(datasets_cache() / "mm-eval-files")}
    )


def text_data(builder: Any, split: str | None) -> Any:
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


def _part(every: Mapping[str, Any], split: str) -> Any:
    """The rows of a split as `datasets` names it, such as `test[:10]` or `train+test`."""
    import datasets

    if split in every:
        return every[split]
    parts = datasets.ReadInstruction.from_spec(split).to_absolute({name: len(rows) for name, rows in every.items()})
    chosen = [every[part.splitname].select(range(part.from_ or 0, _end(part, every))) for part in parts]
    return _of_class(datasets.concatenate_datasets(chosen))


def _saved(folder: Path, split: str | None) -> Any:
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
    return [Path(file) for file, _ in found], [name for _, name in found]


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


def short_floats(rows: Any) -> Any:
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


def _is_plain(feature: Any) -> bool:
    """Whether a feature is made of values, lists and records alone."""
    import datasets

    if isinstance(feature, Mapping):
        return all(map(_is_plain, feature.values()))
    inner = getattr(feature, "feature", None)
    return isinstance(feature, datasets.Value) if inner is None else _is_plain(inner)


def _wide_feature(feature: Any) -> Any:
    import datasets

    if isinstance(feature, Mapping):
        return {name: _wide_feature(inner) for name, inner in feature.items()}
    if isinstance(feature, datasets.Value):
        return datasets.Value("float64") if feature.dtype in ("float32", "float16") else feature
    inner = _wide_feature(feature.feature)
    length = getattr(feature, "length", -1)
    return datasets.LargeList(inner) if isinstance(feature, datasets.LargeList) else datasets.List(inner, length=length)
