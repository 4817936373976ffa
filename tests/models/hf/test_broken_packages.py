"""Packages beside torch that are installed and can't be imported, as PyPI's torchvision beside a CPU build of torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from mm_eval.models.hf.processor import naming

from mm_eval.values.errors import ConfigError

OPERATOR = 'raise RuntimeError("operator torchvision::nms does not exist")'
LIBRARY = 'raise OSError("libcudart.so.13: cannot open shared object file")'
FAILS = {
    "torchvision operator": OPERATOR,
    "torchvision library": LIBRARY,
    "torchvision circular": "raise AttributeError(\"partially initialized module 'torchvision' has no attribute 'extension'\")",
    "torchaudio library": LIBRARY,
    "torchcodec runtime": 'raise RuntimeError("Could not load libtorchcodec")',
    "soundfile library": 'raise OSError("sndfile library not found")',
    "soxr symbol": 'raise ImportError("undefined symbol: _ZN3c104cuda9SetDeviceE")',
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            kind, marks=pytest.mark.full if kind in ("torchvision operator", "soxr symbol") else pytest.mark.slow
        )
        for kind in FAILS
    ],
)
def test_a_run_says_so_once_and_goes_on_without_it(tmp_path: Path, kind: str) -> None:
    name = kind.split()[0]
    package = tmp_path / "first" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAILS[kind])
    (package / "transforms").mkdir()
    (package / "transforms" / "__init__.py").write_text("")
    about = tmp_path / "first" / f"{name}-0.28.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.28.0\n")
    run = ["mme,egoschema_subset", "--model", "tiny-qwen2-vl", "--sample", "--limit", "1", "--output_path", "run"]
    done = subprocess.run(
        [sys.executable, "-c", "from mm_eval.cli import main; raise SystemExit(main())", "--tasks", *run],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(package.parent), str(Path(__file__).parents[3])])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-3000:]
    assert "Traceback" not in said
    assert said.count(f"{name} is installed but can't be imported") == 1
    assert (tmp_path / "run" / "results.json").exists()


def test_another_package_is_named_and_not_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels built for another torch fail deep inside of what loads the weights."""
    (tmp_path / "odd_kernels").mkdir()
    (tmp_path / "odd_kernels" / "__init__.py").write_text("from . import inner\n")
    (tmp_path / "odd_kernels" / "inner.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(ConfigError, match="The package odd_kernels can't be imported here") as caught,
        naming("m", "weights"),
    ):
        try:
            __import__("odd_kernels")
        except OSError as error:
            raise RuntimeError("Failed to import transformers.models.m because of the following error") from error
    assert "damaged" not in str(caught.value)
    with pytest.raises(ConfigError, match="damaged"), naming("m", "weights"):
        raise OSError("Unable to open the file")
