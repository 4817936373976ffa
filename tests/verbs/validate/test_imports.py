"""`validate --imports`: every task of a tree is reported, whatever the files of the others do."""

from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.gold_checks import imports
from mm_eval.gold_checks.imports import check_imports

TASK = """task: {name}
dataset_path: org/data
test_split: test
doc_to_text: !function utils.text
doc_to_target: answer
"""
FINE = "import os\ndef text(doc): return doc['question']\n"
FILES = {
    "fine": FINE,
    "asks": "from openai import OpenAI\nclient = OpenAI()\n" + FINE,
    "needs": "import package_of_nowhere\ndef text(doc): return package_of_nowhere.text(doc)\n",
    "ends": "import os\nos._exit(3)\n" + FINE,
    "exits": "import sys\nsys.exit(3)\n" + FINE,
    "raises": "import os\n1 / 0\n" + FINE,
    "hangs": "import time\ntime.sleep(1000)\n" + FINE,
    "prints": "print('hello')\n" + FINE,
    "threads": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n" + FINE,
    "connects": "import socket\nsocket.create_connection(('192.0.2.1', 80))\n" + FINE,
    "lacks": "import os\ndef other(doc): ...\n",
    "typo": "import os\ndef text(doc: ...\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "utils.py").write_text(text)
        (tmp_path / name / "t.yaml").write_text(TASK.format(name=f"tree_{name}"))
    (tmp_path / "group.yaml").write_text("group: tree_all\ntask: [tree_fine, tree_needs]\n")
    (tmp_path / "broken.yaml").write_text("task: tree_broken\ntest_split: [\n")
    return tmp_path


@pytest.mark.full
def test_no_file_hides_another(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "SECONDS_OF_IMPORT", 4.0)
    found = check_imports([], str(tree))
    assert sorted(found.ok) == [f"tree_{name}" for name in ("asks", "fine", "needs", "prints", "threads")]
    said = "\n".join(found.lines())
    assert said.startswith("5 of 13 tasks load and import\n")
    reasons = {task: reason.said for reason in found.reasons.values() for task in reason.tasks}
    assert "exit code 3" in reasons["tree_ends"] and "SystemExit" in reasons["tree_exits"]
    assert "ZeroDivisionError" in reasons["tree_raises"] and "longer than 4 s" in reasons["tree_hangs"]
    assert "192.0.2.1" in reasons["tree_connects"] and "has no function 'text'" in reasons["tree_lacks"]
    assert "SyntaxError" in reasons["tree_typo"] and "broken.yaml" in reasons["tree_broken"]
    assert said.count("1 of these need packages") == 1 and "pip install package_of_nowhere (tree_needs)" in said


def test_one_reason_is_one_line_with_its_count(tree: Path) -> None:
    for name in ("raises", "lacks"):
        (tree / name / "again.yaml").write_text(TASK.format(name=f"tree_{name}_again"))
    found = check_imports(
        [f"tree_{name}{end}" for name in ("raises", "lacks", "fine") for end in ("", "_again")][:5], str(tree)
    )
    assert [len(reason.tasks) for reason in found.reasons.values()] == [2, 2] and found.ok == ["tree_fine"]


def test_metrics_and_filters_of_each_task_are_built(tree: Path) -> None:
    """A run would end with their faults before its first request."""
    for name, more in (
        ("metric", "metric_list: [{metric: exact_mach}]"),
        ("filter", "filter_list: [{name: a, filter: [{function: rex}]}]"),
    ):
        (tree / "fine" / f"{name}.yaml").write_text(TASK.format(name=f"tree_{name}") + more)
    found = check_imports(["tree_metric", "tree_filter", "tree_fine"], str(tree))
    assert found.ok == ["tree_fine"]
    said = "\n".join(found.lines())
    assert "'exact_mach'" in said and "'rex'" in said


@pytest.mark.full
def test_the_verb_ends_with_2_where_a_task_does_not_import(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--imports", "--include_path", str(tree), "tree_fine,tree_raises"]) == 2
    assert "1 of 2 tasks loads and imports" in capsys.readouterr().out
    assert main(["validate", "--imports", "--include_path", str(tree), "tree_fine"]) == 0
