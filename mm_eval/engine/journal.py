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

import errno
import fcntl
import json
import logging
import os
import queue
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.errors import ERRORS_BY_OWNER, MMEvalError, StoreError
from mm_eval.files import read_regular, sync, sync_folder, write_all
from mm_eval.types import Answer, Instance, LLOutput, Slot, token_counts

log = logging.getLogger(__name__)

VERSION = 1
_CRC_LENGTH = len(',"crc":"00000000"}')


@dataclass
class JournalState:
    """The union of a run's journal files.

    damaged: lines whose crc or form is wrong; what they held is asked again.
    usage: tokens of all requests that were answered, also of those whose answer another one replaced: they were paid for.
    """

    slots: dict[Slot, Answer] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    damaged: int = 0
    usage: dict[str, int] = field(default_factory=dict)

    def answer(self, slot: Slot) -> Answer | None:
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
            for name, count in token_counts(record.get("usage")).items():
                self.usage[name] = self.usage.get(name, 0) + count
        for task, doc_id, repeat, choice in record["slots"]:
            slot = Slot(task, doc_id, repeat, choice)
            known = self.slots.get(slot)
            if recorded.error is None or known is None or known.error is not None:
                self.slots[slot] = recorded


def answer_record(key: str, slots: Iterable[Slot], instance: Instance, answer: Answer) -> dict[str, Any]:
    """The record of an answer that fills some slots."""
    output: dict[str, Any]
    if isinstance(answer.output, tuple):
        ll, is_greedy = answer.output
        output = {"ll": _number(ll), "is_greedy": bool(is_greedy)}
    else:
        output = {"text": answer.output}
    if answer.truncated:
        output["truncated"] = True
    output["cut"] = answer.cut
    record = _record("answer", key, slots, instance, answer.attempts)
    return {**record, "output": output, "usage": token_counts(answer.usage)}


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


_NO_USAGE: Mapping[str, int] = {}
"""Shared by all answers that are read: their tokens are counted in `JournalState.usage`."""


def _from_record(record: Mapping[str, Any]) -> Answer | None:
    images, turn_pictures = tuple(record.get("images", ())), tuple(record.get("turn_pictures", ()))
    if record["kind"] == "error":
        failure = record["error"]
        kind = ERRORS_BY_OWNER.get(failure["owner"], MMEvalError)
        error = kind(failure["what"], where=failure.get("where", ""), hint=failure.get("hint", ""))
        return Answer(None, key=record["key"], images=images, turn_pictures=turn_pictures, error=error)
    if record["kind"] != "answer":
        return None
    output = record["output"]
    value: str | LLOutput = output["text"] if "text" in output else (float(output["ll"]), output["is_greedy"])
    return Answer(
        value,
        output.get("truncated", False),
        _NO_USAGE,
        cut=output.get("cut"),
        key=record["key"],
        images=images,
        turn_pictures=turn_pictures,
    )


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


_INVISIBLE = b"\r\0 \t\xef\xbb\xbf"
"""What an editor, a copy between systems or a crash may put around a line: CR, NUL, blanks and a byte order mark."""


def read_journal(folder: Path) -> JournalState:
    """The union of all journal files in `folder`/journal; an empty state where there are none.

    A last line without a newline is being written, or torn: it is ignored.
    Errors: StoreError for a file that can't be read, or a record of a newer version.
    """
    state = JournalState()
    later: list[dict[str, Any]] = []  # a slots record may stand in another file than its answer
    for path in _files(folder):
        try:
            content = read_regular(path)
        except OSError as error:
            hint = "Put the file back, or move it out of the journal: the answers in it are then requested again."
            raise StoreError(f"the journal can't be read: {error.strerror}.", where=str(path), hint=hint) from error
        for line in content.split(b"\n")[:-1]:
            text = line.strip(_INVISIBLE)
            if not text and b"\0" not in line:
                continue  # an empty line never held a record
            try:
                record = decode(text)
                version, is_later = record["v"], record["kind"] == "slots"
                newer = version > VERSION
            except (ValueError, KeyError, TypeError, RecursionError):
                state.damaged += 1
                continue
            if newer:
                hint = "Use that version of mm-eval, or another --output_path."
                what = f"it was written by a newer mm-eval (journal version {version})."
                raise StoreError(what, where=str(path), hint=hint)
            if is_later:
                later.append(record)
            else:
                _add(state, record)
    for record in later:
        _add(state, record)
    return state


def _add(state: JournalState, record: Mapping[str, Any]) -> None:
    try:
        state.add(record)
    except (ValueError, KeyError, TypeError, AttributeError):  # a sound crc around something else than a record
        state.damaged += 1


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "journal").glob("*.jsonl"))


