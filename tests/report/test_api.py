"""The command line as one call: the same numbers as objects, frames and notebook tables; and a package that costs nothing."""

import json
import subprocess
import sys

import pytest

import mm_eval
from mm_eval.errors import ConfigError


@pytest.fixture(scope="module")
def results(base):
    return mm_eval.evaluate("mme, seedbench", "dummy", sample=True, limit=40, output_path=str(base / "api"))


def test_results_are_those_of_the_command(results):
    stored = json.loads((results.folder / "results.json").read_text())["results"]
    assert list(results.tasks) == ["mme", "seedbench"] and results.exit_code == 0 and results.raw["results"] == stored
    number = results["mme"]["mme_perception_score"]
    assert number.value == stored["mme"]["mme_perception_score,none"] and number.higher_is_better
    assert number.stderr == stored["mme"]["mme_perception_score_stderr,none"]
    assert results["mme"]["mme_perception_score,none"] is not None
    assert (results["mme"].n, results["mme"].failed) == (40, 0) and results["mme"].unparsed == stored["mme"]["unparsed"]
    assert "mme_perception_score" in results.table() and str(results) == results.table()
    assert [row["doc_id"] for row in results.samples("mme")] == list(range(40))


def test_frames_and_notebooks(results):
    frame = results.to_pandas()
    assert list(frame.columns) == [
        "task",
        "metric",
        "filter",
        "value",
        "stderr",
        "n",
        "failed",
        "unparsed",
        "truncated",
    ]
    assert len(frame) == sum(len(task.numbers) for task in results.tasks.values())
    html = results._repr_html_()
    assert html.count("<tr>") == len(frame) + 1 and "sample data" in html


def test_what_is_not_there_is_said_with_a_suggestion(results):
    with pytest.raises(KeyError, match="Did you mean 'mme'"):
        results["mne"]
    with pytest.raises(KeyError, match="Did you mean 'mme_perception_score,none'"):
        results["mme"]["mme_percetion_score"]
    with pytest.raises(ConfigError, match="Did you mean 'limit'"):
        mm_eval.evaluate("mme", "dummy", limt=3)
    with pytest.raises(ConfigError, match="no task"):
        mm_eval.evaluate([])


def test_the_package_is_cheap_and_evaluate_is_the_function_whatever_was_imported_before():
    program = """
import sys, mm_eval
heavy = {"numpy", "torch", "datasets", "yaml", "mm_eval.evaluate"} & set(sys.modules)
assert not heavy, heavy
import mm_eval.evaluate
from mm_eval.evaluate import RunRequest
from mm_eval import TaskManager, evaluate, register_filter, register_metric, register_model, register_scorer
assert evaluate.__module__ == "mm_eval.api" and RunRequest
assert "mme" in TaskManager().entries
assert all(map(callable, (register_filter, register_metric, register_model, register_scorer)))
assert set(mm_eval.__all__) - {"__version__", "evaluate"} == set(mm_eval._PUBLIC)
try:
    mm_eval.nothing
except AttributeError:
    print("fine")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr
