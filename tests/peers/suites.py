"""Runs both suites on the same tasks and checkpoint, in the peer's environment, so that every library is the same version."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Run:
    """Some tasks on one checkpoint.

    include: the folder with task files that both read (the peer's own tasks are known to it anyway); None where mm-eval
    reads its own. options: of the peer. flags: of `mm-eval run`.
    """

    name: str
    peer: str
    checkpoint: str
    tasks: Sequence[str]
    include: Path | None
    options: Mapping[str, Any] = field(default_factory=dict)
    flags: Sequence[str] = ()


class Failed(Exception):
    """A suite that came to no result: what it printed last."""


def peer_tasks(python: Path, package: str) -> Path:
    """The folder of a peer's own task files."""
    return next((python.parent.parent / "lib").glob(f"python3*/site-packages/{package}/tasks"))


def environment_of(scratch: Path, home: str) -> dict[str, str]:
    """No network, one thread, and a cache of its own for what `datasets` makes of the files."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    return {
        **kept, "HF_HUB_OFFLINE": "1", "HF_HOME": str(scratch / home), "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }  # fmt: skip


def run_peer(run: Run, python: Path, checkpoint: Path, data: Path, out: Path) -> Path:
    """The peer's results as JSON. The working directory is the data root, where `datasets` takes org/name for a folder."""
    script = {"lm-eval": "lm_eval_run.py", "lmms-eval": "lmms_eval_run.py"}[run.peer]
    spec, result = out / f"{run.name}-spec.json", out / f"{run.name}-peer.json"
    include = str(run.include) if run.include else None
    said = {
        "checkpoint": str(checkpoint),
        "tasks": list(run.tasks),
        "include_path": include,
        "options": dict(run.options),
    }
    spec.write_text(json.dumps(said), encoding="utf-8")
    command = [str(python), str(HERE / script), str(spec), str(result)]
    call(command, data, environment_of(out, "home-peer"), out / f"{run.name}-peer.log")
    return result


def run_ours(run: Run, python: Path, checkpoint: Path, data: Path, out: Path, tasks: Sequence[str]) -> Path:
    """A run folder of mm-eval, from this checkout."""
    folder = out / f"{run.name}-ours"
    shutil.rmtree(folder, ignore_errors=True)
    command = [
        str(python), "-m", "mm_eval", "run", "--tasks", ",".join(tasks), "--data_root", str(data), "--offline",
        "--model", "hf", "--model_args", f"pretrained={checkpoint},dtype=float32", "--device", "cpu",
        "--output_path", str(folder), "--no_report", "--bootstrap_iters", "100", *run.flags,
    ]  # fmt: skip
    if run.include:
        command += ["--include_path", str(run.include)]
    environment = {**environment_of(out, "home-ours"), "PYTHONPATH": str(ROOT)}
    call(command, out, environment, out / f"{run.name}-ours.log", accepted=(0, 3))
    return folder


def call(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], log: Path, accepted: Sequence[int] = (0,)
) -> None:
    with log.open("w") as file:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT, timeout=3000)
    if done.returncode not in accepted:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise Failed(f"exit {done.returncode}: {' '.join(command)[:300]}\n{tail}\n(all of it: {log})")
