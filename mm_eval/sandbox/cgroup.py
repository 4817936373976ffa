"""A control group (cgroup v2) for each interpreter, where one may be made: the kernel bounds the memory and processes in it.

One may be made beside the group of this process, as root or where a user owns the folder: so it is under `systemd-run --user
--scope mm-eval ...`. Elsewhere, and under cgroup v1, rlimits and the supervisor's watcher do it alone. They stay inside of a
group as well, since they end code with a sentence: the group is the wall behind them, for code that is faster than a look.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mm_eval.sandbox.limits import MB, Limits

CONTROLLERS = ("memory", "pids")
BEYOND = 512
"""MiB beyond a document's memory that the supervisor and shared pages may take."""
OUTSIDE = 2
"""Processes of bubblewrap in the group, which its limit of processes does not count."""
NAME = "mm-eval"
WAIT = 2.0
"""Seconds in which a group must be empty after its processes were killed."""
_NUMBER = itertools.count()


@cache
def groups() -> Path | None:
    """The folder of this process's groups, without those of runs that were killed. None where none may be made."""
    folder = parent()
    if folder is not None:
        sweep(folder)
    return folder


def parent(proc: Path = Path("/proc/self")) -> Path | None:
    """The folder in which groups may be made: that of this process's group, or of the one above. None where none may be.

    proc: the folder of a process in /proc.
    """
    try:
        own = next(line[3:] for line in (proc / "cgroup").read_text().splitlines() if line.startswith("0::/"))
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]
        root, at = next((f[3], Path(f[4])) for f in mounts if f[f.index("-") + 1] == "cgroup2")
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    inside = own.removeprefix(root.rstrip("/")) if own.startswith(root.rstrip("/") + "/") else own
    here = at / inside.lstrip("/")
    return next((each for each in dict.fromkeys((here.parent if here != at else here, here)) if _is_usable(each)), None)


def _is_usable(folder: Path) -> bool:
    """Whether groups with both controllers may be made in a folder, and a process may be moved into one: both are tried."""
    try:
        if not set(CONTROLLERS) <= set((folder / "cgroup.controllers").read_text().split()):
            return False
        if not set(CONTROLLERS) <= set((folder / "cgroup.subtree_control").read_text().split()):
            (folder / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in CONTROLLERS))
        group = Cgroup.make(folder, Limits())
        try:
            with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as moved:
                group.add(moved.pid)
                moved.kill()
        finally:
            group.remove()
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class Cgroup:
    """The group of one interpreter."""

    path: Path

    @classmethod
    def make(cls, folder: Path, limits: Limits) -> Cgroup:
        """Makes a group with these limits in a folder. OSError where it can't be made."""
        path = folder / f"{NAME}-{os.getpid()}-{next(_NUMBER)}"
        path.mkdir()
        try:
            (path / "memory.max").write_text(str((limits.memory + BEYOND) * MB))
            (path / "pids.max").write_text(str(limits.processes + OUTSIDE))
            with suppress(FileNotFoundError):  # of a kernel without swap
                (path / "memory.swap.max").write_text("0")
        except OSError:
            path.rmdir()
            raise
        return cls(path)

    def add(self, pid: int) -> None:
        """Moves a process into it. OSError where it has ended."""
        (self.path / "cgroup.procs").write_text(str(pid))

    @property
    def out_of_memory(self) -> int:
        """How many processes of it the kernel has ended since its memory was spent."""
        with suppress(OSError, ValueError):
            lines = (line.split() for line in (self.path / "memory.events").read_text().splitlines())
            return next((int(count) for name, count in lines if name == "oom_kill"), 0)
        return 0

    def remove(self) -> None:
        """Ends all that is in it, and removes it."""
        with suppress(OSError):  # of a kernel before 5.14; bubblewrap ends them as well
            (self.path / "cgroup.kill").write_text("1")
        until = time.monotonic() + WAIT
        while self.path.exists():
            with suppress(OSError):
                self.path.rmdir()
                return
            if time.monotonic() > until:
                return
            time.sleep(0.01)


def sweep(folder: Path) -> None:
    """Removes the groups of runs that were killed."""
    for path in folder.glob(f"{NAME}-*-*"):
        pid = path.name.split("-")[-2]
        if pid.isdecimal() and not Path(f"/proc/{pid}").exists():
            with suppress(OSError):
                path.rmdir()
