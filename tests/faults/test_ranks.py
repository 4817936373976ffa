"""Ranks that die at the start end all others by their launcher; processes without such a launcher are refused."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import HANGS

HERE = Path(__file__).parent
SLOW = ("--tasks", "mme", "--sample", "--model", "slow", "--limit", "8")
ENVIRONMENT = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
ACCELERATE = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_machines", "1", "--num_processes", "2")
"""`accelerate launch` as with two GPUs."""
PLAIN = ("--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0")


def ends_all(launcher: tuple[str, ...], phase: str, folder: Path) -> None:
    """Rank 0 is killed at a phase of the start: all end, nothing is requested, and one process then does all."""
    log, run = folder / "log", ("--output_path", str(folder / "run"))
    command = [sys.executable, *launcher, str(HERE / "rank_0_dies.py"), phase, str(log), *SLOW, *run]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    _, err = child.communicate(timeout=HANGS)
    assert child.returncode != 0 and "exitcode: -9" in err, err
    assert not subprocess.run(["pgrep", "-f", str(log)], capture_output=True).stdout
    assert not log.read_text()
    script = [sys.executable, str(HERE.parent / "cli" / "slow_model.py"), str(log), *SLOW, *run]
    done = subprocess.run(script, capture_output=True, text=True, timeout=HANGS, env=ENVIRONMENT)
    assert done.returncode == 0 and len(log.read_text().splitlines()) == 8, done.stderr


@pytest.mark.full
def test_rank_0_killed_at_the_start_ends_the_others_under_torchrun(tmp_path: Path) -> None:
    ends_all(TORCHRUN, "claim", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["meeting", "data", "weights", "journal"])
def test_rank_0_killed_at_any_other_phase_of_the_start(tmp_path: Path, phase: str) -> None:
    ends_all(TORCHRUN, phase, tmp_path)


@pytest.mark.slow
def test_rank_0_killed_under_accelerate_launch(tmp_path: Path) -> None:
    ends_all((*ACCELERATE, *PLAIN), "claim", tmp_path)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}, "neither torchrun nor"),
        ({"RANK": "0", "SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, "--executor ray"),
        ({"TORCHELASTIC_USE_AGENT_STORE": "True", "LOCAL_WORLD_SIZE": "1", "RANK": "0"}, "torchrun is for one machine"),
    ],
)
def test_processes_that_nobody_ends_with_a_dead_one_are_refused(cli, monkeypatch, variables, said: str) -> None:
    from mm_eval.engine.launch import processes

    for name, value in {"WORLD_SIZE": "2", **variables}.items():
        monkeypatch.setenv(name, value)
    processes.cache_clear()
    try:
        done = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "2")
    finally:
        processes.cache_clear()
    assert done.code == 2 and said in done.err and len(done.err.splitlines()) == 1
