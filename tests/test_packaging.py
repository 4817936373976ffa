"""The wheel: built, installed in an empty environment outside the checkout, and run from there."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from mm_eval.package import commit_of
from tests.processes import HANGS

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment that holds the wheel; dependencies come from this environment by path."""
    venv = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = venv / "lib" / version / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--no-deps",
        "--no-index",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return venv / "bin"


def run(installed: Path, cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(installed / "python"), "-m", "mm_eval", *arguments]
    return subprocess.run(command, cwd=cwd, env=alone(), capture_output=True, text=True, timeout=HANGS)


def alone() -> dict[str, str]:
    """The environment without PYTHONPATH, in which xdist, or whoever runs the tests, may name the checkout."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_the_commit_of_a_checkout_is_read_from_its_files(tmp_path: Path) -> None:
    """Without git: a branch, a packed one, a detached head, a worktree, a branch without a commit, an odd file, no checkout."""
    commit, other = "0123456789abcdef" * 2 + "01234567", "f" * 64
    git = tmp_path / "top" / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert commit_of(tmp_path / "top") is None and commit_of(tmp_path) is None
    (git / "packed-refs").write_text(
        f"# pack-refs with: peeled\n{other} refs/heads/not/main\n{commit} refs/heads/main\n"
    )
    assert commit_of(tmp_path / "top") == commit
    (git / "refs" / "heads" / "main").write_text(f"{other}\n")
    assert commit_of(tmp_path / "top") == other
    mine = git / "worktrees" / "mine"
    mine.mkdir(parents=True)
    (mine / "commondir").write_text("../..\n")
    for name, named in (("absolute", mine), ("relative", Path("..", "top", ".git", "worktrees", "mine"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / ".git").write_text(f"gitdir: {named}\n")
        (mine / "HEAD").write_text("ref: refs/heads/main\n")
        assert commit_of(tmp_path / name) == other
        (mine / "HEAD").write_text(f"{commit}\n")
        assert commit_of(tmp_path / name) == commit
    (git / "HEAD").write_bytes(b"\xff\xfe")
    assert commit_of(tmp_path / "top") is None


def test_the_wheel_takes_one_name_and_ships_what_a_run_needs(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"mm_eval"}
    for needed in (
        "mm_eval/tasks/mme/mme.yaml",
        "mm_eval/tasks/mme/utils.py",
        "mm_eval/models/hf/adapter.py",
        "mm_eval/models/hf/prompts/prompt.py",
        "mm_eval/models/openai/client/http.py",
        "mm_eval/assets/data/lmms-lab/MME/README.md",
    ):
        assert needed in names
    assert not [name for name in names if name.startswith("mm_eval/assets/make")]
    assert not [name for name in names if "/tests/" in name or name.startswith("tests")]


@pytest.mark.full
def test_it_runs_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = run(installed, tmp_path, "ls", "tasks")
    assert where.returncode == 0 and "mme" in where.stdout, where.stderr
    command = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "6", "--output_path", "out"]
    done = run(installed, tmp_path, *command)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert results["results"]["mme"]["n"] == 6
    shown = subprocess.run(
        [str(installed / "python"), "-c", "import mm_eval; print(mm_eval.__file__)"],
        cwd=tmp_path,
        env=alone(),
        capture_output=True,
        text=True,
    )
    assert str(installed.parent) in shown.stdout, "the checkout must not be what runs"
