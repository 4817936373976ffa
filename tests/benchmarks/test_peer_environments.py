"""In the environments of the peers, what computes has the versions that CI tests."""

import runpy
import site
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def made() -> dict:
    return runpy.run_path(str(ROOT / "benchmarks" / "peer_environments.py"))


def test_what_computes_has_the_versions_that_ci_tests(made: dict) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert set(made["_constraints"]()) == {line for line in lines if line.partition("==")[0] in made["SAME"]}
    assert {line.partition("==")[0] for line in made["_constraints"]()} == set(made["SAME"])


def test_an_environment_that_has_all_peers_is_taken_as_it_is(made: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MM_EVAL_PEERS_PYTHON", "/somewhere/bin/python")
    assert made["environment"](made["INSPECT"]) == made["environment"](made["LM_EVAL"]) == Path("/somewhere/bin/python")


def test_an_environment_sees_the_packages_of_this_one(
    made: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch, which is large, is not installed again. Here nothing is installed at all."""
    commands = []

    def run(command: list, **options: object) -> subprocess.CompletedProcess:
        commands.append(command)
        if "venv" in command:
            (Path(command[-1]) / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        return subprocess.CompletedProcess(command, 0)

    scope = made["environment"].__globals__
    monkeypatch.setitem(scope, "SCRATCH", tmp_path)
    monkeypatch.setattr(scope["subprocess"], "run", run)
    made["environment"](made["LM_EVAL"])
    [beside] = tmp_path.glob("peers/lm-eval/lib/python3.11/site-packages/beside.pth")
    assert set(beside.read_text().splitlines()) == set(site.getsitepackages())
    assert "lm-eval==0.4.13" in commands[1] and "-c" in commands[1]
    assert made["installed"](made["LM_EVAL"]) == tmp_path / "peers" / "lm-eval" / "bin" / "python"
