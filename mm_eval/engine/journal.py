"""The journal: why no answer is lost.

An answer is one line of JSON in a file that only grows. It counts as answered once `fdatasync` has returned; only then are
the progress bar and the caller notified. One thread takes *all* records that wait, writes them with one `os.write` and one
sync, then acknowledges them. It lets them gather for 5 ms, so safety costs that and the latency of one sync (about 4.5 ms),
and no throughput. A kill can tear only the last line, which was not acknowledged; the next start moves the torn bytes aside.
Each line carries a crc, so one flipped bit costs one answer, which is requested again.

    {"v":1,"kind":"answer","key":sha256,"slots":[[task,doc_id,repeat,choice]],"output":{...},"usage":{...},"attempts":1,"t":...,"crc":...}

A key has one answer record. The log-likelihoods of a doc's choices, if the adapter gives them one after another, are one record
of version 2, with keys, slots and outputs in one order; it is written once the last of them has come, and in parts where that
takes more than a second:

    {"v":2,"kind":"answers","keys":[...],"slots":[...],"outputs":[[ll,is_greedy],...],"cut":false,"attempts":1,"t":...,"crc":...}

A call of `python` is a record of the kind "tool" (tool_records.py).

A `slots` record adds slots that the same answer fills (the same question in two tasks). A judge's replies are records of the
kind "judge". In a conversation each turn is an answer record, with the messages before it; a record of the kind "end" says that
nothing more is asked, what is scored, and of which answers it is the end: a turn may be asked again with another answer. In a
turn's slot the later record counts, in whatever order files are read.

Each process writes its own file; readers take the union of all files. An error never replaces an answer; of two answers with
one key the last counts. SQLite would be as fast, but needs a file system with reliable locks. Lines can be read by `tail -f`,
merged with `cat`, and lose one line where a database loses a page.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from mm_eval.engine.packed import AnswersByKey, AnswersBySlot, Rows
from mm_eval.engine.prices import token_counts
from mm_eval.engine.records import (
    NO_USAGE,
    VERSION,
    answer_of,
    decode,
    digest_of_answer,
    encode,
    error_fields,
    error_of,
    single_records,
)
from mm_eval.engine.tool_records import KIND as OF_TOOL
from mm_eval.engine.tool_records import ToolRecord
from mm_eval.values.errors import StoreError, kind_and_text
from mm_eval.values.files import make_folder, sync, sync_folder, write_all
from mm_eval.values.reasoning.recorded import Reading, Recorded
from mm_eval.values.run_files import UNREADABLE, journal_files, lines_of, open_regular, refuse_links_out
from mm_eval.values.types import Answer, End, Fields, Slot

log = logging.getLogger(__name__)


@dataclass
class JournalState:
    """The answers of a run: the union of its journal files, and what this process has recorded since.

    slots: answers and failures by slot. answers: answers by request key. ends: of conversations, by the slot of their first turn.
    tools: calls of `python`, by their keys.
    conversations: the paths of tasks whose docs are conversations. One answer may fill slots of these and of other tasks.
    damaged: lines with a wrong crc or form; what they held is requested again.
    mixed: the first slot that was given answers to two questions: a file of another run is in the journal.
    reading: how their texts are read when they are scored.
    usage: tokens of all answers, including replaced ones: they were paid for. judge_usage: those of each judge, by its name.
    """

    slots: AnswersBySlot = field(init=False)
    answers: AnswersByKey = field(init=False)
    ends: dict[Slot, End] = field(default_factory=dict)
    tools: dict[str, ToolRecord] = field(default_factory=dict)
    conversations: Container[str] = ()
    damaged: int = 0
    mixed: Slot | None = None
    usage: dict[str, int] = field(default_factory=dict)
    judge_usage: dict[str, dict[str, int]] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)

    def __post_init__(self) -> None:
        self._empty()

    def _empty(self) -> None:
        self._rows = Rows()
        self.slots, self.answers = AnswersBySlot(self._rows), AnswersByKey(self._rows)

    def lookup(self, slot: Slot) -> Answer | None:
        """The answer or the failure in a slot, as scorers and judges read it; its text knows how it ended.

        In the slot of a conversation's first turn: of the whole conversation, None until it ends.
        """
        answer = self.result(slot)
        if answer is None or not isinstance(answer.output, str):
            return answer
        if slot.judge:
            return Reading(opened=False).read(answer, ())
        of_model = (answer for slot, answer in self.slots.items() if not slot.judge)
        found = self.reading.read(answer, of_model, slot.task)
        if answer.turns and answer.error is None and isinstance(found.output, Recorded):
            found.output.listed = self.ends[slot].listed
        return found

    def result(self, slot: Slot) -> Answer | None:
        """The same as it was recorded."""
        answer = self.slots.get(slot)
        if answer is not None and slot.task in self.conversations and not slot.turn and not slot.judge:
            return self._whole(slot)
        return answer

    def _whole(self, first: Slot) -> Answer | None:
        """The result of a conversation with its turns: its last answer, or the failure that broke it. None before its end."""
        end, turns = self._end(first), list[Answer]()
        while end is None or len(turns) < end.turns:
            found = self.slots.get(first._replace(turn=len(turns)))
            if found is None:
                return None
            turns.append(found)
            if found.error is not None:
                end = End()
                break
        last, shown = turns[-1], turns[0]
        ended = end.ended or last.ended
        return replace(
            last,
            output=last.output if end.output is None else end.output,
            ended=ended,
            truncated=ended == "length",
            cut=any(each.cut for each in turns),
            images=shown.images,
            turn_pictures=shown.turn_pictures,
            clips=shown.clips,
            heard=shown.heard,
            turn_shown=shown.turn_shown,
            turns=tuple(turns),
        )

    def complete(self, first: Slot) -> bool:
        """Whether a conversation has ended and all its answers are recorded. first: the slot of its first turn."""
        return self._end(first) is not None

    def _end(self, first: Slot) -> End | None:
        """The end of a conversation, if it is the end of the answers that its slots have now.

        A turn may have been asked again since: then what followed it is another conversation's.
        """
        if (end := self.ends.get(first)) is None:
            return None
        turns = list[Answer]()
        while len(turns) < end.turns:
            if (found := self.answer(first._replace(turn=len(turns)))) is None:
                return None
            turns.append(found)
        fits = end.said == tuple(map(digest_of_answer, turns)) if end.said else turns and turns[-1].key == end.key
        return end if fits else None

    def answer(self, slot: Slot) -> Answer | None:
        """The answer in a slot. None if it is pending, also when the last request failed."""
        row = self.slots.row(slot)
        answer = None if row < 0 else self._rows.answer(row)
        return answer if answer is not None and answer.error is None else None

    def add(self, answer: Answer, slots: Sequence[Slot], at: float = 0.0) -> None:
        """Adds an answer or a failure to its slots. A failure never replaces an answer. Tokens are counted, not kept.

        at: when a turn's slots got it, if that was later than the answer itself.
        """
        if self.reading.opened is False and not all(slot.judge for slot in slots):
            self.reading.look_at(answer)
        if answer.usage and self.answers.get(answer.key) is not answer:
            self.count(answer.usage, slots)
            answer = answer if answer.messages is not None else answer.having(usage=NO_USAGE)
        if answer.error is None:
            row = self.answers.put(answer)
        else:  # a copy: the traceback of the original would keep the adapter's tensors and pictures alive
            answer = answer.having(error=error_of(error_fields(answer.error)))
            row = self._rows.add(answer)
        if at and answer.at:
            answer = answer.having(at=at)
            row = self._rows.add(answer)
        if answer.error is not None or answer.at:
            for slot in slots:
                if self._replaces(answer, slot):
                    self.slots.put(slot, row)
            return
        for slot in slots:
            before = self.slots.put(slot, row)
            if before >= 0 and self._rows.key(before) != answer.key and not slot.judge:
                self.mixed = self.mixed or (slot if self._rows.answer(before).error is None else None)

    def _replaces(self, new: Answer, slot: Slot) -> bool:
        """Whether a failure or a turn takes the place of what is in its slot, in whatever order journals are read.

        In a conversation the later one does: a turn is asked another question where an earlier answer is another one since.
        """
        old = self.slots.get(slot)
        if old is not None and old.at and new.at and not slot.judge and (slot.turn or slot.task in self.conversations):
            failed = old.error is not None, new.error is not None
            if failed[0] == failed[1] or old.key and new.key and old.key != new.key:
                return new.at >= old.at
        return new.error is None or old is None or old.error is not None

    def find(self, slot: Slot, key: str) -> Answer | None:
        """The answer to a request, put into its slot in place of one to another question; None if there is none."""
        answer = self.answers.get(key)
        if answer is not None:
            self.slots.put(slot, self.answers.row(key))
            if not slot.judge:
                self.reading.look_at(answer)
        return answer

    def add_end(self, first: Slot, end: End) -> None:
        """Adds the end of a conversation; the later one of two counts. first: the slot of its first turn."""
        old = self.ends.get(first)
        if old is None or end.at >= old.at:
            self.ends[first] = end

    def add_tool(self, record: ToolRecord) -> None:
        """Adds a call of `python`; of two with one key the later one counts, in whatever order files are read."""
        old = self.tools.get(record.key)
        if old is None or record.at >= old.at:
            self.tools[record.key] = record

    def count(self, usage: object, slots: Sequence[Slot]) -> None:
        """Adds the tokens of an answer to `usage`, or to those of the judge whose slots it fills."""
        judge = slots[0].judge if slots else ""
        total = self.judge_usage.setdefault(judge, {}) if judge else self.usage
        for name, count in token_counts(usage).items():
            total[name] = total.get(name, 0) + count

    def forget(self) -> None:
        """Drops the answers when they are no longer needed. The counts stay."""
        self._empty()
        self.ends.clear()
        self.tools.clear()


_INVISIBLE = b"\r\0 \t\xef\xbb\xbf"
"""What an editor, a copy between systems or a crash may put around a line: CR, NUL, blanks and a byte order mark."""


def read_journal(folder: Path, conversations: Container[str] = ()) -> JournalState:
    """The union of all journal files in `folder`/journal. An empty state if there are none.

    conversations: the paths of tasks whose docs are conversations.

    A last line without a newline is ignored unless it is whole: it is still being written, or torn.
    Raises StoreError for an unreadable or packed file, or a record of a newer version.
    """
    _refuse_packed(folder)
    state = JournalState(conversations=conversations)
    later: list[dict[str, object]] = []  # a slots record may be in another file than its answer
    for path in journal_files(folder):
        try:
            for _, line in lines_of(folder, path):
                # A copy may have ended its lines with CR alone: no record contains one, JSON escapes it.
                for part in [line] if line is None or b"\r" not in line[:-2] else line.splitlines(keepends=True):
                    _add_line(state, later, part, path)
        except OSError as error:
            hint = "Put the file back, or move it out of the journal: the answers in it are then requested again."
            raise StoreError(f"the journal can't be read: {error.strerror}.", where=str(path), hint=hint) from error
    for record in later:
        add_record(state, record)
    return state


_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ", b"BZh")
"""How files of gzip, zip, zstd, xz and bzip2 begin."""


def _refuse_packed(folder: Path) -> None:
    """StoreError for a journal file that somebody has packed: all its answers would be requested again."""
    with suppress(OSError):
        for path in sorted((folder / "journal").glob("*.jsonl*")):
            if path.suffix in (".gz", ".zip", ".zst", ".xz", ".bz2") or path.suffix == ".jsonl" and _is_packed(path):
                hint = "Unpack it there, or move it out of the journal: the answers in it are then requested again."
                raise StoreError("a file of the journal is packed.", where=str(path), hint=hint)


def _is_packed(path: Path) -> bool:
    with suppress(OSError), open_regular(path.parent.parent, path) as file:
        return file.read(8).startswith(_PACKED)
    return False


def _add_line(state: JournalState, later: list[dict[str, object]], line: bytes | None, path: Path) -> None:
    """Adds a line of a journal file to the state, or counts it as damaged. later: gets the records of further slots."""
    is_ended = line is None or line.endswith((b"\n", b"\r"))
    text = b"" if line is None else line.strip(b"\n" + _INVISIBLE)
    if line is not None and not text and (b"\0" not in line or not is_ended):
        return  # an empty line never held a record
    try:
        record = decode(text)
        version, is_later = record["v"], record["kind"] == "slots"
        newer = version > VERSION
    except UNREADABLE:
        state.damaged += is_ended
        return
    if newer:
        what = f"it was written by a newer mm-eval (journal version {version})."
        raise StoreError(what, where=str(path), hint="Use that version of mm-eval, or another --output_path.")
    if is_later:
        later.append(record)
    else:
        add_record(state, record)


def add_record(state: JournalState, record: Fields) -> None:
    """Adds a record to the state. One with a correct crc and a wrong form counts as damaged."""
    try:
        if record["kind"] == "end":
            end = End.of_json(record)
            for slot in map(Slot.from_json, record["slots"]):
                state.add_end(slot, end)
            return
        if record["kind"] == OF_TOOL:
            state.add_tool(ToolRecord.of_json(record))
            return
        found = [
            (
                state.answers.get(each["key"]) if each["kind"] == "slots" else answer_of(each),
                list(map(Slot.from_json, each["slots"])),
                each.get("usage"),
                float(each.get("t", 0.0)) if each["kind"] == "slots" else 0.0,
            )
            for each in single_records(record)
        ]
        for answer, slots, usage, at in found:
            if answer is not None:
                state.add(answer, slots, at)
                if answer.messages is None:
                    state.count(usage, slots)
    except UNREADABLE:
        state.damaged += 1


def mend_torn_tails(folder: Path) -> int:
    """Moves the bytes after the last newline of each journal file into `*.torn`. Returns how many files had some.

    A whole record gets the newline that it lacks: an editor or a copy may have removed it.

    Files that another process still writes are locked, and skipped. So are files that can't be written: readers ignore a torn
    tail, and `read_journal` reports unreadable files.
    """
    mended = 0
    for path in journal_files(folder):
        with suppress(OSError):
            mended += path.is_file() and not path.is_symlink() and _mend(path)
    return mended


def _mend(path: Path) -> bool:
    with path.open("r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        content = file.read()
        end = max(content.rfind(b"\n"), content.rfind(b"\r")) + 1
        if end == len(content) or content.startswith(_PACKED):
            return False
        with suppress(*UNREADABLE):
            decode(content[end:].strip(_INVISIBLE))
            file.write(b"\n")
            file.flush()
            os.fsync(file.fileno())
            return True
        torn = os.open(path.with_suffix(".torn"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
        try:
            write_all(torn, content[end:])
        finally:
            os.close(torn)
        file.truncate(end)
        os.fsync(file.fileno())
        return True


_LOOK = 1.0
"""Seconds between two checks whether the writer thread is alive, while a caller waits for it."""
_GATHER = 0.005
"""Seconds from a record to its sync, in which further ones come: each sync costs as much CPU as some documents."""
_MOST = 4096
"""Records that wait for the writer; a caller with one more waits for it, too."""


class Journal:
    """The writer: one file, one thread, acknowledged in groups.

    `put`, `drain` and `close` raise StoreError once a record could not be written, whatever the reason. Nothing is acknowledged
    after that.
    make_room: called where the disk is full. It removes what can be made again, and returns whether there was any.
    """

    make_room: Callable[[], bool] | None = None

    def __init__(self, folder: Path) -> None:
        directory = folder / "journal"
        make_folder(directory)
        refuse_links_out(folder, "journal")
        self.path = directory / _new_name()
        self._fd = _open_new(self.path)
        sync_folder(directory)
        self._counts_links = os.fstat(self._fd).st_nlink > 0  # some network file systems do not
        self._failure: StoreError | None = None
        self._waiting: list[tuple[bytes, Callable[[], None]]] = []
        self._writing, self._closing = 0, False  # how many records are being written
        self._changed, self._hurry = threading.Condition(), threading.Event()  # hurry: somebody waits for the writer
        self._thread = threading.Thread(target=self._write_all, name="journal", daemon=True)
        self._thread.start()

    def put(self, record: Mapping[str, object], acknowledge: Callable[[], None] = lambda: None) -> None:
        """Queues a record. The writer's thread calls `acknowledge` once the record is on the disk.

        An error that `acknowledge` raises is logged and ignored: the record is safe by then.
        """
        line = encode(record)
        with self._changed:
            self._wait_until(_MOST - 1)
            self._waiting.append((line, acknowledge))
            if len(self._waiting) == 1:
                self._changed.notify_all()

    def drain(self) -> None:
        """Returns when all queued records are on the disk."""
        with self._changed:
            self._wait_until(0)

    def close(self) -> None:
        """Writes the queued records and closes the file."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._hurry.set()
        self._thread.join()
        empty = os.fstat(self._fd).st_size == 0
        if self._is_deleted() and not empty and self._failure is None:
            try:
                self._save_deleted()
            except StoreError as error:
                self._failure = error
        os.close(self._fd)
        if empty:
            with suppress(OSError):
                self.path.unlink()  # a run without requests leaves no file
        self._check_writer(not self._waiting and not self._writing)

    def _wait_until(self, most: int) -> None:
        """Returns when at most so many records are not on the disk yet. For who holds the lock."""
        self._check_writer(self._thread.is_alive())
        while len(self._waiting) + self._writing > most:
            self._hurry.set()
            self._changed.wait(_LOOK)
            self._check_writer(self._thread.is_alive())

    def _check_writer(self, works: bool) -> None:
        """Raises the first failure. A writer thread that has ended is one."""
        if not works:
            self._fail("the thread that writes it has ended.")
        if self._failure is not None:
            raise self._failure

    def _fail(self, what: str) -> None:
        """Keeps the first failure, for every caller that follows."""
        hint = "Acknowledged answers are safe; the same command continues from there."
        what = f"an answer can't be written: {what}"
        self._failure = self._failure or StoreError(what, where=str(self.path), hint=hint)

    def _write_all(self) -> None:
        """Takes records until `close`. Goes on taking them after a failure, so that no caller waits for ever."""
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
            self._hurry.wait(_GATHER)
            with self._changed:
                self._hurry.clear()
                records, self._waiting = self._waiting, []
                self._writing = len(records)
            if not records:
                return
            try:
                if self._failure is None:
                    self._write([line for line, _ in records])
            except OSError as error:
                self._fail(f"{error.strerror or error}.")
            except StoreError as error:
                self._failure = self._failure or error
            except BaseException as error:  # whatever it is, the callers that wait must get it
                self._fail(f"{kind_and_text(error)}.")
            if self._failure is None:
                for _, acknowledge in records:
                    _call(acknowledge)
            with self._changed:
                self._writing = 0
                self._changed.notify_all()

    def _write(self, lines: list[bytes]) -> None:
        """Returns when the lines are on the disk, in a file that the next launch will find."""
        before = os.fstat(self._fd).st_size
        try:
            write_all(self._fd, b"".join(lines))
            sync(self._fd)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or self.make_room is None or not self.make_room():
                raise
            os.ftruncate(self._fd, before)  # a part of a line may be there
            write_all(self._fd, b"".join(lines))
            sync(self._fd)
        if self._is_deleted():
            self._save_deleted()

    def _is_deleted(self) -> bool:
        return self._counts_links and not os.fstat(self._fd).st_nlink

    def _save_deleted(self) -> None:
        """Writes all that a deleted file holds into a new one: in the journal, or beside a run folder that was deleted, too.

        The file can be read as long as it is open. StoreError where the run folder is gone: it has no run.json to resume with.
        """
        folder = self.path.parent.parent
        has_run = (folder / "run.json").is_file()
        if has_run:
            make_folder(self.path.parent)
        path = self.path.with_name(_new_name()) if has_run else folder.parent / f"{folder.name}-{_new_name()}"
        try:
            new = _open_new(path)
            size = os.fstat(self._fd).st_size
            for start in range(0, size, _CHUNK):
                write_all(new, os.pread(self._fd, _CHUNK, start))
            sync(new)
            sync_folder(path.parent)
        except OSError as error:
            what = f"its file was deleted while the run wrote to it, and its answers can't be saved: {error.strerror}."
            hint = "The same command requests again what was in it."
            raise StoreError(what, where=str(self.path), hint=hint) from error
        os.close(self._fd)
        self._fd, self.path = new, path
        if has_run:
            log.warning("A file of the journal was deleted; its answers are in %s.", path)
            return
        hint = f"Its records are in {path}. Start the same command again, interrupt it, and move that file into its journal."
        raise StoreError("the run folder was deleted while the run wrote to it.", where=str(folder), hint=hint)


_CHUNK = 1 << 24


def _new_name() -> str:
    return f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"


def _open_new(path: Path) -> int:
    """A new file of the journal, locked. It can be read, too, for the case that somebody deletes it."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def _call(acknowledge: Callable[[], None]) -> None:
    """Acknowledges one record. A progress bar on a broken terminal must not end the writer."""
    try:
        acknowledge()
    except BaseException as error:
        with suppress(Exception):  # the log may write to the same broken terminal
            log.debug("An acknowledgement failed: %s: %s", type(error).__name__, error)
