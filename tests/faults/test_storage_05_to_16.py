"""Faults 5 to 16: torn tails, flipped bits, full disks, two launches, signals, ranks that die, folders that vanish."""

import importlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval.engine import journal as journal_module
from mm_eval.engine.journal import mend_torn_tails, read_journal
from mm_eval.engine.model import Model, ModelSettings
from mm_eval.engine.outcome import Outcome
from mm_eval.values.types import Answer, Slot
from tests.engine import asking
from tests.engine.asking import questions
from tests.processes import HANGS

HERE = Path(__file__).parent
evaluate_module = importlib.import_module("mm_eval.run")  # the package has a function of that name


class Echo(Model):
    """Answers with the question at once."""

    def generate(self, instances):
        for instance in instances:
            yield instance, Answer(f"echo {instance.context}")


def ask(folder: Path, count: int) -> Outcome:
    mend_torn_tails(folder)
    return asking.ask(folder, Echo({}, ModelSettings()), questions(count))


def journal_file(folder: Path) -> Path:
    [path] = (folder / "journal").glob("*.jsonl")
    return path


def test_05_a_tail_torn_at_any_byte_loses_that_record_only_and_is_asked_again(tmp_path: Path) -> None:
    ask(tmp_path, 3)
    path = journal_file(tmp_path)
    whole = path.read_bytes()
    start = whole.rindex(b"\n", 0, -1) + 1
    for cut in [start, *range(start + 1, len(whole), 23), len(whole) - 1]:
        path.write_bytes(whole[:cut])
        outcome = ask(tmp_path, 3)
        is_whole = cut == len(whole) - 1
        assert (outcome.reused, outcome.requested) == ((3, 0) if is_whole else (2, 1)), cut
        for other in (tmp_path / "journal").glob("*.jsonl"):
            if other != path:
                other.unlink()


def test_06_one_flipped_bit_in_each_of_50_lines_asks_exactly_those_again(cli) -> None:
    arguments = ("--tasks", "mme,seedbench", "--model", "dummy", "--sample", "--limit", "60")
    first = cli(*arguments)
    before = first.results["results"]
    path, draw = journal_file(first.folder), random.Random(6)
    lines = path.read_bytes().split(b"\n")[:-1]
    assert len(lines) == 120
    for number in draw.sample(range(len(lines)), 50):
        line = bytearray(lines[number])
        place = draw.randrange(len(line))
        bits = [bit for bit in range(8) if line[place] ^ 1 << bit != 10]
        line[place] ^= 1 << draw.choice(bits)
        lines[number] = bytes(line)
    path.write_bytes(b"\n".join(lines) + b"\n")
    again = cli(*arguments)
    assert again.code == 0, again.err
    assert "50 damaged journal lines" in again.out and "70 answers were there, 50 were requested" in again.out
    assert again.results["results"] == before


def truncated(path: Path) -> None:
    path.write_bytes(b"")


def corrupt(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + b"\0\xff not what it was")


