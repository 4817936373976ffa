"""Ray's process beside the command: whatever goes wrong with it is one sentence in bounded time."""

import socket
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import pytest

from mm_eval.ray import actors as fleet_ray
from mm_eval.ray import process as ray_process
from mm_eval.ray.process import LOOPBACK, OWN_CLUSTER, RayProcess, authentication, look_for
from mm_eval.values.errors import ConfigError, ModelError
from tests.processes import HANGS, child
from tests.sets import few

RAY = """
import os, signal, sys, time
class exceptions: pass
class Context:
    gcs_address = "127.0.0.1:1"
def get_runtime_context(): return Context
def cluster_resources(): return {"CPU": 2.0}
def shutdown(): pass
def init(*args, **options):
    print("line 1 of Ray's log", file=sys.stderr, flush=True)
"""
"""A package ray that starts nothing. What `init` does at its end is added."""


@pytest.fixture
def ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a package ray whose `init` ends with some code."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    monkeypatch.setattr(ray_process, "GRACE", 0.5)

    def make(code: str) -> None:
        (tmp_path / "packages").mkdir()
        (tmp_path / "packages" / "ray.py").write_text(RAY + "    " + code + "\n")

    return make


@pytest.mark.parametrize(
    ("code", "why"),
    few(
        [
            (
                "raise Exception('The current node timed out during startup. This could happen.')",
                "timed out during startup",
            ),
            ("sys.exit('a helper did not start')", "a helper did not start"),
            ("raise RuntimeError", "RuntimeError"),
            ("os.kill(os.getpid(), signal.SIGKILL)", "line 1 of Ray's log"),
            ("time.sleep(1000)", "it did not answer within 0.5 seconds"),
        ],
        at=[0],
    ),
)
def test_a_cluster_that_does_not_start_is_a_sentence(
    ray: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, why: str
) -> None:
    ray(code)
    monkeypatch.setattr(ray_process, "START", 0.5 if "sleep" in code else 120.0)
    with pytest.raises(ConfigError, match="no cluster of Ray could be started on this machine") as found:
        RayProcess(None)
    assert why in str(found.value) and "\n" not in str(found.value)
    assert not list(tmp_path.glob("mm-eval-ray-*")), "its folder is gone"


def test_a_process_that_ends_is_a_failure_of_the_model(ray: Any) -> None:
    ray("pass")
    found = RayProcess(None)
    assert found.address == "127.0.0.1:1"
    found.process.kill()
    found.process.wait()
    end = time.monotonic() + HANGS
    while not found.ended:
        assert time.monotonic() < end
        time.sleep(0.01)
    with pytest.raises(ModelError, match=r"Ray has ended on this machine.* the same command continues"):
        found.send("start", 1, 1)
    found.end()
    assert found.folder is not None and not found.folder.path.exists()


def test_the_process_ends_with_the_command_though_ray_hangs(ray: Any, tmp_path: Path) -> None:
    """The command is killed while Ray starts."""
    ray(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(1000)")
    code = f"import sys; sys.path[:] = {sys.path!r}; from mm_eval.ray.process import RayProcess; RayProcess(None)"
    with child([sys.executable, "-c", code]) as command:
        end = time.monotonic() + HANGS
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < end and command.poll() is None
            time.sleep(0.02)
        command.kill()
    pid = int((tmp_path / "pid").read_text())
    while Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] != "Z":
        assert time.monotonic() < end, "it lives on"
        time.sleep(0.02)


def test_an_own_cluster_asks_for_a_new_token_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ray: Any
) -> None:
    ray("raise Exception(os.environ['RAY_AUTH_MODE'] + os.environ['RAY_AUTH_TOKEN'] + str(options))")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    said = set()
    for _ in range(2):
        with pytest.raises(ConfigError) as found:
            RayProcess(None)
        mode, token = found.value.what.split(": ")[1].split("{")[0][:5], found.value.what.split("token")[1][:64]
        assert mode == "token" and set(token) <= set("0123456789abcdef")
        said.add(token)
    assert len(said) == 2


# ------------------------------------------------------------------ where a cluster is
@pytest.mark.parametrize("address", ["ray://head:10001", "127.0.0.1:1", "localhost:1"])
def test_an_address_without_a_cluster_is_refused_at_once(address: str) -> None:
    with pytest.raises((OSError, ValueError)):
        look_for(address)


def test_a_cluster_that_listens_only_here_is_joined_here(monkeypatch: pytest.MonkeyPatch) -> None:
    here: list[tuple[str, int]] = []

    def speaks(host: str, port: int) -> None:
        here.append((host, port))
        if host == "192.0.2.7" and port == 5:
            raise ConnectionRefusedError

    monkeypatch.setattr(ray_process, "_speaks_grpc", speaks)
    monkeypatch.setattr(ray_process, "outer_address", lambda: "192.0.2.7")
    assert look_for("127.0.0.1:5") == look_for("localhost:5") == look_for("[::1]:5") == LOOPBACK
    assert look_for("127.0.0.1:6") == look_for("192.0.2.9:5") == {}
    assert here[:2] == [("127.0.0.1", 5), ("192.0.2.7", 5)] and here[-1] == ("192.0.2.9", 5)


def test_only_the_address_of_a_releases_own_cluster_gets_its_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OWN_CLUSTER, "127.0.0.1:7 abc")
    monkeypatch.setattr(ray_process, "_speaks_grpc", lambda host, port: None)
    assert look_for("127.0.0.1:7") == {**authentication("abc"), **LOOPBACK}
    assert look_for("192.0.2.9:7") == {}


def test_something_else_that_listens_is_not_joined() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve() -> None:
            connection, _ = server.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=serve, daemon=True).start()
        with pytest.raises(ConnectionError, match="is not Ray"):
            look_for(f"127.0.0.1:{server.getsockname()[1]}")


def test_ray_may_raise_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(*args: Any, **options: Any) -> None:
        raise Exception("The current node timed out during startup.\nMore lines.")

    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(init=init))
    for address in (None, "head:6379"):
        with pytest.raises(ConfigError, match="timed out during startup"):
            fleet_ray.joined(address)
