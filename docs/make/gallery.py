"""Writes the gallery of the documentation: a release page, a run's page and a comparison, from runs of the bundled models.

python docs/make/gallery.py FOLDER

The documentation's own build calls it (docs/make/hooks.py), so that the pages that are shown are those of this version.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TASKS = "mme,seedbench,mmstar,ai2d,chartqa,ocrbench"
MODELS = ("tiny-llava", "tiny-qwen2-vl")
TITLE = "Two tiny models on sample data"


def write_gallery(folder: Path) -> None:
    """Fills a new folder: release/index.html with the pages of its runs, and compare.html."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        for model in MODELS:
            mm_eval(scratch, "--tasks", TASKS, "--model", model, "--limit", "60", "--output_path", f"runs/{model}")
        runs = [f"runs/{model}" for model in MODELS]
        mm_eval(scratch, "report", *runs, "--title", TITLE, "--site", str(folder / "release"))
        mm_eval(scratch, "compare", *runs, "--html", str(folder / "compare.html"))


def mm_eval(folder: str, *words: str) -> None:
    """Runs a command in a folder. Raises CalledProcessError with what it printed."""
    command = [sys.executable, "-m", "mm_eval", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    write_gallery(Path(sys.argv[1]).resolve())