@pytest.mark.parametrize("spoil", [truncated, Path.unlink, corrupt])
def test_07_whatever_is_derived_may_be_cut_deleted_or_broken(cli, spoil) -> None:
    """Every file but run.json and the journal, and an index.sqlite, which is not needed and never written: results unchanged."""
    arguments = ("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "8")
    first = cli(*arguments)
    kept = {path: path.read_bytes() for path in first.folder.rglob("*") if path.is_file()}
    (first.folder / "index.sqlite").write_bytes(b"not a database")
    derived = [path for path in kept if path.name not in ("run.json", "lock") and path.parent.name != "journal"]
    assert {"results.json", "report.html", "mme.jsonl"} < {path.name for path in derived}
    for path in derived:
        spoil(path)
    again = cli(*arguments)
    assert again.code == 0 and "nothing was requested" in again.out, again.err
    assert {**again.results, "run": 0} == {**json.loads(kept[first.folder / "results.json"]), "run": 0}
    samples = first.folder / "samples" / "mme.jsonl"
    assert samples.read_bytes() == kept[samples]
    assert (first.folder / "report.html").stat().st_size > 10_000


HOLDER = """
import sys, time
from pathlib import Path
from mm_eval.engine.folder import RunFolder
with RunFolder(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(60)
"""


def test_08_a_second_launch_exits_2_within_a_second_and_a_dead_ones_lock_is_nobodys(cli, tmp_path) -> None:
    """A second of its own: the machine may be busy with something else. Nothing is loaded before the lock is looked at."""
    folder = tmp_path / "run"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE, text=True)
    arguments = ("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "2")
    try:
        assert holder.stdout.readline() == "held\n"
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        words = [str(word) for word in (*arguments, "--output_path", folder)]
        second = subprocess.run([sys.executable, "-m", "mm_eval", *words], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert second.returncode == 2
        assert f"in use by pid {holder.pid} on {socket.gethostname()}." in second.stderr
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1
        assert not (folder / "run.json").exists()
    finally:
        holder.kill()
        holder.wait()
    assert cli(*arguments).code == 0


@pytest.mark.full
def test_09_a_full_disk_stops_the_run_with_exit_3_and_a_resume_completes_it(tmp_path: Path) -> None:
    """The limit is the kernel's own (RLIMIT_FSIZE), so that the refused write is a real one, cut in the middle of a record."""
    limited = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, resource.RLIM_INFINITY))\n"
        "from mm_eval.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    words = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "200", "--output_path", str(tmp_path / "run")]
    full = subprocess.run([sys.executable, "-c", limited, *words], capture_output=True, text=True)
    assert full.returncode == 3, full.stderr
    assert "store error" in full.stderr and ".jsonl" in full.stderr and "Traceback" not in full.stderr
    kept = len(read_journal(tmp_path / "run").answers)
    assert 0 < kept < 200
    again = subprocess.run([sys.executable, "-m", "mm_eval", *words], capture_output=True, text=True)
    assert again.returncode == 0 and f"{kept} answers were there" in again.stdout, again.stderr


