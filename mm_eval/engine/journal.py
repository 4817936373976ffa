"""The journal: why no answer is lost.

An answer is one line of JSON in a file that only grows. It counts as answered once `fdatasync` has returned, and only then
do the progress bar and the caller hear of it. One thread takes *all* records that wait, writes them with one `os.write` and
one sync, then acknowledges them: under load the groups grow by themselves, so that safety costs one sync (about 4.5 ms) of
latency and no throughput. A kill at any moment can tear only the last line, which was not acknowledged; the next start
moves the torn bytes aside. Each line carries a crc, so that one flipped bit costs one answer, which is asked again.

    {"v":1,"kind":"answer","key":sha256,"slots":[[task,doc_id,repeat,choice]],"output":{...},"usage":{...},"attempts":1,"t":...,"crc":...}

A key has one answer record; a `slots` record names further slots that the same answer fills (the same question in two tasks).

Each process writes a file of its own; readers take the union of all files. An answer is never replaced by an error; of two
answers with one key the last holds. SQLite would be as fast, but needs a file system that locks well; lines can be read by
`tail -f`, merged with `cat`, and lose one line where a database loses a page.
"""

from __future__ import annotations

import fcntl
import json
import os
import queue
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.errors import ERRORS_BY_OWNER, MMEvalError, StoreError
from mm_eval.types import Instance, LLOutput, Response, Slot

