"""lmms-eval's habits are imitated only where a task needs them, in a process of its own."""

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.config.functions import FunctionRef
from mm_eval.foreign_code.remote import RemoteFunction
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.scoring.metrics.metric import aggregation_named
from mm_eval.values.errors import ScoringError

SCORES = """
import sys
from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.scoring.of_task import scorers_of
for task in TaskManager(include_path=sys.argv[1], include_defaults=False).load(sys.argv[2]).tasks.values():
    scorers_of(task.resolved(FOREIGN_CODE))
parts = ("class_tasks", "remote", "process", "wire", "rows", "child")
print(*(part for part in parts if f"mm_eval.foreign_code.{part}" in sys.modules))
"""
TEXT = "dataset_path: d\ntest_split: test\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: [{metric: exact_match}]\n"


@pytest.mark.parametrize(
    ("more", "code", "loaded"),
    [
        ("", "", ""),
        ("doc_to_visual: image\n", "", ""),
        ("process_results: !function utils.f\n", "", ""),
        ("process_results: !function utils.f\n", "import time\n", "remote process wire rows"),
    ],
)
def test_a_task_without_such_habits_does_not_load_them(tmp_path: Path, more: str, code: str, loaded: str) -> None:
    (tmp_path / "utils.py").write_text(f"{code}def f(doc, results): return {{'exact_match': 1.0}}\n")
    (tmp_path / "t.yaml").write_text(f"task: t\n{TEXT}{more}")
    command = [sys.executable, "-c", SCORES, str(tmp_path), "t"]
    root = Path(__file__).parents[2]
    assert subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.strip() == loaded


@pytest.fixture
def load(tmp_path: Path) -> Callable[[str, str], Any]:
    def loaded(text: str, name: str) -> Any:
        (tmp_path / "utils.py").write_text(text)
        function = FunctionRef(f"utils.{name}", tmp_path / "t.yaml", 1).resolve(FOREIGN_CODE)
        assert isinstance(function, RemoteFunction)
        return function

    return loaded


POSTS = """
import socket
def posts(doc):
    try:
        socket.create_connection(("judge.example", 443))
    except Exception:
        return "a task's own code, which would turn a failure into a verdict"
def numeric(doc):
    try:
        socket.create_connection(("192.0.2.1", 443))
    except Exception:
        return 0
def waits(doc):
    return doc["x"]
"""


def test_a_judge_is_an_error_that_the_functions_own_except_does_not_hide(load: Any) -> None:
    before = socket.getaddrinfo
    for name, host in (("posts", "judge.example"), ("numeric", r"192\.0\.2\.1")):
        with pytest.raises(ScoringError, match=f"calls {host} by itself"):
            load(POSTS, name)({})
    assert socket.getaddrinfo is before
    assert load(POSTS, "waits")({"x": 3}) == 3, "the process goes on"


COUNTED = """
import subprocess
import sys

TOTALS = {"docs": 0}

def counted(values):
    TOTALS["docs"] += len(values)
    return TOTALS["docs"]

def starts(values):
    subprocess.run([sys.executable, "-c", ""], check=True)
    return 1.0
"""


def test_each_call_of_an_aggregation_looks_like_the_first_one(load: Any) -> None:
    once = aggregation_named(load(COUNTED, "counted"))
    assert [once([1.0, 2.0]), once([1.0, 2.0])] == [2, 2]
    program, before = aggregation_named(load(COUNTED, "starts")), subprocess.Popen
    assert program([1.0]) == 1.0
    with pytest.raises(ScoringError, match="it starts a program"):
        program([1.0])
    assert subprocess.Popen is before
