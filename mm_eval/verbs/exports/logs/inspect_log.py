"""Logs of inspect_ai: an .eval file (zip, one JSON file a sample), or one .json file.

A newer .eval file is compressed with zstandard, which Python's zipfile does not know; pyarrow does.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from mm_eval.values.errors import kind_and_text
from mm_eval.values.run_files import json_value
from mm_eval.values.types import ENDINGS as EVERY_ENDING
from mm_eval.values.types import IMAGE_MARK, JsonObject, Options
from mm_eval.verbs.exports.logs.files import (
    MOST_MEMBER,
    OddValue,
    as_list,
    as_mapping,
    as_text,
    damaged,
    document,
    head,
    opened,
    reading,
    shown,
)
from mm_eval.verbs.exports.logs.values import Log, LogRow, as_numbers, as_score

ZSTANDARD = 93
LOCAL_HEADER = 30
ENDINGS = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
    "tool_calls": "tool",
}
"""The ending of each `stop_reason`. "unknown" is what inspect_ai makes of an abort, a pause and any other word of a server."""
SAMPLE = re.compile(r"samples/(?P<id>.+?)(?:_epoch_(?P<epoch>\d+))?\.json")
MOST_EPOCHS = 10_000
LARGE = ("samples", "reductions")
"""The keys of a log whose lists have an entry a sample."""


def find(folder: Path, files: Sequence[Path]) -> Iterator[Log]:
    """The logs among the files of one folder."""
    for path in files:
        if path.suffix == ".eval":
            yield _log(path, _header_of_zip(path), _rows_of_zip)
        elif path.suffix == ".json" and re.match(rb'\s*\{\s*"version"\s*:\s*\d+', head(path)):
            header = {key: value for key, value in document(path, LARGE) if key not in LARGE}
            if header.get("eval") is not None:
                yield _log(path, header, _rows_of_json)


def _log(path: Path, header: Mapping[str, object], rows: Callable[[Path, _Epochs], Iterator[LogRow]]) -> Log:
    with reading(path):
        about = as_mapping(header.get("eval"), "eval")
        packages = as_mapping(about.get("packages"), "eval.packages")
        config = as_mapping(about.get("config"), "eval.config")
        numbers, notes = as_numbers(dict(_numbers(header.get("results"))))
        status = as_text(header.get("status"), "status") or "success"
        if status != "success":
            notes.insert(0, f"the log says that the evaluation ended with {status!r}")
        stated = config.get("epochs")
        if stated is not None and (type(stated) is not int or not 0 < stated <= MOST_EPOCHS):
            raise OddValue(f"`eval.config.epochs` is {shown(stated)} where a count is needed")
        reducers = [as_text(each, "epochs_reducer") for each in as_list(config.get("epochs_reducer"), "epochs_reducer")]
        epochs = _Epochs(stated or 1, reducers in ([], ["mean"]))
        if not epochs.by_mean:
            notes.append(f"its own scores by document are left out: it reduces the epochs by {', '.join(reducers)}")
        model = as_text(about.get("model"), "eval.model")
        return Log(
            suite="mm-eval" if "mm_eval" in packages else "inspect_ai",
            task=as_text(about.get("task") or path.stem, "eval.task").rsplit("/", 1)[-1],
            path=path,
            rows=partial(rows, path, epochs),
            model=model.removeprefix("none/") if "mm_eval" in packages else model,
            version=as_text(packages.get("inspect_ai") or packages.get("mm_eval"), "eval.packages"),
            numbers=numbers,
            notes=notes,
            when=as_text(about.get("created"), "eval.created"),
        )


def _numbers(results: object) -> Iterator[tuple[str, float]]:
    for scorer in as_list(as_mapping(results, "results").get("scores"), "results.scores"):
        stated = as_mapping(scorer, "results.scores")
        for name, metric in as_mapping(stated.get("metrics"), "results.scores.metrics").items():
            value = metric.get("value") if isinstance(metric, dict) else metric
            if name != "stderr" and isinstance(value, (int, float)):
                of_scorer = str(stated.get("name"))
                alone = name in ("accuracy", "mean") or of_scorer.startswith(f"{name},")
                yield of_scorer if alone else f"{of_scorer}/{name}", value


class _Epochs(NamedTuple):
    """How often each sample was answered, and whether the suite's score of a document is the mean over its epochs."""

    times: int
    by_mean: bool


