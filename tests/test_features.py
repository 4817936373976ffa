"""A feature is one folder: where it is deleted, the rest of the suite works as before."""

import argparse
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import mm_eval.features
from mm_eval.cli.options import add_options
from mm_eval.values.errors import ConfigError
from mm_eval.values.features import Brought, Option, features, statements
from tests.conftest import ROOT
from tests.sets import few

FEATURES = sorted(found.name for found in pkgutil.iter_modules(mm_eval.features.__path__))
"""The judge reaches furthest into a run. The others are deleted in the full set."""
OTHERS = ("tests/scoring/scorers/test_own_scorers.py", "tests/engine/test_journal.py")
"""Tests of what every run needs, which name no feature."""
RUN = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "4", "--output_path", "run"]
SCRIPT = f"""
import sys
from pathlib import Path
from types import ModuleType
import mm_eval
from mm_eval.cli import VERBS, main
assert Path(mm_eval.__file__).is_relative_to(Path.cwd()), mm_eval.__file__
for words in (["--help"], ["run", "--help"], ["ls"], ["ls", "tasks", "mme"], {RUN}, ["score", "run"]):
    if words[0] == "ls" and "ls" not in VERBS:
        continue
    try:
        code = main(words)
    except SystemExit as end:
        code = end.code
    assert not code, (words, code)
"""


def without(feature: str, folder: Path) -> Path:
    """A copy of the tree without a feature; with what Python has compiled, which is valid there too."""
    for name in ("mm_eval", "models", "tasks"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("assets", "tests", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    shutil.rmtree(folder / "mm_eval" / "features" / feature)
    return folder


def python(folder: Path, *words: str) -> None:
    """Runs Python on the modules of a folder."""
    paths = {"PYTHONPATH": str(folder), "MM_EVAL_CACHE": str(folder / "cache")}
    ran = subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, **paths}, capture_output=True, text=True
    )
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-4000:]


def numbers(folder: Path) -> dict[str, object]:
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return {key: value for key, value in results.items() if key != "run"}


@pytest.mark.parametrize("feature", few(FEATURES, "judge"))
def test_without_a_feature_the_rest_runs_and_gives_the_same_numbers(feature: str, tmp_path: Path, cli) -> None:
    folder = without(feature, tmp_path / "copy")
    python(folder, "-c", SCRIPT)
    whole = cli(*RUN[:-1], tmp_path / "whole")
    assert numbers(folder / "run") == numbers(whole.folder)


@pytest.mark.full
@pytest.mark.parametrize("feature", FEATURES)
def test_without_a_feature_other_tests_pass(feature: str, tmp_path: Path) -> None:
    python(without(feature, tmp_path / "copy"), "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *OTHERS)


def test_no_two_features_bring_one_name() -> None:
    for kind in {name for feature in features() for name in vars(feature) if name.isupper()} - {"RESULT_KEYS"}:
        if all(isinstance(getattr(feature, kind, {}), dict) for feature in features()):
            assert len(statements(kind)) == sum(len(getattr(feature, kind, {})) for feature in features()), kind


def test_two_features_that_bring_one_name_are_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [ModuleType(f"mm_eval.features.{name}") for name in ("one", "two")]
    for module in made:
        module.EXPORTS = {"inspect": "writers:inspect"}  # type: ignore[attr-defined]
    monkeypatch.setattr("mm_eval.values.features.features", lambda: made)
    with pytest.raises(ConfigError, match=r"'inspect' of EXPORTS: mm_eval.features.one and mm_eval.features.two"):
        Brought("EXPORTS")


@pytest.mark.parametrize(
    ("kind", "name", "importing"),
    [("VERBS", "score", "mm_eval.cli"), ("TASK_KEYS", "repeats", "mm_eval.config.task_config")],
)
def test_a_feature_with_a_name_of_the_core_is_an_error_at_import(kind: str, name: str, importing: str) -> None:
    code = (
        f"import mm_eval.features.show as feature; feature.{kind} = {{{name!r}: ('verb', 'help')}}; import {importing}"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode and f"two parts bring the same name {name!r} of {kind}: the core and" in ran.stderr


def test_a_feature_with_an_option_that_there_is_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    brought = {"one": ("mm_eval.features.one", (("run",), Option("limit", "N", "")))}
    monkeypatch.setattr("mm_eval.cli.options.by_feature", lambda kind: brought)
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit")
    with pytest.raises(ConfigError, match=r"mm_eval.features.one brings an option of `mm-eval run` .*--limit"):
        add_options(parser, "run")
