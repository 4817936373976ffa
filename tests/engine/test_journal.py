"""The journal's promises: an acknowledged answer is never lost, a damaged line costs one answer, an error is no answer."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval.engine import journal as module
from mm_eval.engine.journal import Journal, mend_torn_tails, read_journal
from mm_eval.engine.records import answer_record, decode, encode, slots_record
from mm_eval.values.errors import ModelError, StoreError
from mm_eval.values.run_files import lines_of
from mm_eval.values.types import Answer, Slot
from tests.processes import HANGS


def record(doc_id: int, text: str = "yes") -> dict:
    return answer_record(Answer(text, key=f"key{doc_id}"), [Slot("t", doc_id)])


def failure(doc_id: int, error: ModelError) -> dict:
    return answer_record(Answer(None, key=f"key{doc_id}", error=error), [Slot("t", doc_id)])


def write(folder: Path, *records: dict) -> Path:
    journal = Journal(folder)
    for each in records:
        journal.put(each)
    journal.close()
    return journal.path


def test_what_was_put_is_read_back(tmp_path: Path) -> None:
    write(tmp_path, record(0, "ja \u2028 \ud800 \n"), record(1))
    state = read_journal(tmp_path)
    assert state.answer(Slot("t", 0)).output == "ja \u2028 \ud800 \n"
    assert state.answer(Slot("t", 1)).output == "yes"
    assert state.answer(Slot("t", 2)) is None


def test_infinite_log_likelihood_survives_json(tmp_path: Path) -> None:
    write(tmp_path, answer_record(Answer((float("-inf"), False), key="k"), [Slot("t", 0)]))
    assert read_journal(tmp_path).answer(Slot("t", 0)).output == (float("-inf"), False)


def test_acknowledged_only_after_the_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = []
    real = os.fdatasync
    monkeypatch.setattr(module.os, "fdatasync", lambda fd: (events.append("sync"), real(fd))[1])
    journal = Journal(tmp_path)
    journal.put(record(0), lambda: events.append("acknowledged"))
    journal.close()
    assert events == ["sync", "acknowledged"]


def test_torn_tail_at_every_byte_loses_only_the_last_record(tmp_path: Path) -> None:
    path = write(tmp_path, record(0), record(1))
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start, len(whole) - 1):
        path.write_bytes(whole[:cut])
        mend_torn_tails(tmp_path)
        state = read_journal(tmp_path)
        assert state.answer(Slot("t", 0)) is not None and state.answer(Slot("t", 1)) is None
        second = write(tmp_path, record(1, "again"))
        assert read_journal(tmp_path).answer(Slot("t", 1)).output == "again"
        second.unlink()
    assert path.with_suffix(".torn").exists()


@pytest.mark.parametrize("mended", [False, True])
def test_a_whole_last_record_counts_without_its_newline(tmp_path: Path, mended: bool) -> None:
    """An editor or a copy that removes the last newline cost the answer before it."""
    path = write(tmp_path, record(0), record(1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    if mended:
        assert mend_torn_tails(tmp_path) == 1 and path.read_bytes() == whole and not path.with_suffix(".torn").exists()
    state = read_journal(tmp_path)
    assert state.answer(Slot("t", 1)) is not None and not state.damaged


def test_a_flipped_bit_costs_its_own_line_only(tmp_path: Path) -> None:
    path = write(tmp_path, *(record(n) for n in range(50)))
    lines = path.read_bytes().split(b"\n")[:-1]
    draw = random.Random(0)
    hit = draw.sample(range(50), 10)
    for number in hit:
        line = bytearray(lines[number])
        line[draw.randrange(len(line))] ^= 1 << draw.randrange(7)
        lines[number] = bytes(line).replace(b"\n", b"?")
    path.write_bytes(b"\n".join(lines) + b"\n")
    state = read_journal(tmp_path)
    assert state.damaged == 10
    assert {n for n in range(50) if state.answer(Slot("t", n)) is None} == set(hit)


def test_an_error_never_replaces_an_answer_and_is_requested_again(tmp_path: Path) -> None:
    failed = failure(0, ModelError("the server is down"))
    write(tmp_path, record(0), failed, failure(1, ModelError("down", where="t doc 1")))
    state = read_journal(tmp_path)
    assert state.answer(Slot("t", 0)).output == "yes"
    assert state.answer(Slot("t", 1)) is None
    assert state.slots[Slot("t", 1)].error.owner == "model"
    assert "output" not in failed


def test_a_slots_record_fills_more_slots_from_one_answer(tmp_path: Path) -> None:
    write(tmp_path, slots_record("key0", [Slot("u", 5)]), record(0))
    assert read_journal(tmp_path).answer(Slot("u", 5)).output == "yes"


def test_a_newer_version_is_refused_and_not_rewritten(tmp_path: Path) -> None:
    path = write(tmp_path, record(0))
    newer = encode({**record(1), "v": 99})
    path.write_bytes(path.read_bytes() + newer)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer mm-eval"):
        read_journal(tmp_path)
    assert path.read_bytes() == before


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(module.os, "write", lambda fd, data: real(fd, data[: max(1, len(data) // 2)]))
    path = write(tmp_path, record(0))
    assert decode(path.read_bytes().rstrip(b"\n"))["key"] == "key0"


def test_a_full_disk_is_written_to_again_once_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, room = os.write, [False]

    def full(fd: int, data: bytes) -> int:
        if room[0]:
            return real(fd, data)
        if len(data) > 100:
            return real(fd, data[:100])  # a part of a line has room
        raise OSError(28, "No space left on device")

    def make_room() -> bool:
        room[0] = True
        return True

    monkeypatch.setattr(module.os, "write", full)
    journal, done = Journal(tmp_path), list[int]()
    journal.make_room = make_room
    for n in range(3):
        journal.put(record(n), lambda n=n: done.append(n))  # type: ignore[misc]
    journal.close()
    state = read_journal(tmp_path)
    assert done == [0, 1, 2] and len(state.slots) == 3 and state.damaged == 0


@pytest.mark.parametrize("call", ["write", "fdatasync"])
def test_a_refusing_disk_stops_the_run_and_acknowledges_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    journal = Journal(tmp_path)
    journal.put(record(0))
    journal.drain()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    acknowledged = []
    monkeypatch.setattr(module.os, call, refuse)
    journal.put(record(1), lambda: acknowledged.append(1))
    with pytest.raises(StoreError, match="No space left") as caught:
        journal.drain()
    assert str(journal.path) in str(caught.value) and not acknowledged
    with pytest.raises(StoreError):
        journal.put(record(2))
    monkeypatch.undo()
    with pytest.raises(StoreError):
        journal.close()
    assert read_journal(tmp_path).answer(Slot("t", 0)) is not None


WRITER = """
import sys, time
from pathlib import Path
from mm_eval.engine.journal import Journal
from mm_eval.engine.records import answer_record
from mm_eval.types import Answer, Slot
journal = Journal(Path(sys.argv[1]))
n = 0
while True:
    record = answer_record(Answer("x" * 2000, key=f"k{n}"), [Slot("t", n)])
    journal.put(record, lambda n=n: print(n, flush=True))
    n += 1
    time.sleep(0.0003)