def _together(rows: Mapping[int, LogRow], epochs: _Epochs) -> LogRow:
    """The epochs of a sample as one row, whose answers are repeats. An epoch that is missing is a missing answer."""
    first = next(iter(rows.values()))
    if len(rows) == 1 and (epochs.times == 1 or len(first.resps) > 1):
        return first
    resps, ended = list[Any](), list[str]()
    failed = ""
    for epoch in range(1, max(epochs.times, *rows) + 1):
        row = rows.get(epoch)
        if row is not None and row.choices != first.choices:
            raise OddValue(f"the options of epoch {epoch} differ from those of the first, or are in another order")
        resps += list(row.resps) if row and row.resps else [None]
        ended += list(row.ended) if row and row.resps else ["failed"]
        failed = failed or (row.failed if row else f"the log has no answer of epoch {epoch}")
    names = [name for name in first.scores if all(name in row.scores for row in rows.values())]
    scores = {name: fmean(row.scores[name] for row in rows.values()) for name in names if epochs.by_mean}
    return replace(first, resps=resps, ended=ended, failed=failed, scores=scores)


def _rows_of_json(path: Path, epochs: _Epochs) -> Iterator[LogRow]:
    """A sample's later epochs are read before the first ones, without what only the first one needs."""
    later: dict[str, dict[int, LogRow]] = {}
    seen = set[str]()
    for name, epoch, row in _samples_of_json(path):
        if name in seen:
            later.setdefault(name, {})[epoch] = replace(row, prompt=None, doc=None, raw={}, read=None)
        seen.add(name)
    for name, epoch, row in _samples_of_json(path):
        if name in seen:
            seen.remove(name)
            with reading(row.where):
                found = _together({epoch: row, **later.pop(name, {})}, epochs)
            yield found


def _samples_of_json(path: Path) -> Iterator[tuple[str, int, LogRow]]:
    for key, sample in document(path, LARGE):
        if key == "samples":
            yield _sample(sample, path)


def _header_of_zip(path: Path) -> Mapping[str, object]:
    with _archive(path) as archive:
        names = set(archive.namelist())
        for name in ("header.json", "_journal/start.json"):  # a run that was killed has no header
            if name in names:
                found = _member(archive, path, archive.getinfo(name))
                return found if name == "header.json" else {**found, "status": "started"}
    raise damaged(path, "it has no header.json: it is not a log of inspect_ai")


def _rows_of_zip(path: Path, epochs: _Epochs) -> Iterator[LogRow]:
    with _archive(path) as archive:
        found: dict[str, dict[int, zipfile.ZipInfo]] = {}
        for info in archive.infolist():  # a sample that was requeued is added again
            if match := SAMPLE.fullmatch(info.filename):
                found.setdefault(match["id"], {})[int(match["epoch"] or 1)] = info
        for members in found.values():
            rows = {epoch: _sample(_member(archive, path, members[epoch]), path)[2] for epoch in sorted(members)}
            with reading(next(iter(rows.values())).where):
                row = _together(rows, epochs)
            yield row


def _archive(path: Path) -> zipfile.ZipFile:
    opened(path).close()
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise damaged(path, f"it is not a whole zip file ({error})") from error


