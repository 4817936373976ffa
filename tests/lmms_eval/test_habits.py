"""lmms-eval's habits are imitated only where a task needs them, and what they replace is put back."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.features.suites.habits import as_called_once
from mm_eval.features.suites.judges import no_judge
from mm_eval.values.errors import ScoringError

SCORES = """
import sys
from mm_eval.config.manager import TaskManager
from mm_eval.scoring.of_task import scorers_of
for task in TaskManager(include_path=sys.argv[1], include_defaults=False).load(sys.argv[2]).tasks.values():
    scorers_of(task.resolved())
print("mm_eval.features.suites.habits" in sys.modules)
"""
TEXT = "dataset_path: d\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: [{metric: exact_match}]\n"


@pytest.mark.parametrize(
    ("more", "loaded"),
    [("", "False"), ("doc_to_visual: image\n", "True"), ("process_results: !function utils.f\n", "True")],
)
def test_a_task_without_such_habits_does_not_load_them(tmp_path: Path, more: str, loaded: str) -> None:
    (tmp_path / "utils.py").write_text("def f(doc, results): return {'exact_match': 1.0}\n")
    (tmp_path / "t.yaml").write_text(f"task: t\n{TEXT}{more}")
    command = [sys.executable, "-c", SCORES, str(tmp_path), "t"]
    root = Path(__file__).parents[2]
    assert subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.strip() == loaded


def test_a_judge_is_an_error_that_the_functions_own_except_does_not_hide() -> None:
    before = socket.getaddrinfo
    with pytest.raises(ScoringError, match="calls judge.example by itself"), no_judge():
        try:
            socket.create_connection(("judge.example", 443))
        except Exception:  # a task's own code, which would turn a failure into a verdict
            pytest.fail("the function went on without its judge")
    assert socket.getaddrinfo is before


TOTALS = {"docs": 0}


def counted(values: list[float]) -> float:
    TOTALS["docs"] += len(values)
    return TOTALS["docs"]


def starts(values: list[float]) -> float:
    subprocess.run([sys.executable, "-c", ""], check=True)
    return 1.0


def test_each_call_of_an_aggregation_looks_like_the_first_one() -> None:
    once: Callable[[list[float]], float] = as_called_once(counted)
    assert [once([1.0, 2.0]), once([1.0, 2.0])] == [2, 2] and TOTALS == {"docs": 0}
    program, before = as_called_once(starts), subprocess.Popen
    assert program([1.0]) == 1.0
    with pytest.raises(ScoringError, match="it starts a program"):
        program([1.0])
    assert subprocess.Popen is before