def mend_torn_tails(folder: Path) -> int:
    """Moves the bytes after the last newline of each journal file into `*.torn`; returns how many files had some.

    A file that another process still writes is locked, and left alone. So is one that can't be written: readers ignore a torn
    tail, and `read_journal` reports what can't be read.
    """
    mended = 0
    for path in _files(folder):
        with suppress(OSError):
            mended += path.is_file() and _mend(path)
    return mended


def _mend(path: Path) -> bool:
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return False
        path.with_suffix(".torn").write_bytes(content[end:])
        file.truncate(end)
        os.fsync(file.fileno())
        return True


class Journal:
    """The writer: one file, one thread, acknowledged in groups.

    Errors: StoreError from `put`, `drain` and `close` once a record could not be written, whatever the reason; nothing is
        acknowledged after that.
    """

    def __init__(self, folder: Path) -> None:
        directory = folder / "journal"
        directory.mkdir(parents=True, exist_ok=True)
        name = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        self.path = directory / name
        self._fd = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        sync_folder(directory)
        self._links = os.fstat(self._fd).st_nlink  # some network file systems do not count links
        self._queue: queue.Queue[tuple[bytes, Callable[[], None]] | None] = queue.Queue(maxsize=4096)
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._write_all, name="journal", daemon=True)
        self._thread.start()

    def put(self, record: Mapping[str, Any], acknowledge: Callable[[], None] = lambda: None) -> None:
        """Queues a record; `acknowledge` is called from the writer's thread once it is on the disk.

        What `acknowledge` raises is logged and ignored: the record is safe by then.
        """
        line = encode(record)
        while True:
            self._raise_failure()
            with suppress(queue.Full):
                self._queue.put((line, acknowledge), timeout=_LOOK)
                return

    def drain(self) -> None:
        """Returns when all that was put is on the disk."""
        with self._queue.all_tasks_done:
            while self._queue.unfinished_tasks:
                self._raise_failure()
                self._queue.all_tasks_done.wait(_LOOK)
        self._raise_failure()

    def close(self) -> None:
        """Writes what waits and closes the file."""
        self._notice_a_dead_writer()
        while self._thread.is_alive():
            with suppress(queue.Full):
                self._queue.put(None, timeout=_LOOK)
                self._thread.join()
        empty = os.fstat(self._fd).st_size == 0
        os.close(self._fd)
        if empty:
            with suppress(OSError):
                self.path.unlink()  # a run that asked nothing leaves no file
        if self._failure is not None:
            raise self._failure

    def _raise_failure(self) -> None:
        self._notice_a_dead_writer()
        if self._failure is not None:
            raise self._failure

    def _notice_a_dead_writer(self) -> None:
        if not self._thread.is_alive():
            self._fail("the thread that writes it has ended.")

    def _fail(self, what: str) -> None:
        hint = "Acknowledged answers are safe; the same command continues from there."
        self._failure = self._failure or StoreError(
            f"an answer can't be written: {what}", where=str(self.path), hint=hint
        )

    def _write_all(self) -> None:
        """Takes records until `close`. After a failure it goes on taking them, so that nobody waits for it for ever."""
        stop = False
        while not stop:
            group = [self._queue.get()]
            with suppress(queue.Empty):
                while True:
                    group.append(self._queue.get_nowait())
            stop = None in group
            records = [item for item in group if item is not None]
            try:
                if records and self._failure is None:
                    self._write([line for line, _ in records])
            except OSError as error:
                self._fail(f"{error.strerror or error}.")
            except BaseException as error:  # whatever it is, those who wait for the disk must hear of it
                self._fail(f"{type(error).__name__}: {error}.")
            if self._failure is None:
                for _, acknowledge in records:
                    _call(acknowledge)
            for _ in group:
                self._queue.task_done()

    def _write(self, lines: list[bytes]) -> None:
        """Returns when the lines are on the disk, in a file that the next launch will find."""
        write_all(self._fd, b"".join(lines))
        sync(self._fd)
        if self._links and not os.fstat(self._fd).st_nlink:
            raise OSError(errno.ENOENT, "the file was deleted while the run wrote to it")


_LOOK = 1.0
"""Seconds between two looks at whether the writer is still alive, for those who wait for it."""


def _call(acknowledge: Callable[[], None]) -> None:
    """Tells one caller that its record is safe. A progress bar on a broken terminal must not end the writer."""
    try:
        acknowledge()
    except BaseException as error:
        with suppress(Exception):  # the log may write to the same broken terminal
            log.debug("An acknowledgement failed: %s: %s", type(error).__name__, error)