def test_10_short_writes_give_whole_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(journal_module.os, "write", lambda fd, data: real(fd, data[: len(data) // 2 or 1]))
    assert ask(tmp_path, 20).answered == 20
    monkeypatch.undo()
    state = read_journal(tmp_path)
    assert state.damaged == 0 and len(state.answers) == 20


def test_11_a_failing_fsync_acknowledges_nothing_stops_the_run_and_names_the_file(cli, monkeypatch) -> None:
    def refuse(fd: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(journal_module.os, "fdatasync", refuse)
    ticks: list[int] = []
    monkeypatch.setattr("mm_eval.cli.progress.ProgressBar.tick", lambda self, done, failed: ticks.append(done))
    failed = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "8")
    assert failed.code == 3 and not ticks
    assert "Input/output error" in failed.err and str(journal_file(failed.folder)) in failed.err


def reads_while_writing(folder: Path, reads: int) -> None:
    command = [sys.executable, str(HERE / "echo.py"), str(folder), "1000000", "--delay", "0.001"]
    writer = subprocess.Popen(command)
    try:
        seen, done, deadline = 0, 0, time.monotonic() + HANGS
        while done < reads:
            assert writer.poll() is None and time.monotonic() < deadline
            state = read_journal(folder)
            assert state.damaged == 0 and len(state.answers) >= seen
            seen = len(state.answers)
            done += seen > 0
    finally:
        writer.kill()
        writer.wait()


@pytest.mark.full
def test_12_a_reader_never_sees_half_a_record(tmp_path: Path) -> None:
    reads_while_writing(tmp_path, 40)


@pytest.mark.slow
def test_12_a_thousand_reads(tmp_path: Path) -> None:
    reads_while_writing(tmp_path, 1000)


def ranks_that_die(folder: Path, count: int, ranks: int, dead: int) -> None:
    kills = {rank: 5 + rank for rank in range(dead)}
    commands = [
        [
            sys.executable,
            str(HERE / "echo.py"),
            str(folder),
            str(count),
            "--share",
            f"{rank}/{ranks}",
            "--delay",
            "0.002",
        ]
        + (["--kill_at", str(kills[rank])] if rank in kills else [])
        for rank in range(ranks)
    ]
    codes = [child.wait(timeout=HANGS) for child in [subprocess.Popen(command) for command in commands]]
    assert codes == [-signal.SIGKILL] * dead + [0] * (ranks - dead)
    safe = {int(line) for line in (folder / "acknowledged").read_text().splitlines()}
    outcome = ask(folder, count)
    assert outcome.reused >= len(safe) and outcome.reused + outcome.requested == count and outcome.requested > 0
    state = read_journal(folder)
    assert [state.answer(Slot("t", n)).output for n in range(count)] == [f"echo question {n}" for n in range(count)]
    lines = b"".join(path.read_bytes() for path in (folder / "journal").glob("*.jsonl")).splitlines()
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) == count


@pytest.mark.full
def test_14_of_4_writing_ranks_2_are_killed_and_the_union_is_resumed(tmp_path: Path) -> None:
    ranks_that_die(tmp_path, 100, 4, 2)


@pytest.mark.slow
def test_14_of_8_writing_ranks_3_are_killed(tmp_path: Path) -> None:
    ranks_that_die(tmp_path, 400, 8, 3)


FIRST_VERSION = (
    b'{"v":1,"kind":"answer","key":"abc","slots":[["t",0,0,0]],"attempts":1,"t":1763692800.0,"output":{"text":"Yes"},'
    b'"usage":{"prompt_tokens":3},"crc":"1b89b000"}\n'
)


def test_15_a_journal_of_the_first_version_opens_byte_for_byte_and_a_newer_one_is_refused(cli, tmp_path) -> None:
    path = tmp_path / "journal" / "old.jsonl"
    path.parent.mkdir()
    path.write_bytes(FIRST_VERSION)
    assert read_journal(tmp_path).answer(Slot("t", 0)).output == "Yes"
    assert path.read_bytes() == FIRST_VERSION
    arguments = ("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "4")
    first = cli(*arguments)
    newer = journal_module.encode({"v": 99, "kind": "answer", "key": "k", "slots": []})
    with journal_file(first.folder).open("ab") as file:
        file.write(newer)
    before = journal_file(first.folder).read_bytes()
    refused = cli(*arguments)
    assert refused.code == 2 and "newer mm-eval (journal version 99)" in refused.err
    assert journal_file(first.folder).read_bytes() == before


@pytest.mark.parametrize("name", ["newline\nin it", "ünïcödé 名前 \U0001f600", "  spaces "])
def test_16_odd_names_of_run_folders_work(cli, tmp_path: Path, name: str) -> None:
    done = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "2", "--output_path", tmp_path / name)
    assert done.code == 0 and (tmp_path / name / "results.json").exists()


class Counting(Model):
    """Notes that it was asked: the request that would have been paid for."""

    asked = 0

    def generate(self, instances):
        for instance in instances:
            Counting.asked += 1
            yield instance, Answer("Yes")


@pytest.mark.parametrize("spoil", ["file in the way", "300 bytes", "read-only", "vanished"])
def test_16_a_folder_that_cannot_be_used_is_told_before_the_first_request(cli, tmp_path, monkeypatch, spoil) -> None:
    folder = tmp_path / "run"
    if spoil == "file in the way":
        (tmp_path / "file").write_text("")
        folder = tmp_path / "file" / "run"
    elif spoil == "300 bytes":
        folder = tmp_path / ("x" * 300)
    elif spoil == "vanished":
        monkeypatch.setattr(
            evaluate_module, "_read_journal", lambda found: (shutil.rmtree(found.path), read_journal(found.path))[1]
        )
        monkeypatch.setattr(journal_module.Path, "mkdir", lambda self, **_: self.parent.stat())
    else:  # the tests may run as root, whom no permission stops: the kernel's answer is given by hand
        real = os.open

        def refuse(path, flags, *rest, **named):
            if flags & os.O_CREAT and str(tmp_path / "run") in str(path):
                raise OSError(30, "Read-only file system")
            return real(path, flags, *rest, **named)

        monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr("mm_eval.models.dummy.Dummy.generate", Counting.generate)
    Counting.asked = 0
    refused = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "2", "--output_path", folder)
    assert refused.code == 2 and Counting.asked == 0, refused.err
    assert "Traceback" not in refused.err and len(refused.err.strip().splitlines()) == 1
