"""Ten questions that code answers: full marks with `@python`, none without, and no answer lost where a run is killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.engine.journal import read_journal
from mm_eval.values.errors import ConfigError
from tests.sandbox.there import sandbox
from tests.tools.drawn import DOCS, Coder, write
from tests.tools.scripted import rows_of

pytestmark = pytest.mark.full  # one start of a sandbox in the default set: tests/tools/test_python.py
TURNS = {(n, turn) for n, (_, _, codes) in enumerate(DOCS.values()) for turn in range(len(codes) + 1)}
"""All requests of the ten documents with python."""


def ask(task: str, folder: Path, model: Coder, **more: Any) -> Any:
    return evaluate(model=model, tasks=[f"{task}@python"], output_path=str(folder), report=False, **more)


def scores(folder: Path, name: str) -> list[float]:
    return [row["scores"]["exact_match,none"] for row in rows_of(folder, name)]


def test_code_solves_all_ten_and_a_guess_none(tmp_path: Path) -> None:
    sandbox()
    task, model = write(tmp_path / "task"), Coder()
    tasks = [task, f"{task}@python"]
    results = evaluate(model=model, tasks=tasks, output_path=str(tmp_path / "run"), report=False)
    assert results.exit_code == 0
    assert scores(tmp_path / "run", "drawn") == [0.0] * 10
    rows = rows_of(tmp_path / "run", "drawn@python")
    assert [(row["scores"]["exact_match,none"], row["tools"]["failed"]) for row in rows] == [(1.0, 0)] * 10, rows
    assert all(row["tools"]["code"]["opened"] for row in rows)


LAUNCH = """
import sys
from pathlib import Path
from tests.tools.drawn import Coder
from tests.tools.test_drawn import ask
ask(sys.argv[1], Path(sys.argv[2]), Coder("import time; time.sleep(0.3)\\n"))
"""


def test_killed_in_the_middle_it_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    sandbox()
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen([sys.executable, "-c", LAUNCH, task, str(folder)], env=environment)
    until = time.monotonic() + 120
    while time.monotonic() < until and _recorded(folder) < 4 and child.poll() is None:
        time.sleep(0.02)
    assert child.poll() is None, "the run has ended before it was killed"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    state = read_journal(folder)
    answered = {(slot.doc_id, slot.turn) for slot in state.slots}
    assert 0 < len(answered) < len(TURNS) and state.tools
    model = Coder("import time; time.sleep(0.3)\n")
    assert ask(task, folder, model).exit_code == 0
    assert len(model.asked) == len(set(model.asked)) and set(model.asked) == TURNS - answered
    assert scores(folder, "drawn@python") == [1.0] * 10
    after = read_journal(folder).tools
    assert all(after[key].text == record.text for key, record in state.tools.items())


def _recorded(folder: Path) -> int:
    """How many calls the journal holds."""
    return sum(file.read_text().count('"kind":"tool"') for file in folder.glob("journal/*.jsonl"))


def test_a_limit_asks_no_more_and_is_part_of_what_the_run_is(tmp_path: Path) -> None:
    sandbox()
    task, folder, model = write(tmp_path / "task"), tmp_path / "run", Coder()
    ask(task, folder, model, limit=2)
    assert {doc for doc, _ in model.asked} == {0, 1} and scores(folder, "drawn@python") == [1.0, 1.0]
    other = Coder()
    with pytest.raises(ConfigError, match="limit"):
        ask(task, folder, other, limit=1)
    assert other.asked == []


def test_a_sandbox_with_other_versions_is_refused_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox()
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    ask(task, folder, Coder(), limit=1)
    monkeypatch.setattr("mm_eval.sandbox.walls.packages_digest", lambda: "another")
    model = Coder()
    with pytest.raises(ConfigError) as error:
        ask(task, folder, model, limit=1)
    assert model.asked == []
    assert re.search(r"sandbox.*another", str(error.value)), error.value
