"""The command line as one call: the same numbers as objects, frames and notebook tables; and a package that costs nothing."""

import json
import subprocess
import sys

import pytest

import mm_eval
from mm_eval.values.errors import ConfigError
from tests.sets import each_of


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
        "filtered",
        "refused",
        "truncated",
        "unparsed",
        "cut",
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


@each_of(
    ("options", "said"),
    [
        ({"limit": "x"}, "`limit` is 'x'"),
        ({"limit": 0}, "`limit` is 0"),
        ({"batch_size": 0}, "auto or a count from 1"),
        ({"seed": "x"}, "a whole number"),
        ({"gen_kwargs": 3}, "`gen_kwargs` is 3; a mapping"),
        ({"model_args": 3}, "`model_args` is 3; a mapping"),
        ({"model": 3}, "int is not a model. Give a model's name"),
        ({"tasks": None}, "no task is named by None"),
        ({"tasks": ["mme", 3]}, "no task is named by"),
        ({"samples": {"mme": 3}}, "{task: [doc ids]}"),
        ({"output_path": 3}, "`output_path` is 3"),
    ],
)
def test_a_wrong_value_is_one_sentence(options, said):
    with pytest.raises(ConfigError) as raised:
        mm_eval.evaluate(**{"tasks": "mme", "model": "dummy", "sample": True, **options})
    assert said in str(raised.value)


def test_one_doc_has_numbers_without_errors_and_a_name_of_its_own(base):
    results = mm_eval.evaluate(
        "mme", "dummy", sample=True, limit=1, output_path=str(base / "one"), name="<b>Mine</b>\x1b[31m"
    )
    frame = results.to_pandas()
    assert len(frame) == 2 and frame["stderr"].isna().all() and results["mme"].n == 1
    assert "None" not in results._repr_html_() and "-" in results._repr_html_()
    page = (results.folder / "report.html").read_text()
    assert "<title>&lt;b&gt;Mine" in page.replace("\n", "") and "<b>Mine" not in page


def test_the_package_is_cheap_and_evaluate_is_the_function_whatever_was_imported_before():
    program = """
import sys, mm_eval
heavy = {"numpy", "torch", "datasets", "yaml", "mm_eval.run"} & set(sys.modules)
assert not heavy, heavy
import mm_eval.run
from mm_eval.run import RunRequest
from mm_eval import TaskManager, evaluate, register_filter, register_metric, register_model, register_scorer
assert evaluate.__module__ == "mm_eval.api" and evaluate is mm_eval.evaluate and RunRequest
assert "mme" in TaskManager().entries
assert all(map(callable, (register_filter, register_metric, register_model, register_scorer)))
assert set(mm_eval.__all__) - {"__version__"} == set(mm_eval._PUBLIC)
try:
    mm_eval.nothing
except AttributeError:
    print("fine")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_results_are_a_mapping_with_a_short_repr(tmp_path) -> None:
    from mm_eval import evaluate

    options = {"sample": True, "limit": 5, "report": False, "output_path": str(tmp_path / "run")}
    results = evaluate("seedbench,mme", "dummy", **options)
    assert list(results) == ["seedbench", "mme"] == list(results.keys()) and len(results) == 2
    assert "mme" in results and "mmee" not in results and results.get("mmee") is None
    assert dict(results)["mme"] is results["mme"] and [row.name for row in results.values()] == list(results)
    assert {name: row.n for name, row in results.items()} == {"seedbench": 5, "mme": 5}
    for shown in (results, results["mme"], results["mme"]["mme_perception_score"]):
        assert "\n" not in repr(shown) and len(repr(shown)) < 300, repr(shown)
    assert "mme_perception_score" in repr(results) and "run" in repr(results) and "n=5" in repr(results["mme"])
    assert str(results) == results.table()
