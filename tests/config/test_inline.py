"""Tasks that a program states as mappings: `evaluate(tasks=[{...}])`, and a list of them as JSON on the command line."""

import functools
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from mm_eval import Results, evaluate
from mm_eval.cli import main
from mm_eval.config.inline import stated_task
from mm_eval.errors import ConfigError
from mm_eval.request import RunRequest, of_names
from mm_eval.run import score

pytestmark = pytest.mark.usefixtures("shipped")
CODE = """
def text(doc):
    return "Q: " + doc["question"]

def right(doc, results):
    return {"right": float(results[0] == doc["answer"])}
"""


@pytest.fixture
def utils(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "own_utils.py").write_text(CODE)
    rows = [{"question": "2+2", "answer": "4"}, {"question": "2+3", "answer": "5"}, {"question": "4", "answer": "A"}]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "answers.jsonl").write_text(
        "".join(json.dumps({"task": "own", "doc_id": i, "resps": [a]}) + "\n" for i, a in enumerate("45B"))
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_utils

    yield own_utils
    del sys.modules["own_utils"]


def own(utils: ModuleType) -> dict[str, object]:
    return {
        "task": "own",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": "rows.jsonl"}},
        "test_split": "test",
        "doc_to_text": utils.text,
        "doc_to_target": "{{answer}}",
        "process_results": "!function own_utils.right",
        "metric_list": [{"metric": "right", "aggregation": "mean", "higher_is_better": True}],
    }


def test_a_mapping_is_a_task_whose_run_goes_on_and_is_scored_from_anywhere(utils, tmp_path, monkeypatch, capsys):
    options = {"model": "replay", "model_args": {"path": "answers.jsonl"}, "report": False}
    results = evaluate([own(utils)], output_path="run", **options)
    assert results["own"]["right"].value == pytest.approx(2 / 3) and results["own"].n == 3
    assert [row["prompt"] for row in results.samples("own")][0].endswith("Q: 2+2")
    assert evaluate(own(utils), output_path="run", **options).report.requested == 0, "the same mapping is the same run"
    monkeypatch.chdir("/")
    again = score(tmp_path / "run", include_path=str(tmp_path))
    assert Results(again).raw["results"] == results.raw["results"]
    assert main(["score", str(tmp_path / "run")]) == 2
    assert "not trusted to name code" in capsys.readouterr().err
    monkeypatch.chdir(tmp_path)
    assert evaluate([own(utils)], "dummy", limit=1, report=False).folder.name.startswith("dummy-own-")


def test_a_named_task_is_asked_with_other_keys_beside_itself_and_in_a_group(tmp_path):
    tasks = [
        "arc_easy",
        {"task": "arc_easy", "num_fewshot": 2, "task_alias": "two shots"},
        {"group": "both", "task": ["mme", {"task": "seedbench", "repeats": 1}]},
    ]
    options = {"model": "dummy", "sample": True, "limit": 2, "report": False}
    results = evaluate(tasks, output_path=str(tmp_path / "run"), **options)
    shots = [row for name, row in results.raw["n-shot"].items() if name.startswith("arc_easy")]
    assert shots == [0, 2] and {"both", "mme", "seedbench"} <= results.tasks.keys()
    words = ["--tasks", json.dumps(tasks), "--model", "dummy", "--sample", "--limit", "2", "--no_report"]
    assert main([*words, "--output_path", str(tmp_path / "run")]) == 0, "the command takes the same list"
    stored = json.loads((tmp_path / "run" / "run.json").read_text())["request"]
    assert RunRequest.from_json(stored).tasks == tuple(tasks)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"task": "mme", "limit": 3}, "unknown key 'limit' in the overrides of 'mme'"),
        ({"task": "mmee"}, "unknown task.*'mme'.*needs dataset_path"),
        ({"task": "own", "dataset_path": "json", "doc_to_text": lambda doc: ""}, "not a function of a file"),
        ({"task": "own", "dataset_path": "json", "doc_to_text": functools.partial(min)}, "not a function of a file"),
        ({"task": "own", "dataset_path": "json", "metadata": {"x": object()}}, "is not a mapping of names to texts"),
        ({"task": "mme", "process_results": "!function nowhere.f"}, "there is no .*nowhere.py"),
        (SimpleNamespace(task="mme"), "no task is named by namespace"),
    ],
)
def test_what_is_no_task_is_one_sentence(tmp_path, config, said):
    with pytest.raises(ConfigError, match=said):
        evaluate([config], "dummy", sample=True, output_path=str(tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_part_of_a_runs_tasks_keeps_what_was_stated_for_them():
    stated = ("seedbench", {"task": "mme", "num_fewshot": 2}, {"task": "arc_easy", "repeats": 2}, "arc_easy")
    assert of_names(stated, ["mme", "seedbench"]) == ({"task": "mme", "num_fewshot": 2}, "seedbench")
    with pytest.raises(ConfigError, match="states 'arc_easy' more than once"):
        of_names(stated, ["arc_easy#1f2e"])


def test_an_object_of_another_suite_is_refused_with_what_to_give():
    class ConfigurableTask:
        def dump_config(self):
            return {}

    with pytest.raises(ConfigError, match=r"ConfigurableTask is an object of another suite. Give its dump_config\(\)"):
        evaluate([ConfigurableTask()], "dummy")


def test_a_function_of_the_running_script_is_refused(monkeypatch):
    monkeypatch.setattr(stated_task, "__module__", "__main__")
    with pytest.raises(ConfigError, match="it is in the running script. Put it at the top level of a file"):
        stated_task({"task": "x", "doc_to_text": stated_task})
