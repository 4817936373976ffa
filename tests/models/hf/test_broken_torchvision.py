"""A torchvision that is installed and can't be imported, as PyPI's beside a CPU build of torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sets import few

FAILS = {
    "operator": 'raise RuntimeError("operator torchvision::nms does not exist")',
    "library": 'raise OSError("libcudart.so.13: cannot open shared object file")',
    "circular": "raise AttributeError(\"partially initialized module 'torchvision' has no attribute 'extension'\")",
}


@pytest.mark.full
@pytest.mark.parametrize("kind", few(FAILS, "operator"))
def test_a_run_says_so_once_and_goes_on_without_it(tmp_path: Path, kind: str) -> None:
    package = tmp_path / "first" / "torchvision"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAILS[kind])
    (package / "transforms").mkdir()
    (package / "transforms" / "__init__.py").write_text("")
    about = tmp_path / "first" / "torchvision-0.28.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.28.0\n")
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
    assert said.count("torchvision is installed but can't be imported") == 1
    assert (tmp_path / "run" / "results.json").exists()
