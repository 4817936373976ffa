"""The examples run as their README says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mm_eval.cli import main
from tests.docs.test_code_blocks import with_command

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"


def test_the_task_is_valid_and_its_metric_counts(tmp_path: Path, capsys) -> None:
    assert main(["validate", "colours", "--include_path", str(EXAMPLES / "tasks")]) == 0
    command = [sys.executable, str(EXAMPLES / "model.py"), "--tasks", "colours", "--include_path", "examples/tasks"]
    words = ["--model", "average_colour", "--output_path", str(tmp_path / "run")]
    done = subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    row = json.loads((tmp_path / "run" / "results.json").read_text())["results"]["colours"]
    assert row["names_the_colour,none"] == 1.0 and row["n"] == 3


@pytest.mark.full
def test_the_cells_of_the_notebook_run(tmp_path: Path) -> None:
    cells = json.loads((EXAMPLES / "results.ipynb").read_text())["cells"]
    program = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    environment = with_command(tmp_path / "bin")
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.full
def test_the_training_prints_a_number_for_each_evaluation(tmp_path: Path) -> None:
    words = [sys.executable, str(EXAMPLES / "training.py"), str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines() if line.startswith("step")] == ["step 2", "step 4"]
