"""The models of a release in processes of their own: equal results, failures that stay with their model, interrupts, kills."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.folders import results_of
from tests.processes import HANGS
from tests.verbs.report.release.conftest import calls, slow, wait_for

Start = Callable[..., "subprocess.Popen[str]"]


def ended(child: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = child.communicate(timeout=HANGS)
    return child.returncode, out, err


def table(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("|")]


def drivers_of(child: "subprocess.Popen[str]") -> list[int]:
    """The process ids of a release's drivers."""
    return [int(pid) for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(")")[-1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.full
def test_results_and_table_are_those_of_one_after_the_other(start: Start, cli, tmp_path: Path) -> None:
    models = [{"model": "dummy", "name": name, "seed": seed} for seed, name in enumerate("ABC")]
    code, out, err = ended(start(models, "--parallel", "2", output_path=str(tmp_path / "beside")))
    assert code == 0, err
    content = json.loads((tmp_path / "release.yaml").read_text())
    (tmp_path / "turn.yaml").write_text(json.dumps({**content, "output_path": str(tmp_path / "turn")}))
    in_turn = cli("run", "--config", tmp_path / "turn.yaml")
    assert in_turn.code == 0 and table(out) == table(in_turn.out) and len(table(out)) > 2
    for name in "ABC":
        assert results_of(tmp_path / "beside" / name) == results_of(tmp_path / "turn" / name)
    assert (tmp_path / "beside" / "release.html").exists()


@pytest.mark.full
def test_a_model_whose_process_dies_hinders_no_other_and_goes_on_later(start: Start, tmp_path: Path) -> None:
    models = [slow("dies", tmp_path, dies=10, seconds=0.2), slow("fails", tmp_path, fails=3), slow("whole", tmp_path)]
    code, out, err = ended(start(models, parallel=3))
    assert code == 3, err
    assert table(out)[0] == "| benchmark | dies | fails | whole |"
    [reason] = [line for line in out.splitlines() if line.startswith("dies has no scores: ")]
    assert "killed by SIGKILL" in reason
    assert "fails: Failed: mme doc" in err, "what a model logs is shown with its name"
    assert len(calls(tmp_path, "whole")) == 40
    code, out, err = ended(start([slow("dies", tmp_path), *models[1:]], parallel=3))
    assert code == 0 and "has no scores" not in out, err
    assert 40 <= len(calls(tmp_path, "dies")) < 50, "what was recorded is not requested again"
    assert len(calls(tmp_path, "whole")) == 40 and len(calls(tmp_path, "fails")) == 41


@pytest.mark.full
def test_ctrl_c_ends_all_with_130_and_the_same_command_goes_on(start: Start, tmp_path: Path) -> None:
    names = ("A", "B", "C")
    models = [slow(name, tmp_path, seconds=0.3) for name in names]
    child = start(models, "--parallel", "2")
    wait_for(lambda: calls(tmp_path, "A") and calls(tmp_path, "B"))
    drivers = drivers_of(child)
    child.send_signal(signal.SIGINT)
    code, out, err = ended(child)
    assert code == 130, err
    assert len(drivers) == 2 and not any(map(is_alive, drivers))
    assert err.count("Stopping: ") == 1 and "Traceback" not in err and "C has no scores: it was not run" in out
    assert not calls(tmp_path, "C")
    before = {name: len(calls(tmp_path, name)) for name in names}
    assert all(0 < before[name] < 40 for name in "AB")
    code, _, err = ended(start([slow(name, tmp_path) for name in names], parallel=3))
    assert code == 0, err
    for name in names:  # what was in flight was recorded
        assert sorted(calls(tmp_path, name)) == sorted(set(calls(tmp_path, name))) and len(calls(tmp_path, name)) == 40


@pytest.mark.full
def test_drivers_end_when_the_release_is_killed(start: Start, tmp_path: Path) -> None:
    child = start([slow(name, tmp_path, seconds=0.3) for name in "AB"], parallel=2)
    wait_for(lambda: calls(tmp_path, "A") and calls(tmp_path, "B"))
    drivers = drivers_of(child)
    os.kill(child.pid, signal.SIGKILL)
    child.communicate(timeout=HANGS)
    wait_for(lambda: not any(map(is_alive, drivers)), 30)
    assert all(len(calls(tmp_path, name)) < 40 for name in "AB")


@pytest.mark.slow
def test_a_second_interrupt_ends_drivers_that_do_not_answer(start: Start, tmp_path: Path) -> None:
    child = start([slow(name, tmp_path, seconds=3600) for name in "AB"], parallel=2)
    wait_for(lambda: calls(tmp_path, "A") and calls(tmp_path, "B"))
    drivers = drivers_of(child)
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        time.sleep(1)
    code, _, err = ended(child)
    assert code == 130 and not any(map(is_alive, drivers)), err


@pytest.mark.full
def test_only_runs_the_named_models_and_the_page_shows_the_others(cli, tmp_path: Path) -> None:
    models = "".join(f"  - {{model: dummy, name: {name}, seed: {seed}}}\n" for seed, name in enumerate("ABC"))
    path = tmp_path / "release.yaml"
    path.write_text(
        f"output_path: {tmp_path / 'out'}\ntasks: [mme]\nsample: true\nlimit: 4\nno_report: true\nmodels:\n{models}"
    )
    wrong = cli("run", "--config", path, "--only", "AA")
    assert wrong.code == 2 and "--only" in wrong.err and "no model called 'AA'" in wrong.err
    first = cli("run", "--config", path, "--only", "B")
    assert first.code == 0 and not (tmp_path / "out" / "A").exists()
    assert "A has no scores: --only left it out" in first.out
    both = cli("run", "--config", path, "--only", "A,C", "--only", "A")
    assert both.code == 0 and "has no scores" not in both.out
    assert both.out.splitlines().count(f"B: {tmp_path / 'out' / 'B'}") == 0, "B is shown and not run"
    assert table(both.out)[0] == "| benchmark | A | B | C |"


def test_options_of_a_release_need_one(cli, monkeypatch) -> None:
    for option in (("--only", "A"), ("--parallel", "2")):
        done = cli("--tasks", "mme", "--model", "dummy", *option)
        assert done.code == 2 and option[0] in done.err and "--config" in done.err


def test_torchrun_and_side_by_side_exclude_each_other(cli, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "release.yaml"
    path.write_text(
        "tasks: [mme]\nsample: true\nparallel: 2\nmodels: [{model: dummy, name: A}, {model: dummy, name: B}]\n"
    )
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = cli("run", "--config", path)
    assert done.code == 2 and "can't be combined" in done.err
