"""The virtual environments of the peers, lm-eval, lmms-eval and inspect_ai: made from PyPI at the first call, below the scratch
folder.

An environment sees the packages of this one, so that torch is not installed again and both use the same libraries; what the peer
needs besides, or in another version, is installed before them. MM_EVAL_PEERS_PYTHON names the Python of an environment that has
all peers already.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import tempfile
from pathlib import Path

LM_EVAL, LMMS_EVAL, INSPECT = "lm-eval==0.4.13", "lmms-eval==0.7.3", "inspect_ai==0.3.285"

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = Path(os.environ.get("MM_EVAL_BENCHMARKS", Path(tempfile.gettempdir()) / "mm-eval-benchmarks"))

BESIDE = {
    LM_EVAL: ("accelerate", "pillow", "transformers"),
    LMMS_EVAL: ("decord",),
    INSPECT: (),
}
"""What each needs besides: lm-eval's own requirements name no model library, and lmms-eval's adapters import decord.

mm-eval itself runs in these environments too (tests/peers), so that both suites use the same libraries.
"""


FREE = {LMMS_EVAL: ("av", "protobuf")}
"""Packages of constraints.txt whose version a peer can't have: lmms-eval 0.7.3 wants av < 16, and its wandb protobuf < 7."""


def installed(peer: str) -> Path | None:
    """The Python of this peer's environment; None where it has not been made, or with other requirements."""
    if python := os.environ.get("MM_EVAL_PEERS_PYTHON"):
        return Path(python)
    folder = SCRATCH / "peers" / peer.partition("=")[0]
    complete = folder / "complete"
    there = complete.exists() and complete.read_text() == _requirements(peer)
    return folder / "bin" / "python" if there else None


def environment(peer: str) -> Path:
    """The Python of a virtual environment with this peer in it, with the versions of constraints.txt where it allows them."""
    if found := installed(peer):
        return found
    folder = SCRATCH / "peers" / peer.partition("=")[0]
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        (own,) = folder.glob("lib/python3*/site-packages")
        (own / "beside.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{line}\n" for line in _constraints(peer)))
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(constraints)]
    subprocess.run([*install, *_requirements(peer).split()], check=True)
    if subprocess.run([str(python), "-c", "import torchvision"], capture_output=True).returncode:
        # PyPI's is for CUDA: beside a CPU's torch it can't be imported, and transformers stops at it where it is there.
        subprocess.run([str(python), "-m", "pip", "uninstall", "-q", "-y", "torchvision"], check=True)
    (folder / "complete").write_text(_requirements(peer))
    return python


def _constraints(peer: str) -> list[str]:
    """The lines of constraints.txt that this peer can keep."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line.partition("==")[0] not in FREE.get(peer, ())]


def _requirements(peer: str) -> str:
    return " ".join(["torch", peer, *BESIDE[peer]])