def _member(archive: zipfile.ZipFile, path: Path, info: zipfile.ZipInfo) -> Any:
    """The JSON value of one file of the archive."""
    if info.file_size > MOST_MEMBER:
        raise damaged(path, f"{info.filename} has more than {MOST_MEMBER:,} bytes")
    try:
        content = _unpacked(archive, info) if info.compress_type == ZSTANDARD else archive.read(info)
        found = json_value(content[: MOST_MEMBER + 1])
    except Exception as error:  # zipfile's, zlib's, arrow's and JSON's errors share no base
        raise damaged(path, f"{info.filename} in it is damaged ({kind_and_text(error)})") from error
    if not isinstance(found, dict):
        raise damaged(path, f"{info.filename} in it is not a JSON object")
    return found


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A file of the archive that is compressed with zstandard."""
    import pyarrow as pa

    file = archive.fp
    if file is None:
        raise ValueError("the archive is closed")
    file.seek(info.header_offset)
    name, extra = struct.unpack("<HH", file.read(LOCAL_HEADER)[26:30])
    file.seek(name + extra, 1)
    packed = file.read(info.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(info.file_size))


def _sample(sample: object, path: Path) -> tuple[str, int, LogRow]:
    """(id, epoch, row) of one sample."""
    if not isinstance(sample, dict) or type(sample.get("id")) not in (int, str):
        raise damaged(path, "an entry is not a sample: it has no id that is a text or a number")
    where = f"{path.name} sample {sample['id']}"
    with reading(where):
        epoch = sample.get("epoch", 1)
        if type(epoch) is not int or not 0 < epoch <= MOST_EPOCHS:
            raise OddValue(f"`epoch` is {shown(epoch)} where a count is needed")
        return repr(sample["id"]), epoch, _row(sample, where)


def _row(sample: Mapping[str, object], where: str) -> LogRow:
    given = as_mapping(sample.get("scores"), "scores") or {"score": sample.get("score")}  # the latter before 0.3.18
    metadata = as_mapping(sample.get("metadata"), "metadata")
    own = as_mapping(metadata.get("mm_eval"), "metadata.mm_eval")
    scores = {name: number for name, each in given.items() if (number := as_score(each)) is not None}
    read = next((each.get("answer") for each in given.values() if isinstance(each, dict)), None)
    attachments = as_mapping(sample.get("attachments"), "attachments")
    question, options = sample.get("input"), [str(each) for each in as_list(sample.get("choices"), "choices")]
    messages = [as_mapping(each, "messages") for each in as_list(sample.get("messages"), "messages")]
    asked = [each for each in messages if each.get("source") != "generate"]
    error, output = as_mapping(sample.get("error"), "error"), as_mapping(sample.get("output"), "output")
    common: JsonObject = {
        "where": where,
        "id": str(sample["id"]),
        "prompt": _prompt(asked or question, attachments),
        "target": sample.get("target"),
        "choices": options,
        "scores": scores,
        "read": read,
        "raw": {**metadata, **{name: sample.get(name) for name in ("id", "input", "target", "epoch")}},
    }
    what = as_text(error.get("message"), "error.message")
    if own:  # an export of mm-eval
        resps = as_list(own.get("resps"), "resps")
        endings = [as_text(each, "ended") for each in as_list(own.get("ended"), "ended")]
        if type(own.get("doc_id")) is not int or not set(endings) <= set(EVERY_ENDING):
            raise OddValue("`metadata.mm_eval` is not what mm-eval writes")
        failed = "" if resps else what or "it was not requested"
        doc = None if metadata.get("doc") is None else as_mapping(metadata["doc"], "doc")
        return LogRow(resps=resps, ended=endings, doc_id=own["doc_id"], failed=failed, doc=doc, **common)
    doc = {**metadata, "question": _text(question, attachments), "target": sample.get("target")}
    if options:
        doc["choices"] = options
    choices = [as_mapping(each, "output.choices") for each in as_list(output.get("choices"), "output.choices")]
    text = output.get("completion")
    if text is None and choices:
        text = _text([as_mapping(choices[0].get("message"), "message")], attachments)
    answer = _attached(as_text(text, "output.completion"), attachments)
    stated = as_text(choices[0].get("stop_reason"), "stop_reason") if choices else ""
    ended = ENDINGS.get(stated, "failed") if stated else "unknown"
    if not choices and not what:
        what = "the log has no answer"
    if ended == "failed" and not what:
        what = f"the answer {answer[:200]!r} has stop_reason {stated!r}: whether it is whole is not known"
    return LogRow(resps=[] if what else [answer], ended=[ended], doc=doc, failed=what[:500], **common)


def _attached(text: str, attachments: Mapping[str, object]) -> str:
    """A text that stands apart from its sample."""
    if text.startswith("attachment://"):
        return str(attachments.get(text.removeprefix("attachment://"), text))
    return text


def _text(content: object, attachments: Mapping[str, object]) -> str:
    """The text of an input: a text, or messages."""
    if isinstance(content, str):
        return _attached(content, attachments)
    turns = (_parts(as_mapping(each, "input").get("content"), attachments) for each in as_list(content, "input"))
    return "\n".join("".join(part.get("text", f"{IMAGE_MARK}\n") for part in parts) for parts in turns)


def _parts(content: object, attachments: Options) -> list[dict[str, str]]:
    """The parts of a message: its texts, and places of pictures, which are not taken over."""
    if isinstance(content, str):
        return [{"type": "text", "text": _attached(content, attachments)}]
    parts = []
    for part in as_list(content, "content"):
        kind = as_mapping(part, "content").get("type")
        if kind == "text":
            parts.append({"type": "text", "text": _attached(as_text(part.get("text"), "text"), attachments)})
        elif kind == "image":
            parts.append({"type": "image"})
    return parts


def _prompt(asked: object, attachments: Mapping[str, object]) -> object:
    """What the model got, as messages of text."""
    if isinstance(asked, str):
        return _attached(asked, attachments)
    return [
        {"role": str(each.get("role", "user")), "content": _parts(each.get("content"), attachments)}
        for each in (as_mapping(each, "input") for each in as_list(asked, "input"))
    ]