VERSION = 1
_CRC_LENGTH = len(',"crc":"00000000"}')


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the journal knows of one slot: an answer, or the error of the last try.

    cut: whether the prompt was cut; None where the record does not say (written before prompts that were cut were counted).
    images: the digests of the pictures that were shown; turn_pictures: how many of them each turn of the prompt had.
    """

    key: str
    output: str | LLOutput | None
    truncated: bool = False
    images: tuple[str, ...] = ()
    turn_pictures: tuple[int, ...] = ()
    error: MMEvalError | None = None
    cut: bool | None = None


@dataclass
class JournalState:
    """The union of a run's journal files.

    damaged: lines whose crc or form is wrong; what they held is asked again.
    usage: tokens of all requests that were answered, also of those whose answer another one replaced: they were paid for.
    """

    slots: dict[Slot, Recorded] = field(default_factory=dict)
    answers: dict[str, Recorded] = field(default_factory=dict)
    damaged: int = 0
    usage: dict[str, int] = field(default_factory=dict)

    def answer(self, slot: Slot) -> Recorded | None:
        """The answer in a slot; None when it is owed, also when the last try failed."""
        found = self.slots.get(slot)
        return found if found is not None and found.error is None else None

    def forget(self) -> None:
        """Drops the answers, once nobody asks for them any more; the counts stay."""
        self.slots.clear()
        self.answers.clear()

    def add(self, record: Mapping[str, Any]) -> None:
        """Takes a record in, by the rules of precedence above. A record of another kind is left to who knows it."""
        recorded = self.answers.get(record["key"]) if record["kind"] == "slots" else _from_record(record)
        if recorded is None:
            return
        if recorded.error is None:
            self.answers[recorded.key] = recorded
            for name, count in (record.get("usage") or {}).items():
                self.usage[name] = self.usage.get(name, 0) + count
        for task, doc_id, repeat, choice in record["slots"]:
            slot = Slot(task, doc_id, repeat, choice)
            known = self.slots.get(slot)
            if recorded.error is None or known is None or known.error is not None:
                self.slots[slot] = recorded


def answer_record(key: str, slots: Iterable[Slot], instance: Instance, response: Response) -> dict[str, Any]:
    """The record of an answer that fills some slots."""
    output: dict[str, Any]
    if isinstance(response.output, str):
        output = {"text": response.output}
    else:
        ll, is_greedy = response.output
        output = {"ll": _number(ll), "is_greedy": bool(is_greedy)}
    if response.truncated:
        output["truncated"] = True
    output["cut"] = response.cut
    record = _record("answer", key, slots, instance, response.attempts)
    return {**record, "output": output, "usage": dict(response.usage)}


def error_record(key: str, slots: Iterable[Slot], instance: Instance, error: MMEvalError) -> dict[str, Any]:
    """The record of a request that failed. Its text stands under `error`, never under `output`."""
    failure = {"owner": error.owner, "what": error.what, "where": error.where, "hint": error.hint}
    return {**_record("error", key, slots, instance, error.attempts), "error": failure}


def _record(kind: str, key: str, slots: Iterable[Slot], instance: Instance, attempts: int) -> dict[str, Any]:
    record: dict[str, Any] = {"v": VERSION, "kind": kind, "key": key, "slots": list(slots)}
    if instance.image_digests:
        record["images"] = list(instance.image_digests)
        record["turn_pictures"] = list(instance.metadata.get("turn_pictures", ()))
    return {**record, "attempts": attempts, "t": round(time.time(), 3)}


def slots_record(key: str, slots: Iterable[Slot]) -> dict[str, Any]:
    """More slots for an answer that is recorded already, so that a key keeps its one answer record."""
    return {"v": VERSION, "kind": "slots", "key": key, "slots": list(slots)}


def _from_record(record: Mapping[str, Any]) -> Recorded | None:
    images, turn_pictures = tuple(record.get("images", ())), tuple(record.get("turn_pictures", ()))
    if record["kind"] == "error":
        failure = record["error"]
        kind = ERRORS_BY_OWNER.get(failure["owner"], MMEvalError)
        error = kind(failure["what"], where=failure.get("where", ""), hint=failure.get("hint", ""))
        return Recorded(record["key"], None, False, images, turn_pictures, error)
    if record["kind"] != "answer":
        return None
    output = record["output"]
    value: str | LLOutput = output["text"] if "text" in output else (float(output["ll"]), output["is_greedy"])
    return Recorded(record["key"], value, output.get("truncated", False), images, turn_pictures, cut=output.get("cut"))


def _number(value: float) -> float | str:
    """JSON has no infinity and no NaN: they travel as the text that `float` reads."""
    return value if value - value == 0 else str(value)


_line = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def encode(record: Mapping[str, Any]) -> bytes:
    """One line, its crc last. Unpaired surrogates, which some tokenizers give, are escaped."""
    text = _line(record)
    return f'{text[:-1]},"crc":"{zlib.crc32(text.encode()):08x}"}}\n'.encode()


def decode(line: bytes) -> dict[str, Any]:
    """The record of a line without its newline; ValueError when crc or form is wrong."""
    text = line[:-_CRC_LENGTH] + b"}"
    if line[-_CRC_LENGTH:] != b',"crc":"%08x"}' % zlib.crc32(text):
        raise ValueError("crc")
    record: dict[str, Any] = json.loads(text)
    return record


def read_journal(folder: Path) -> JournalState:
    """The union of all journal files in `folder`/journal; an empty state where there are none.

    A last line without a newline is being written, or torn: it is left alone. StoreError on a newer version's record.
    """
    state = JournalState()
    later: list[dict[str, Any]] = []  # a slots record may stand in another file than its answer
    for path in sorted((folder / "journal").glob("*.jsonl")):
        try:
            lines = path.read_bytes().split(b"\n")[:-1]
        except OSError as error:
            raise StoreError(f"the journal can't be read: {error.strerror}.", where=str(path)) from error
        for line in lines:
            try:
                record = decode(line)
            except ValueError:
                state.damaged += 1
                continue
            if record["v"] > VERSION:
                hint = "Use that version of mm-eval, or another --output_path."
                raise StoreError(
                    f"it was written by a newer mm-eval (journal version {record['v']}).", where=str(path), hint=hint
                )
            if record["kind"] == "slots":
                later.append(record)
            else:
                state.add(record)
    for record in later:
        state.add(record)
    return state


def mend_torn_tails(folder: Path) -> int:
    """Moves the bytes after the last newline of each journal file into `*.torn`; returns how many files had some.

    A file that another process still writes is locked, and left alone.
    """
    mended = 0
    for path in sorted((folder / "journal").glob("*.jsonl")):
        with path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            content = file.read()
            end = content.rfind(b"\n") + 1
            if end < len(content):
                path.with_suffix(".torn").write_bytes(content[end:])
                file.truncate(end)
                os.fsync(file.fileno())
                mended += 1
    return mended


class Journal:
    """The writer: one file, one thread, acknowledged in groups.

    Errors: StoreError from `put`, `drain` and `close` once the disk refused a record; nothing is acknowledged after that.
    """

    def __init__(self, folder: Path) -> None:
        directory = folder / "journal"
        directory.mkdir(parents=True, exist_ok=True)
        name = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        self.path = directory / name
        self._fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sync_folder(directory)
        self._queue: queue.Queue[tuple[bytes, Callable[[], None]] | None] = queue.Queue(maxsize=4096)
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._write_all, name="journal", daemon=True)
        self._thread.start()

    def put(self, record: Mapping[str, Any], acknowledge: Callable[[], None] = lambda: None) -> None:
        """Hands a record over; `acknowledge` is called from the writer's thread once it is on the disk."""
        self._raise_failure()
        self._queue.put((encode(record), acknowledge))

    def drain(self) -> None:
        """Returns when all that was put is on the disk."""
        self._queue.join()
        self._raise_failure()

    def close(self) -> None:
        """Writes what waits and closes the file."""
        self._queue.put(None)
        self._thread.join()
        os.close(self._fd)
        if self.path.stat().st_size == 0:
            self.path.unlink()  # a run that asked nothing leaves no file
        self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _write_all(self) -> None:
        stop = False
        while not stop:
            group = [self._queue.get()]
            while True:
                try:
                    group.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            stop = None in group
            records = [item for item in group if item is not None]
            if records and self._failure is None:
                try:
                    write_whole(self._fd, b"".join(line for line, _ in records))
                    os.fdatasync(self._fd)
                except OSError as error:
                    hint = "What was acknowledged before is safe; the same command goes on from there."
                    self._failure = StoreError(
                        f"an answer can't be written: {error.strerror}.", where=str(self.path), hint=hint
                    )
                else:
                    for _, acknowledge in records:
                        acknowledge()
            for _ in group:
                self._queue.task_done()


def write_whole(fd: int, data: bytes) -> None:
    """Writes all bytes, however few `os.write` takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable, not just the files' content."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
