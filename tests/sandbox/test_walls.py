"""Which sandbox an option names, the command that starts it, and one sentence for what is not there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.sandbox import walls
from mm_eval.sandbox.environment import Environment, packages
from mm_eval.sandbox.interpreter import Interpreter, SandboxError
from mm_eval.sandbox.limits import Limits
from mm_eval.sandbox.walls import Sandbox, sandbox_of
from mm_eval.values.errors import ConfigError
from tests.conftest import Ran


def program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("stated", "limits", "said"),
    [
        ("chroot", {}, "there is no sandbox 'chroot'"),
        ("docker:", {}, "there is no sandbox 'docker:'"),
        ("docker:a b", {}, "there is no sandbox"),
        ("podman:x", {}, "podman is not installed. Or use bubblewrap"),
        (None, {}, "bubblewrap is not installed. apt-get install bubblewrap"),
        ("bwrap", {"memory": 1}, "memory must be a number from 512 (got 1)"),
        ("bwrap", {"memori": 600}, "unknown limit 'memori'. Did you mean 'memory'?"),
        ("bwrap", {"processes": 40.5}, "processes must be a whole number (got 40.5)"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(
    stated: str | None, limits: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError) as error:
        sandbox_of(stated, Limits.of_options(limits))
    assert said in str(error.value)


def test_offline_makes_no_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Ran]) -> None:
    program(tmp_path / "bwrap", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("MM_EVAL_SANDBOX", str(tmp_path / "none"))
    ran = cli("sandbox", "make", "--offline")
    assert ran.code == 2 and "Make it first: mm-eval sandbox make." in ran.err


def test_where_bubblewrap_can_make_no_namespaces_its_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bwrap", "echo 'bwrap: No permissions to create new namespace' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # a user without rights can't enter the test's folder
    walls._help.cache_clear()
    with pytest.raises(SandboxError, match="can't be started: bwrap: No permissions to create new namespace"):
        Interpreter(Sandbox("bwrap", Limits(), Environment(tmp_path, {}))).wait_until_ready()
    walls._help.cache_clear()


def test_a_container_has_no_network_no_rights_and_the_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "docker", "echo sha256:abc")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    sandbox = sandbox_of("docker:mine:1", Limits(memory=1024, processes=50, files=100))
    words = " ".join(sandbox.start().command)
    for each in ("--network none", "--read-only", "--cap-drop ALL", "--pids-limit 50", "--user 65534:65534"):
        assert each in words
    assert "size=100m" in words and " sha256:abc -s -P -c " in words
    assert sandbox.to_json()["image_digest"] == "sha256:abc"


def test_the_digest_says_what_decides_a_result(tmp_path: Path) -> None:
    made = Environment(tmp_path, packages())
    plain, other = Sandbox("bwrap", Limits(), made), Sandbox("bwrap", Limits(seconds=30), made)
    assert plain.digest == Sandbox("bwrap", Limits(), Environment(tmp_path / "b", {})).digest != other.digest
    assert Sandbox("none", Limits(), made).digest != plain.digest and Sandbox("none").is_bare


def test_every_package_is_pinned() -> None:
    found = packages()
    for name in ("numpy", "scipy", "sympy", "pillow", "opencv-python-headless", "scikit-image", "matplotlib", "pandas"):
        assert found[name]
    assert {"networkx", "ipykernel", "jupyter_client"} <= found.keys()
