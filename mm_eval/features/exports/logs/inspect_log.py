"""Logs of inspect_ai: an .eval file (zip, one JSON file a sample), or one .json file.

A newer .eval file is compressed with zstandard, which Python's zipfile does not know; pyarrow does.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mm_eval.features.exports.logs.files import damaged, document, head, opened
from mm_eval.features.exports.logs.values import Log, LogRow, as_score, mapping
from mm_eval.values.run_files import MOST_LINE, json_value
from mm_eval.values.types import IMAGE_MARK

ZSTANDARD = 93
LOCAL_HEADER = 30
MOST_SAMPLE = 4 * MOST_LINE
ENDINGS = {
    "stop": "stop",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "filtered",
    "tool_calls": "tool",
}
"""The ending of each `stop_reason`. "unknown" is what inspect_ai makes of an abort, a pause and any other word of a server."""
SAMPLE = re.compile(r"samples/.+\.json")
LARGE = ("samples", "reductions")
"""The keys of a log whose lists have an entry a sample."""


def find(folder: Path, files: Sequence[Path]) -> Iterator[Log]:
    """The logs among the files of one folder."""
    for path in files:
        if path.suffix == ".eval":
            yield _log(path, _header_of_zip(path), partial(_rows_of_zip, path))
        elif path.suffix == ".json" and re.match(rb'\s*\{\s*"version"\s*:\s*\d+', head(path)):
            header = {key: value for key, value in document(path, LARGE) if key not in LARGE}
            if isinstance(header.get("eval"), dict):
                yield _log(path, header, partial(_rows_of_json, path))


def _log(path: Path, header: Mapping[str, Any], rows: Any) -> Log:
    about = mapping(header.get("eval"))
    packages = mapping(about.get("packages"))
    own = "mm_eval" in packages
    notes = []
    if header.get("status") not in ("success", None):
        notes.append(f"the log says that the evaluation ended with {header['status']!r}")
    return Log(
        suite="mm-eval" if own else "inspect_ai",
        task=str(about.get("task") or path.stem).rsplit("/", 1)[-1],
        path=path,
        rows=rows,
        model=str(about.get("model") or ""),
        version=str(packages.get("inspect_ai") or packages.get("mm_eval") or ""),
        numbers=dict(_numbers(header.get("results"))),
        notes=notes,
        when=str(about.get("created") or ""),
    )


def _numbers(results: Any) -> Iterator[tuple[str, float]]:
    for scorer in (results or {}).get("scores") or ():
        for name, metric in (scorer.get("metrics") or {}).items():
            value = metric.get("value") if isinstance(metric, dict) else metric
            if name != "stderr" and isinstance(value, (int, float)):
                of_scorer = str(scorer.get("name"))
                alone = name in ("accuracy", "mean") or of_scorer.startswith(f"{name},")
                yield of_scorer if alone else f"{of_scorer}/{name}", float(value)


def _rows_of_json(path: Path) -> Iterator[LogRow]:
    for key, sample in document(path, LARGE):
        if key == "samples":
            yield _row(sample, path)


def _header_of_zip(path: Path) -> Mapping[str, Any]:
    with _archive(path) as archive:
        names = set(archive.namelist())
        for name in ("header.json", "_journal/start.json"):  # a run that was killed has no header
            if name in names:
                found = _member(archive, path, archive.getinfo(name))
                return found if name == "header.json" else {**found, "status": "started"}
    raise damaged(path, "it has no header.json: it is not a log of inspect_ai")


def _rows_of_zip(path: Path) -> Iterator[LogRow]:
    with _archive(path) as archive:
        for info in {
            info.filename: info for info in archive.infolist()
        }.values():  # one that was requeued is added again
            if SAMPLE.fullmatch(info.filename):
                yield _row(_member(archive, path, info), path)


def _archive(path: Path) -> zipfile.ZipFile:
    opened(path).close()
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise damaged(path, f"it is not a whole zip file ({error})") from error


def _member(archive: zipfile.ZipFile, path: Path, info: zipfile.ZipInfo) -> Any:
    """The JSON value of one file of the archive."""
    if info.file_size > MOST_SAMPLE:
        raise damaged(path, f"{info.filename} has more than {MOST_SAMPLE:,} bytes")
    try:
        content = _unpacked(archive, info) if info.compress_type == ZSTANDARD else archive.read(info)
        found = json_value(content[: MOST_SAMPLE + 1])
    except Exception as error:  # zipfile's, zlib's, arrow's and JSON's errors share no base
        raise damaged(path, f"{info.filename} in it is damaged ({type(error).__name__}: {error})") from error
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


def _row(sample: Any, path: Path) -> LogRow:
    if not isinstance(sample, dict) or "id" not in sample:
        raise damaged(path, "an entry is not a sample: it has no id")
    where = f"{path.name} sample {sample['id']}"
    given = sample.get("scores") or {"score": sample.get("score")}  # the latter of a log before 0.3.18
    metadata = mapping(sample.get("metadata"))
    own = mapping(metadata.get("mm_eval"))
    scores = {name: number for name, each in given.items() if (number := as_score(each)) is not None}
    read = next((each.get("answer") for each in given.values() if isinstance(each, dict)), None)
    attachments = mapping(sample.get("attachments"))
    question, options = sample.get("input"), [str(each) for each in sample.get("choices") or ()]
    asked = [
        each for each in sample.get("messages") or () if isinstance(each, dict) and each.get("source") != "generate"
    ]
    error, output = sample.get("error"), sample.get("output") or {}
    common: dict[str, Any] = {
        "where": where,
        "id": str(sample["id"]),
        "prompt": _prompt(asked or question, attachments),
        "target": sample.get("target"),
        "choices": options,
        "scores": scores,
        "read": read,
        "raw": {**metadata, **{name: sample.get(name) for name in ("id", "input", "target", "epoch")}},
        "filter": "none" if sample.get("epoch", 1) == 1 else f"epoch {sample['epoch']}",
    }
    if own:  # an export of mm-eval
        resps = list(own.get("resps") or ())
        failed = "" if resps else str((error or {}).get("message") or "it was not requested")
        doc = metadata.get("doc") if isinstance(metadata.get("doc"), dict) else None
        return LogRow(
            resps=resps, ended=own.get("ended") or (), doc_id=own.get("doc_id"), failed=failed, doc=doc, **common
        )
    doc = {**metadata, "question": _text(question, attachments), "target": sample.get("target")}
    if options:
        doc["choices"] = options
    choices = output.get("choices") or []
    text = output.get("completion")
    if text is None and choices:
        text = _text([choices[0].get("message") or {}], attachments)
    stated = str(choices[0].get("stop_reason") or "stop") if choices else "stop"
    ended = ENDINGS.get(stated, "failed")
    what = str((error or {}).get("message") or "") if isinstance(error, dict) else ""
    if not choices and not what:
        what = "the log has no answer"
    if ended == "failed" and not what:
        what = f"the answer {str(text or '')[:200]!r} has stop_reason {stated!r}: whether it is whole is not known"
    return LogRow(
        resps=[] if what else [_attached(str(text or ""), attachments)],
        ended=[ended],
        doc=doc,
        failed=what[:500],
        **common,
    )


def _attached(text: str, attachments: Mapping[str, Any]) -> str:
    """A text that stands apart from its sample."""
    if text.startswith("attachment://"):
        return str(attachments.get(text.removeprefix("attachment://"), text))
    return text


def _text(content: Any, attachments: Mapping[str, Any]) -> str:
    """The text of an input: a text, or messages."""
    if isinstance(content, str):
        return _attached(content, attachments)
    turns = (_parts(each.get("content"), attachments) for each in content or () if isinstance(each, dict))
    return "\n".join("".join(part.get("text", f"{IMAGE_MARK}\n") for part in parts) for parts in turns)


def _parts(content: Any, attachments: Mapping[str, Any]) -> list[dict[str, str]]:
    """The parts of a message: its texts, and places of pictures, which are not taken over."""
    if isinstance(content, str):
        return [{"type": "text", "text": _attached(content, attachments)}]
    parts = []
    for part in content or ():
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text":
            parts.append({"type": "text", "text": _attached(str(part.get("text", "")), attachments)})
        elif kind == "image":
            parts.append({"type": "image"})
    return parts


def _prompt(asked: Any, attachments: Mapping[str, Any]) -> Any:
    """What the model got, as messages of text."""
    if isinstance(asked, str):
        return _attached(asked, attachments)
    return [
        {"role": str(each.get("role", "user")), "content": _parts(each.get("content"), attachments)}
        for each in asked or ()
        if isinstance(each, dict)
    ]
