"""Folders of another user, lost terminals, and a clock that is set back: one clear error, or the run as it was."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from tests.processes import HANGS
from tests.sets import few

RUN = ("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "6", "--no_report")
SLOW = Path(__file__).parent.parent / "cli" / "slow_model.py"
AS_ANOTHER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root without its rights over other users' files."""


@pytest.fixture
def finished(cli, tmp_path: Path) -> Path:
    assert cli(*RUN).code == 0
    return tmp_path / "run"


@pytest.mark.parametrize(
    "words",
    few(["report --format md", "report", "compare", "diagnose", "score"], "report --format md", "score"),
)
def test_an_unreadable_folder_is_one_sentence(finished: Path, words: str) -> None:
    """`report` ended in a traceback, and other commands said that there was no run.json."""
    verb, *options = words.split()
    command = [sys.executable, "-m", "mm_eval", verb, str(finished), *options]
    if verb == "compare":
        command.append(str(finished))
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root can read everything")
        os.chown(finished, 65534, 65534)
        command = [*AS_ANOTHER, *command]
    finished.chmod(0o700 if os.geteuid() == 0 else 0)
    done = subprocess.run(command, capture_output=True, text=True)
    finished.chmod(0o755)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert "run.json: it can't be read: Permission denied." in done.stderr


def test_a_journal_that_is_no_folder_is_named(cli, finished: Path) -> None:
    shutil.rmtree(finished / "journal")
    (finished / "journal").write_text("")
    ran = cli(*RUN)
    assert ran.code == 2 and f"{finished / 'journal'}: the journal can't be opened: File exists. " in ran.err
    assert "another --output_path" in ran.err


@pytest.mark.parametrize("nohup", [False, pytest.param(True, marks=pytest.mark.full)], ids=["a terminal", "nohup"])
def test_a_lost_terminal_stops_after_the_requests_in_flight(tmp_path: Path, nohup: bool) -> None:
    """It ended the process at once, with requests that were paid for under way."""
    log, folder = tmp_path / "log", tmp_path / "run"
    words = (str(log), "--tasks", "mme", "--model", "slow", "--sample", "--no_report", "--output_path", str(folder))
    child = subprocess.Popen(
        [*(("nohup",) if nohup else ()), sys.executable, str(SLOW), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # the tests themselves may run under nohup
    )
    while not log.exists() or len(log.read_text().splitlines()) < 20:
        assert child.poll() is None, child.communicate()
        time.sleep(0.01)
    child.send_signal(signal.SIGHUP)
    out, err = child.communicate(timeout=HANGS)
    asked = len(log.read_text().splitlines())
    assert child.returncode == (0 if nohup else 130), out + err
    assert asked == len(read_journal(folder).answers) and (asked == 420) is nohup


def test_a_clock_that_is_set_back_changes_no_duration(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = time.time, [0]

    def jumps() -> float:
        calls[0] += 1
        return real() - (3e7 if calls[0] > 4 else 0)

    monkeypatch.setattr(time, "time", jumps)
    ran = cli(*RUN)
    assert ran.code == 0 and calls[0] > 4
    about = ran.results["run"]
    assert 0 <= about["seconds"] < 3000 and 0 <= about["answering"]["seconds"] < 3000
    again = cli(*RUN)
    assert "nothing was requested" in again.out
