"""The virtual environments of the peers, lm-eval, lmms-eval, inspect_ai, evalscope and VLMEvalKit: made from
PyPI at the first call, below the scratch folder.

VLMEvalKit is not on PyPI: MM_EVAL_VLMEVALKIT names a checkout of it, whose packages are installed.

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
EVALSCOPE = "evalscope==1.14.1"
VLMEVALKIT = "VLMEvalKit"

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = Path(os.environ.get("MM_EVAL_BENCHMARKS", Path(tempfile.gettempdir()) / "mm-eval-benchmarks"))

BESIDE = {
    LM_EVAL: ("accelerate", "aiohttp", "pillow", "requests", "tenacity", "tiktoken", "transformers"),
    LMMS_EVAL: ("decord", "torchvision"),
    INSPECT: ("openai",),
    EVALSCOPE: ("soundfile",),
    VLMEVALKIT: (
        "decord", "imageio", "jieba", "joblib", "json_repair", "Levenshtein", "math_verify", "nltk", "num2words", "openai",
        "opencv-python-headless", "openpyxl", "pylatexenc", "qwen_vl_utils", "rouge", "rouge_score", "scikit-learn", "sty",
        "termcolor", "timeout_decorator", "torchvision", "validators", "xlsxwriter",
    ),
}  # fmt: skip
"""What each needs besides: lm-eval's own requirements name no model library, lmms-eval's adapters import decord and
torchvision, evalscope decodes sounds with soundfile, and of VLMEvalKit these are what its run.py imports.

mm-eval itself runs in these environments too (tests/peers), so that both suites use the same libraries.
"""


SAME = ("accelerate", "numpy", "pillow", "pyarrow", "safetensors", "tokenizers", "torch", "torchvision", "transformers")
"""Packages whose version of constraints.txt a peer is given too: what computes. Any other may be one that a peer excludes."""


def installed(peer: str) -> Path | None:
    """The Python of this peer's environment; None where it has not been made, or with other requirements."""
    if python := os.environ.get("MM_EVAL_PEERS_PYTHON"):
        return Path(python)
    folder = SCRATCH / "peers" / peer.partition("=")[0]
    complete = folder / "complete"
    there = complete.exists() and complete.read_text() == _requirements(peer)
    return folder / "bin" / "python" if there else None


def environment(peer: str) -> Path:
    """The Python of a virtual environment with this peer in it."""
    if found := installed(peer):
        return found
    folder = SCRATCH / "peers" / peer.partition("=")[0]
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        (own,) = folder.glob("lib/python3*/site-packages")
        (own / "beside.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
    constraints = folder / "constraints.txt"
    constraints.write_text("".join(f"{line}\n" for line in _constraints()))
    install = [str(python), "-m", "pip", "install", "-q", "-c", str(constraints)]
    subprocess.run([*install, *_requirements(peer).split()], check=True)
    (own,) = folder.glob("lib/python3*/site-packages")
    if (own / "torchvision").exists():  # PyPI's is for CUDA, and transformers stops where it can't be imported
        subprocess.run([str(python), str(ROOT / ".ci" / "torchvision.py"), str(own)], check=True)
    (folder / "complete").write_text(_requirements(peer))
    return python


def _constraints() -> list[str]:
    """The lines of constraints.txt for packages that are to be the same."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return [line for line in lines if line.partition("==")[0] in SAME]


def _requirements(peer: str) -> str:
    own = () if peer == VLMEVALKIT else (peer,)
    return " ".join(["torch", *own, *BESIDE[peer]])


def checkout() -> Path:
    """The folder of VLMEvalKit that the user names.

    Raises:
        SystemExit: it names none.
    """
    folder = Path(os.environ.get("MM_EVAL_VLMEVALKIT", ""))
    if not (folder / "run.py").is_file():
        raise SystemExit("set MM_EVAL_VLMEVALKIT to a checkout of open-compass/VLMEvalKit")
    return folder.resolve()
