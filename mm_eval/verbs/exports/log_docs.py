"""The documents of a log as a data set that the task can be loaded from, where its own is not on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from mm_eval.config.task_config import TaskConfig
from mm_eval.data.source import LOCAL_FILES
from mm_eval.prompt.task import EVALUATION_SPLITS
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports.logs.values import Log

BATCH = 1000
MOST_GAPS = 20
"""Times as many documents as the log has rows: more gaps between doc_ids are not part of a data set."""
GIVE_DATA = "Give the data set (--data_root DIR), or name the columns: --columns question=THEIRS,answer=THEIRS."


def write_docs(root: Path, config: TaskConfig, log: Log) -> None:
    """Writes the documents of a log to root/org/name, so that the task finds its split there; each at the row of its doc_id.

    Errors: ConfigError where the log holds no documents, or the task's data is not a data set with a name.
    """
    path, names = config.dataset_path, config.dataset_name
    if config.custom_dataset is not None or path is None or path in LOCAL_FILES or path.startswith(("/", ".")):
        raise _no_docs(log, f"the data of {config.path} is not a data set with a name")
    if isinstance(names, list) and len(names) > 1:
        raise _no_docs(log, f"the data of {config.path} is put together from {len(names)} configurations")
    name = str(names[0] if isinstance(names, list) else names or "default")
    split = next(str(found) for key in EVALUATION_SPLITS if (found := getattr(config, key)))
    file = root / path / f"{name}-{split}.parquet".replace("/", "_")
    file.parent.mkdir(parents=True, exist_ok=True)
    _write_parquet(file, log)
    card = file.parent / "README.md"
    known = card.read_text(encoding="utf-8").split("---\n")[1] if card.is_file() else "configs:\n"
    lines = f"- config_name: {name!r}\n  data_files:\n  - split: {split}\n    path: {file.name!r}\n"
    card.write_text(f"---\n{known}{lines}---\nDocuments of {log.said}: {log.path.name}\n", encoding="utf-8")


def _write_parquet(file: Path, log: Log) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema: object = None
    for batch in _batches(log):
        try:
            own = pa.Table.from_pylist(batch).schema
            schema = own if schema is None else pa.unify_schemas([schema, own], promote_options="permissive")
        except (pa.ArrowException, TypeError, ValueError) as error:
            said = str(error).split("\n")[0][:200]
            raise ConfigError(
                f"the documents of the log have no one form: {said}.", where=str(log.path), hint=GIVE_DATA
            ) from error
    if schema is None:
        raise ConfigError("the log has no rows.", where=str(log.path))
    with pq.ParquetWriter(file, schema) as writer:
        for batch in _batches(log):
            writer.write_table(pa.Table.from_pylist(batch, schema=schema))


def _batches(log: Log) -> Iterator[list[dict[str, object]]]:
    batch: list[dict[str, object]] = []
    for doc in _in_place(log):
        batch.append(dict(doc))
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _in_place(log: Log) -> Iterator[Mapping[str, object]]:
    """The documents, each at its doc_id. A gap has the document before it: it is in no number."""
    first, place, rows = None, 0, 0
    waiting: dict[int, Mapping[str, object]] = {}
    last: Mapping[str, object] | None = None
    for row in log.rows():
        first = row.filter if first is None else first
        if row.filter != first:
            continue
        if row.doc is None:
            raise _no_docs(log, "the log holds no documents, which the rule of the task reads", row.where)
        at = rows if row.doc_id is None else row.doc_id
        rows += 1
        if at < place or at in waiting:
            continue  # twice in the log
        waiting[at] = row.doc
        while place in waiting:
            last = waiting.pop(place)
            yield last
            place += 1
    for at in sorted(waiting):
        if at > MOST_GAPS * (rows + 1000):
            raise _no_docs(log, f"its doc_ids go up to {at:,} with {rows:,} rows")
        doc = waiting[at]
        while place < at:
            yield last or doc
            place += 1
        last = doc
        yield doc
        place += 1


def _no_docs(log: Log, what: str, where: str = "") -> ConfigError:
    return ConfigError(
        f"{what}, and the data set is not on this machine.", where=where or str(log.path), hint=GIVE_DATA
    )
