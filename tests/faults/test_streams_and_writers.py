"""Broken terminals and dead writers: a run ends with its answers on the disk and with an exit code, whatever it can't print."""

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mm_eval.cli.progress import ProgressBar
from mm_eval.engine import journal as journal_module
from mm_eval.engine.cache import AnswerCache
from mm_eval.engine.journal import Journal, read_journal
from mm_eval.engine.model import Model, ModelSettings
from mm_eval.engine.records import answer_record
from mm_eval.values.errors import StoreError
from mm_eval.values.types import Answer, Instance, Slot
from tests.processes import HANGS
from tests.sets import few

HERE = Path(__file__).parent
TASKS = ("--tasks", "mme", "--sample", "--limit", "40")


def record(doc_id: int) -> dict[str, Any]:
    return answer_record(Answer("yes", key=f"key{doc_id}"), [Slot("t", doc_id)])


def within(seconds: float, work: Callable[[], object]) -> BaseException | None:
    """What `work` raised; fails where it does not end."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"still waiting after {seconds} s"
    return raised[0] if raised else None


@pytest.mark.parametrize("raised", [BrokenPipeError, ValueError, KeyboardInterrupt, SystemExit, MemoryError])
def test_no_acknowledgement_ends_the_writer(tmp_path: Path, raised: type[BaseException]) -> None:
    def acknowledge() -> None:
        raise raised("the terminal is gone")

    journal = Journal(tmp_path)
    for doc_id in range(100):
        journal.put(record(doc_id), acknowledge)
    assert within(20, journal.drain) is None and within(20, journal.close) is None
    assert len(read_journal(tmp_path).answers) == 100


@pytest.mark.parametrize("raised", [RuntimeError("torn"), MemoryError(), KeyError("fd"), SystemExit(1)])
def test_a_writer_that_failed_is_heard_of_by_all_who_wait(tmp_path: Path, monkeypatch, raised: BaseException) -> None:
    def refuse(fd: int) -> None:
        raise raised

    journal, acknowledged = Journal(tmp_path), []
    monkeypatch.setattr(journal_module.os, "fdatasync", refuse)
    journal.put(record(0), lambda: acknowledged.append(0))
    assert isinstance(within(20, journal.drain), StoreError)
    assert isinstance(within(20, lambda: journal.put(record(1))), StoreError)
    assert isinstance(within(20, journal.close), StoreError) and not acknowledged


def test_a_writer_that_is_gone_is_heard_of_also_where_the_queue_is_full(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(Journal, "_write_all", lambda self: None)
    monkeypatch.setattr(journal_module, "_LOOK", 0.05)
    journal = Journal(tmp_path)
    journal._thread.join()
    monkeypatch.setattr(journal_module, "_MOST", 1)
    journal._waiting.append((b"", lambda: None))
    for call in (lambda: journal.put(record(1)), journal.drain, journal.close):
        assert isinstance(within(20, call), StoreError)


def test_a_system_without_fdatasync_syncs_all_the_same(tmp_path: Path, monkeypatch) -> None:
    """macOS has none."""
    synced: list[int] = []
    real = os.fsync
    monkeypatch.delattr(os, "fdatasync")
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), real(fd))[1])
    journal = Journal(tmp_path)
    before = len(synced)
    journal.put(record(0))
    assert within(20, journal.drain) is None and len(synced) > before
    journal.close()
    assert len(read_journal(tmp_path).answers) == 1


@pytest.mark.parametrize("moment", ["writing", "closing"])
def test_answers_of_a_journal_file_that_is_deleted_under_the_run_are_in_a_new_one(tmp_path: Path, moment: str) -> None:
    """The command ended and said that they were safe."""
    (tmp_path / "run.json").write_text("{}")
    journal = Journal(tmp_path)
    journal.put(record(0))
    assert within(20, journal.drain) is None
    shutil.rmtree(tmp_path / "journal")
    acknowledged: list[int] = []
    if moment == "writing":
        journal.put(record(1), lambda: acknowledged.append(1))
        assert within(20, journal.drain) is None and acknowledged == [1]
    assert within(20, journal.close) is None
    kept = read_journal(tmp_path)
    assert sorted(slot.doc_id for slot, _ in kept.slots.items()) == [0, *acknowledged] and not kept.damaged


@pytest.mark.parametrize("moment", ["writing", "closing"])
def test_answers_of_a_run_folder_that_is_deleted_under_the_run_are_kept_beside_it(tmp_path: Path, moment: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    journal = Journal(folder)
    journal.put(record(0))
    assert within(20, journal.drain) is None
    shutil.rmtree(folder)
    acknowledged: list[int] = []
    if moment == "writing":
        journal.put(record(1), lambda: acknowledged.append(1))
        raised = within(20, journal.drain)
        assert within(20, journal.close) is not None
    else:
        raised = within(20, journal.close)
    assert not acknowledged and not folder.exists()
    assert isinstance(raised, StoreError) and "deleted" in str(raised) and str(journal.path) in str(raised)
    (folder / "journal").mkdir(parents=True)
    shutil.move(journal.path, folder / "journal")
    assert [slot.doc_id for slot, _ in read_journal(folder).slots.items()][0] == 0, "as the message says"


def test_a_dead_writer_ends_the_command_with_exit_3(cli, monkeypatch) -> None:
    def refuse(fd: int) -> None:
        raise RuntimeError("no such call")

    monkeypatch.setattr(journal_module.os, "fdatasync", refuse)
    failed = cli(*TASKS, "--model", "dummy")
    assert failed.code == 3 and "store error" in failed.err and "no such call" in failed.err


def test_a_cache_that_is_full_keeps_no_answer_and_ends_no_run(cli, tmp_path: Path, monkeypatch) -> None:
    real = journal_module.write_all

    def refuse(fd: int, data: bytes) -> None:
        if "/shared/" in os.readlink(f"/proc/self/fd/{fd}"):
            raise OSError(errno.ENOSPC, "No space left on device")
        real(fd, data)

    monkeypatch.setattr(journal_module, "write_all", refuse)
    done = cli(*TASKS, "--model", "dummy", "--use_cache", tmp_path / "shared")
    assert done.code == 0, done.err
    cache = AnswerCache(tmp_path / "shared", Model({}, ModelSettings()))
    assert not cache._answers
    for doc_id in range(2):  # the second is put after the disk refused the first
        cache.put(Answer("yes", key=f"key{doc_id}"), Instance("generate_until", "t", doc_id, {}))
        with suppress(StoreError):
            cache._journal.drain()
    cache.close()


class Gone:
    """An error stream whose reader is gone. tried: how often something was written to it."""

    tried = 0

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.tried += 1
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    def flush(self) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


def test_a_progress_bar_on_a_broken_error_stream_is_silent(monkeypatch) -> None:
    stream = Gone()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = ProgressBar()
    progress.phase("model")
    before = stream.tried
    progress.start("answering", 3)
    for _ in range(3):
        progress.tick(1, 1)
    progress.stop()
    assert stream.tried > before > 0, "else this tests nothing"


SHELL = {
    "no error stream": "{} 2>&-",
    "no output": "{} >&-",
    "no stream at all": "{} <&- >&- 2>&-",
    "full output": "{} >/dev/full",
    "full error stream": "{} 2>/dev/full",
    "output without a reader": "{{ {} ; echo $? >&9; }} 9>&1 | true",
    "error stream without a reader": "{} 2> >(exec true)",
}
NOISY = """
import os, sys
from mm_eval.cli import main
from mm_eval.engine.model import Model, register_model
from mm_eval.errors import ModelError
from mm_eval.types import Answer

