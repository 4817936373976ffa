"""A command imports what it needs: the help no option's rule, a listing no distribution's metadata, an error no `datasets`."""

import subprocess
import sys
from pathlib import Path

import pytest

from mm_eval.data.data_files import may_have_data_files
from mm_eval.data.source import may_be_cached
from mm_eval.values.registry import _declares_ours

COMMANDS = """
import contextlib, io, sys
from mm_eval.cli import main
quiet = contextlib.redirect_stdout(io.StringIO())
def loaded(*names):
    return sorted(name for name in names if name in sys.modules)
with quiet:
    main(["--help"])
print(loaded("mm_eval.request", "importlib.metadata", "email", "inspect"))
with quiet:
    main(["ls", "tasks"])
print(loaded("importlib.metadata", "email", "yaml", "mm_eval.run", "numpy"))
for root in sys.argv[1:]:
    print(main(["--tasks", "mme", "--model", "dummy", "--offline", "--data_root", root, "--output_path", root + "/run"]))
print(loaded("datasets", "pandas", "torch"))
"""


def test_a_command_imports_what_it_needs(tmp_path: Path) -> None:
    without, empty = tmp_path / "without", tmp_path / "empty"
    without.mkdir()
    (empty / "lmms-lab/MME/data").mkdir(parents=True)
    (empty / "lmms-lab/MME/README.md").write_text("# MME\n", encoding="utf-8")
    command = [sys.executable, "-c", COMMANDS, str(without), str(empty)]
    environment = {"HF_HOME": str(tmp_path), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == ["[]", "[]", "2", "2", "[]"], done.stderr
    assert "its local cache does not contain it" in done.stderr
    assert f"there are no data files in {str(empty / 'lmms-lab/MME')!r}" in done.stderr


def test_a_plugin_of_ours_is_seen_wherever_it_may_be_installed(tmp_path: Path) -> None:
    other, ours, egg = tmp_path / "a/x-1.dist-info", tmp_path / "b/y-1.dist-info", tmp_path / "z.egg/EGG-INFO"
    for folder, text in (
        (other, "[console_scripts]\nmm-eval = mm_eval.cli:main\n"),
        (ours, "[console_scripts]\na = b:c\n[mm_eval.metrics]\nm = m:f\n"),
        (egg, "[mm_eval.tasks]\nt = t:f\n"),
    ):
        folder.mkdir(parents=True)
        (folder / "entry_points.txt").write_text(text, encoding="utf-8")
    (tmp_path / "all.zip").write_bytes(b"")
    assert not _declares_ours((str(other.parent), str(tmp_path / "missing")))
    assert _declares_ours((str(other.parent), str(ours.parent)))
    assert _declares_ours((str(egg.parent),)) and _declares_ours((str(tmp_path / "all.zip"),))


def test_a_data_set_that_some_cache_may_have_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("mm_eval.data.data_files.datasets_cache", lambda: tmp_path / "datasets")
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    assert not may_be_cached("org/MMStar")
    for folder in ("hub/datasets--org--MMStar", "datasets/org___mm_star", "own/org___mmstar"):
        (tmp_path / folder).mkdir(parents=True)
        assert may_be_cached("org/MMStar", str(tmp_path / "own"))
        (tmp_path / folder).rmdir()


def test_a_folder_whose_card_or_links_name_files_is_read(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("", encoding="utf-8")
    card = tmp_path / "README.md"
    card.write_text("---\nconfigs: []\n---\n", encoding="utf-8")
    assert not may_have_data_files(tmp_path)
    card.write_text("---\nconfigs:\n- data_files: hf://x/y.parquet\n---\n", encoding="utf-8")
    assert may_have_data_files(tmp_path)
    card.unlink()
    (tmp_path / "data").symlink_to("/nowhere/at/all")
    assert may_have_data_files(tmp_path)
