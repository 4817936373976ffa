"""The wheel: built, installed in an empty environment outside the checkout, and run from there."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

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