"""


def test_kill_9_loses_no_acknowledged_answer(tmp_path: Path) -> None:
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True)
        for _ in range(40 + 37 * attempt):
            child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in child.stdout.read().split("\n")[:-1] if line]
        child.wait()
        mend_torn_tails(folder)
        state = read_journal(folder)
        assert state.damaged == 0
        last = max(acknowledged, default=39)
        assert all(state.answer(Slot("t", n)) is not None for n in range(last + 1))


def test_the_rest_of_a_line_that_is_written_meanwhile_is_no_line(tmp_path: Path) -> None:
    path = tmp_path / "journal" / "a.jsonl"
    path.parent.mkdir()
    path.write_bytes(b"whole\nhal")
    lines = lines_of(tmp_path, path)
    assert [next(lines), next(lines)] == [(0, b"whole\n"), (6, b"hal")]
    with path.open("ab") as file:
        file.write(b"f\nnext\n")
    assert list(lines) == []
    assert list(lines_of(tmp_path, path, start=6)) == [(6, b"half\n"), (11, b"next\n")]


def test_a_reader_during_writing_never_sees_half_a_record(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + HANGS
        reads = seen = 0
        while reads < 12 and time.monotonic() < deadline:
            state = read_journal(tmp_path)
            assert state.damaged == 0 and len(state.slots) >= seen
            seen = len(state.slots)
            reads += seen > 0
        assert reads == 12
    finally:
        child.kill()
        child.wait()
