"""The virtual environments of the peers, lm-eval and lmms-eval: made from PyPI at the first call, below the scratch folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LM_EVAL, LMMS_EVAL = "lm-eval==0.4.13", "lmms-eval==0.7.3"

ROOT = Path(__file__).parent.parent
SCRATCH = Path(os.environ.get("MM_EVAL_BENCHMARKS", Path(tempfile.gettempdir()) / "mm-eval-benchmarks"))


def installed(requirement: str) -> Path | None:
    """The Python of this peer's environment; None where it has not been made."""
    folder = SCRATCH / "peers" / requirement.partition("=")[0]
    return folder / "bin" / "python" if (folder / "complete").exists() else None


def environment(requirement: str) -> Path:
    """The Python of a virtual environment with this peer in it, with the versions of constraints.txt where it allows them."""
    if found := installed(requirement):
        return found
    folder = SCRATCH / "peers" / requirement.partition("=")[0]
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*install, "torch", requirement], check=True)
    if subprocess.run([str(python), "-c", "import torchvision"], capture_output=True).returncode:
        # PyPI's is for CUDA: beside a CPU's torch it can't be imported, and transformers stops at it where it is there.
        subprocess.run([str(python), "-m", "pip", "uninstall", "-q", "-y", "torchvision"], check=True)
    (folder / "complete").touch()
    return python
