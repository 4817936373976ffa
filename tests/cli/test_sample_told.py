"""Whoever sees a number knows whether it is of sample data: of the bundled sample alone, and not of a user's own data."""

import json
from pathlib import Path

TASK = """task: capitals
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "What is the capital of {{{{country}}}}?"
doc_to_target: capital
metric_list: [{{metric: exact_match}}]
"""


def test_only_what_is_sampled_is_called_so(cli, tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text(json.dumps({"country": "Chad", "capital": "N'Djamena"}) + "\n")
    (tmp_path / "capitals.yaml").write_text(TASK.format(data=tmp_path / "docs.jsonl"))
    options = ("--include_path", tmp_path, "--model", "dummy", "--sample", "--limit", "2")
    own = cli("--tasks", "capitals", *options, "--output_path", tmp_path / "own")
    assert own.code == 0
    assert "sample data" not in own.out
    assert own.results["run"]["sample"] == []
    both = cli("--tasks", "capitals,mme", *options, "--output_path", tmp_path / "both")
    assert both.out.startswith("Bundled sample data, not MME. ")
    assert both.results["run"]["sample"] == ["MME"]
    assert "bundled sample" not in cli("show", "capitals", "--doc", "0", "--include_path", tmp_path).out
    assert "bundled sample" in cli("show", "mme", "--doc", "0").out


def test_a_long_list_of_data_sets_is_cut_in_the_line_and_whole_in_the_results(cli, tmp_path: Path) -> None:
    tasks = "mme,seedbench,gqa,mmstar,pope,ai2d,ocrbench"
    ran = cli("--tasks", tasks, "--model", "dummy", "--sample", "--limit", "1", "--output_path", tmp_path / "run")
    first, *rest = ran.out.splitlines()
    assert first.startswith("Bundled sample data, not GQA, MME, ") and " and 2 more. These scores" in first
    assert not any("sample data" in line for line in rest), "it is said once"
    assert len(ran.results["run"]["sample"]) == 7
