"""A folder of tasks that a test writes, and a catalogue of it alone."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager

TASK = """
dataset_path: org/data
test_split: test
output_type: multiple_choice
doc_to_text: question
doc_to_choice: choices
doc_to_target: answer
metric_list:
  - metric: acc
"""


@pytest.fixture(autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The index of a test is kept in a folder of its own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("MM_EVAL_CACHE", str(folder))
    return folder


@pytest.fixture
def shipped(cache_home: Path, known_tasks: Callable[[Path], str]) -> None:
    """The index has the shipped tasks already: for tests that ask for one of them."""
    known_tasks(cache_home)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """write("a.yaml", text): a file in the test's folder; `task=` puts the keys of a whole task before it."""

    def put(name: str, text: str = "", task: str | None = None) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        body = textwrap.dedent(text)
        path.write_text(f"task: {task}{TASK}{body}" if task else body, encoding="utf-8")
        return path

    return put


@pytest.fixture
def manager(tmp_path: Path) -> Callable[[], TaskManager]:
    """The catalogue of the test's folder, read when called."""
    return lambda: TaskManager(include_path=tmp_path, include_defaults=False)
