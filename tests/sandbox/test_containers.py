"""docker and podman: the command that is built, and the protocol through a program that stands in for them.

The stand-in takes podman's command, and runs what stands behind the image in bubblewrap: the supervisor, as a container does.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mm_eval.sandbox.check import check_walls
from mm_eval.sandbox.interpreter import Asked
from mm_eval.sandbox.limits import Limits
from mm_eval.sandbox.pool import Pool
from mm_eval.sandbox.walls import Sandbox, sandbox_of
from tests.conftest import Ran
from tests.sandbox.test_walls import program
from tests.sandbox.there import sandbox

pytestmark = pytest.mark.full


@pytest.fixture
def podman(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """The sandbox of an image whose root has folders of its own, as each image has."""
    walls = sandbox()
    command = list(walls.start().command)
    words = command[: command.index("--")]
    words[words.index("--remount-ro") : words.index("--remount-ro")] = ["--dir", "/root", "--dir", "/home/user"]
    python = command[command.index("--") + 1]
    program(
        tmp_path / "podman",
        f'echo "$1 $2 $3 $4 $5" >> {tmp_path}/log\n'
        'case "$1" in image) echo sha256:abc; exit 0;; kill) exit 0;; esac\n'
        'while [ "$1" != sha256:abc ]; do shift; done\nshift\n'
        f'exec {shlex.join([*words, "--", python])} "$@"',
    )
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return sandbox_of("podman:mine", Limits())


def test_code_is_run_in_a_container_and_the_container_is_ended(podman: Sandbox, tmp_path: Path) -> None:
    with closing(Pool(podman, 0)) as pool:
        interpreter = pool.take()
        interpreter.put([("image_01.png", b"not one")])
        ran = interpreter.run(Asked("import os\nprint(os.listdir('.'))\n6 * 7", 20, 2000, 0, 64, 2))
        assert ran.ending == "ok" and "image_01.png" in ran.text and ran.text.endswith("42"), ran
        assert interpreter.run(Asked("while True: pass", 1, 2000, 0, 64, 2)).ending == "stopped"
        assert interpreter.limiter.startswith("the cgroup of podman's container")
    _, started, killed = (tmp_path / "log").read_text().splitlines()
    assert (
        started.startswith("run --rm --interactive --name mm-eval-") and killed.strip() == f"kill {started.split()[-1]}"
    )


def test_folders_of_an_image_are_no_files_of_the_user(podman: Sandbox) -> None:
    """Each image has /root and /home: they are an open wall only where they are this machine's."""
    found = {wall.name: wall for wall in check_walls(podman, limits=False)}
    assert found["no files of the user"].holds, found
    assert found["no network"].holds and found["a read-only system"].holds


def test_the_users_own_folder_inside_is_an_open_wall(podman: Sandbox, tmp_path: Path) -> None:
    if not Path("/root").exists():
        pytest.skip("this machine has no /root")
    shown = (tmp_path / "podman").read_text().replace(" --dir /root", " --ro-bind /root /root")
    (tmp_path / "podman").write_text(shown)
    (wall,) = [wall for wall in check_walls(podman, limits=False) if wall.name == "no files of the user"]
    assert not wall.holds and wall.said == "sees /root"


def test_a_container_that_does_not_start_is_said_with_another_way(
    podman: Sandbox, tmp_path: Path, cli: Callable[..., Ran]
) -> None:
    program(
        tmp_path / "podman", 'case "$1" in image) echo sha256:abc;; run) echo "Error: no runtime" >&2; exit 125;; esac'
    )
    ran = cli("sandbox", "check", "--sandbox", "podman:mine")
    assert ran.code == 2 and "can't be started: Error: no runtime. Or use bubblewrap: --sandbox bwrap." in ran.err
