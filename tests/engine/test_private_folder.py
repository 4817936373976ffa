"""The folder of an own cluster: nobody else enters it, and the next command removes what a dead one has left."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from mm_eval.ray import private_folder
from mm_eval.ray.private_folder import LOCK, PREFIX, YOUNG, PrivateFolder


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(private_folder, "LONGEST", 1000)
    return tmp_path


def left_by_a_dead_process() -> Path:
    """A folder whose owner was killed."""
    script = (
        "import os, tempfile; from mm_eval.ray import private_folder as p; p.LONGEST = 1000; f = p.PrivateFolder();\n"
        "os.makedirs(f.path / 'r', 0o777); (f.path / 'r' / 'log').write_text('x');\n"
        "print(f.path, flush=True); os.kill(os.getpid(), 9)"
    )
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    return Path(done.stdout.strip())


def test_folders_of_the_dead_are_removed_and_those_of_the_living_stay(base: Path) -> None:
    living, dead = PrivateFolder(), left_by_a_dead_process()
    assert (dead / "r" / "log").exists() and dead.parent == base
    other = PrivateFolder()
    assert living.path.exists() and other.path.exists() and not dead.exists()
    for folder in (living, other):
        assert folder.path.stat().st_mode & 0o777 == 0o700
        folder.remove()
        folder.remove()
        assert not folder.path.exists()


def test_what_is_just_made_and_what_is_no_folder_of_ours_stays(base: Path) -> None:
    young, old, elsewhere = base / f"{PREFIX}young", base / f"{PREFIX}old", base / "elsewhere"
    for folder in (young, old, elsewhere):
        folder.mkdir()
    (elsewhere / LOCK).touch()
    link = base / f"{PREFIX}link"
    link.symlink_to(elsewhere)
    os.utime(old, (time.time() - 2 * YOUNG,) * 2)
    PrivateFolder().remove()
    assert young.exists() and not old.exists() and link.is_symlink() and (elsewhere / LOCK).exists()


def test_a_long_temporary_folder_is_not_used(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's sockets have names of at most 107 characters."""
    monkeypatch.setattr(private_folder, "LONGEST", 30)
    folder = PrivateFolder()
    assert folder.path.parent == Path("/tmp")
    folder.remove()
