"""Groups of the kernel (cgroup v2): where one may be made, and what it bounds. On most machines of CI none may be made."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from mm_eval.sandbox import cgroup
from mm_eval.sandbox.cgroup import Cgroup, groups, parent, sweep
from mm_eval.sandbox.check import check
from mm_eval.sandbox.interpreter import Asked
from mm_eval.sandbox.limits import Limits
from tests.sandbox.there import pool, sandbox

V2 = "30 24 0:26 {root} {at} rw,nosuid - cgroup2 cgroup rw\n"


def process(folder: Path, group: str, mounts: str) -> Path:
    (folder / "cgroup").write_text(group)
    (folder / "mountinfo").write_text(f"24 1 8:1 / / rw - ext4 /dev/vda rw\n{mounts}")
    return folder


@pytest.mark.parametrize(
    ("group", "root", "usable", "found"),
    [
        ("0::/user.slice/app.slice/a.scope", "/", "user.slice/app.slice", "user.slice/app.slice"),
        ("0::/user.slice/app.slice/a.scope", "/", "user.slice", None),  # the group above is not asked
        ("0::/", "/", "", ""),
        ("0::/pod/1", "/pod", "", ""),  # a part of the tree is mounted
        ("9:name=systemd:/\n8:pids:/", "/", "", None),
    ],
)
def test_a_group_is_made_beside_the_own_one(
    group: str, root: str, usable: str, found: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    monkeypatch.setattr(cgroup, "_is_usable", lambda folder: folder == tree / usable)
    there = parent(process(tmp_path, group, V2.format(root=root, at=tree)))
    assert there == (None if found is None else tree / found)


def test_no_group_is_made_without_controllers_or_without_cgroup_v2(tmp_path: Path) -> None:
    assert (
        parent(process(tmp_path, "0::/a", "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")) is None
    )
    (tmp_path / "cgroup.controllers").write_text("cpu pids")
    assert parent(process(tmp_path, "0::/a", V2.format(root="/", at=tmp_path))) is None
    assert parent(tmp_path / "nowhere") is None


def test_the_limits_of_a_group_are_those_of_a_document(tmp_path: Path) -> None:
    group = Cgroup.make(tmp_path, Limits(memory=1024, processes=40))
    assert (group.path / "memory.max").read_text() == str(1536 << 20) and (group.path / "pids.max").read_text() == "42"
    assert group.out_of_memory == 0
    (group.path / "memory.events").write_text("low 0\noom 1\noom_kill 3\n")
    assert group.out_of_memory == 3


def test_groups_of_killed_runs_are_removed(tmp_path: Path) -> None:
    for name in (f"mm-eval-{os.getpid()}-0", "mm-eval-4194305-0", "other-4194305-0"):  # above every number of a process
        (tmp_path / name).mkdir()
    sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"mm-eval-{os.getpid()}-0", "other-4194305-0"]


@pytest.mark.full
def test_an_interpreter_in_a_group_is_bounded_by_it_and_leaves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox()
    if (folder := groups()) is None:
        pytest.skip("no cgroup may be made here")
    monkeypatch.setattr(cgroup, "BEYOND", 0)
    shared = "import mmap\nfor each in [mmap.mmap(-1, 64 << 20) for _ in range(20)]:\n    each.write(b'x' * (64 << 20))"
    with closing(pool(memory=512)) as running:
        interpreter = running.take()
        ran = interpreter.run(Asked("open('/proc/self/cgroup').read()", 20, 2000, 0, 64, 1))
        assert ran.ending == "ok" and interpreter.limiter.startswith(f"a cgroup in {folder}")
        (made,) = folder.glob("mm-eval-*")
        assert len((made / "cgroup.procs").read_text().split()) >= 4  # bubblewrap's two, the supervisor and the kernel
        ran = interpreter.run(Asked(shared, 300, 2000, 0, 64, 1))  # no rlimit counts it
        assert (ran.ending, ran.reason) == ("ended", "out of memory"), ran
    until = time.monotonic() + 10
    while list(folder.glob("mm-eval-*")) and time.monotonic() < until:
        time.sleep(0.05)
    assert not list(folder.glob("mm-eval-*"))


@pytest.mark.full
def test_the_check_says_what_the_limits_are_kept_by() -> None:
    walls, facts = check(sandbox())
    assert all(wall.holds for wall in walls), walls
    kept = "rlimits, and a watcher: no cgroup may be made here" if groups() is None else f"a cgroup in {groups()}"
    assert facts["limits by"].startswith(kept) and facts["user namespaces"] == "none can be made inside"