@register_model("noisy")
class Noisy(Model):
    "Writes to the streams by their numbers, as libraries in C do; the last question fails."
    def generate(self, instances):
        for instance in instances:
            for number in (1, 2):
                try:
                    os.write(number, b"a warning of a library\\n")
                except OSError:
                    pass
            yield instance, ModelError("down") if instance.doc_id == 39 else Answer("Yes")

sys.exit(main(sys.argv[1:]))
"""


QUICK = ("no stream at all", "full output", "output without a reader", "error stream without a reader")


@pytest.mark.parametrize(
    "name",
    few([name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SHELL], "full output"),
)
def test_a_run_whose_streams_are_broken_keeps_its_answers_results_and_exit_code(tmp_path: Path, name: str) -> None:
    (tmp_path / "noisy.py").write_text(NOISY)
    folder, words = tmp_path / "run", " ".join(TASKS)
    command = SHELL[name].format(
        f"{sys.executable} {tmp_path / 'noisy.py'} {words} --model noisy --output_path {folder}"
    )
    script = (
        f"exec 9>{tmp_path / 'code'}; {command}"
        if "$?" not in command
        else command.replace("9>&1", f"9>{tmp_path / 'code'}")
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=HANGS)
    code = int((tmp_path / "code").read_text()) if "$?" in command else done.returncode
    assert code == 3, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    state = read_journal(folder)
    assert len(state.answers) == 39 and state.damaged == 0
    assert (folder / "results.json").exists() and (folder / "report.html").exists()


@pytest.mark.full
def test_a_release_whose_output_lost_its_reader_runs_all_its_models(tmp_path: Path) -> None:
    release = tmp_path / "release.yaml"
    release.write_text(
        f"output_path: {tmp_path}/out\ntasks: [mme]\nsample: true\nlimit: 4\n"
        "models: [{model: dummy, name: a}, {model: dummy, name: b}]\n"
    )
    command = f"{{ {sys.executable} -m mm_eval --config {release}; echo $? >{tmp_path}/code; }} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=HANGS)
    assert (tmp_path / "code").read_text() == "0\n", done.stderr
    assert all((tmp_path / "out" / name / "results.json").exists() for name in "ab")


def test_a_list_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    command = f"{sys.executable} -m mm_eval ls tasks >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 2 and done.stderr.startswith("mm-eval: standard output can't be written: No space left")
    assert len(done.stderr.splitlines()) == 1
