"""The cluster that a command starts for itself: closed to others, gone with the command, and a sentence where it breaks."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mm_eval.ray.private_folder import PREFIX
from mm_eval.ray.process import LOOPBACK, outer_address
from tests.processes import child
from tests.ray.conftest import ENVIRONMENT
from tests.ray.model import HANGS
from tests.ray.test_losses import DOCS, MME, alive, counted, whole

RECONNECT = "RAY_gcs_rpc_server_reconnect_timeout_s"
"""Seconds in which a head may come back, 60 where nothing is said."""
OWN = ("--executor", "ray", "--worker_cpus", "0.5")


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
    found = [pid]
    for each in found:
        found += [child for child, parent in parents.items() if parent == each]
    return found


def listening(pids: list[int]) -> list[tuple[str, int]]:
    """(address, port) at which any of these processes accepts connections, IPv4 and IPv6."""
    inodes = set()
    for pid in pids:
        try:
            links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        inodes |= {link[8:-1] for link in links if link.startswith("socket:[")}
    found = []
    for table, kind in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                address, port = words[1].split(":")
                raw = bytes.fromhex(address)
                raw = b"".join(raw[place : place + 4][::-1] for place in range(0, len(raw), 4))
                found.append((socket.inet_ntop(kind, raw), int(port, 16)))
    return found


def folder_of(pid: int) -> Path:
    """The private folder of the cluster that a command has started."""
    said = " ".join(Path(f"/proc/{each}/cmdline").read_text(errors="replace") for each in family(pid))
    place = said.index(PREFIX)
    return Path(said[said.rindex("=", 0, place) + 1 : said.index("/", place)])


def named(pid: int, name: str) -> int:
    """The process of this name under a command."""
    return next(each for each in family(pid) if Path(f"/proc/{each}/comm").read_text().strip() == name)


def test_a_clusters_doors_are_closed(start: Callable[..., Any]) -> None:
    """No port is open at another address, what listens at 127.0.0.1 asks for a token, and its files are private."""
    run = start(*MME, *OWN, workers=0, seconds=0.1)
    run.wait_for(10)
    doors = listening(family(run.process.pid))
    assert len(doors) >= 4, "the head, the raylet, a worker and the driver listen"
    assert {address for address, _ in doors} <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    for _, port in doors:
        with pytest.raises(OSError), socket.create_connection((outer_address(), port), timeout=5):
            pass
    folder = folder_of(run.process.pid)
    assert folder.stat().st_mode & 0o777 == 0o700 and folder.stat().st_uid == os.getuid()
    head = named(run.process.pid, "gcs_server")
    port = next(port for _, port in listening([head]))
    for token in ({}, {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "f" * 64}):
        script = "import ray, sys; ray.init(sys.argv[1], log_to_driver=False); print('joined', ray.nodes())"
        environment = {**ENVIRONMENT, **LOOPBACK, **token}
        command = [sys.executable, "-c", script, f"127.0.0.1:{port}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANGS)
        assert done.returncode != 0 and "joined" not in done.stdout
        assert "uthenticat" in done.stderr
    stranger = start(*MME, *OWN, "--ray_address", f"127.0.0.1:{port}", workers=0, name="stranger")
    assert f"no cluster of Ray can be used at 127.0.0.1:{port}" in stranger.end(2)
    run.end()
    assert not folder.exists()


def test_a_kill_9_leaves_neither_processes_nor_files(start: Callable[..., Any]) -> None:
    run = start(*MME, *OWN, workers=0, seconds=0.1)
    run.wait_for(10)
    folder, pids = folder_of(run.process.pid), family(run.process.pid)
    run.process.kill()
    run.process.wait()
    end = time.monotonic() + HANGS
    while folder.exists() or any(alive(pid) for pid in pids):
        assert time.monotonic() < end, "Ray lives on"
        time.sleep(0.2)


@pytest.mark.parametrize("name", ["raylet", "gcs_server"])
def test_a_killed_part_of_ray_ends_the_run_with_a_sentence(start: Callable[..., Any], name: str) -> None:
    """The out-of-memory killer takes these. Ray would end the command's process with exit code 1 and lines of its log."""
    ENVIRONMENT[RECONNECT] = "5"
    try:
        run = start(*MME, *OWN, workers=0, seconds=0.3)
    finally:
        del ENVIRONMENT[RECONNECT]
    run.wait_for(10)
    os.kill(named(run.process.pid, name), signal.SIGKILL)
    said = run.end(3)
    assert said.count("Ray has ended on this machine") == 1 and "core_worker" not in said and "(raylet)" not in said
    kept = len(counted(run))
    again = start(*MME, *OWN, workers=0)
    again.end()
    whole(again)
    assert len(again.noted("ask")) == DOCS - kept > 0


@contextmanager
def loopback_cluster() -> Iterator[str]:
    """A cluster that listens at 127.0.0.1 and nowhere else, without a token."""
    script = (
        "import ray, sys; ray.init('local', num_cpus=2, include_dashboard=False, object_store_memory=10**8, logging_level=40)\n"
        "print(ray.get_runtime_context().gcs_address, flush=True); sys.stdin.read()"
    )
    environment = {**ENVIRONMENT, **LOOPBACK, "RAY_AUTH_MODE": "disabled"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with child([sys.executable, "-c", script], env=environment, **pipes) as cluster:
        yield cluster.stdout.readline().strip()
        cluster.stdin.close()
        cluster.wait(HANGS)


def test_a_loopback_cluster_can_be_joined(start: Callable[..., Any]) -> None:
    """Ray replaces 127.0.0.1 by the machine's address in its network, where nothing listens, and tries for minutes."""
    with loopback_cluster() as address:
        assert address.startswith("127.0.0.1:")
        run = start(*MME, *OWN, "--ray_address", address, workers=0)
        run.end()
    whole(run)
    assert run.results["run"]["workers"] == {"CPU": 1}
