"""A run is not gone on with where a file that only the task's own functions know of has changed what is asked."""

import json
from pathlib import Path

TASK = """task: hinted
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: !function utils.text
doc_to_target: a
metric_list: [{{metric: exact_match}}]
"""
UTILS = """import json
from pathlib import Path


def text(doc):
    hints = json.loads((Path(__file__).parent / "hints.json").read_text())
    return doc["q"] + " " + hints[doc["q"]]
"""


def test_an_answer_to_another_question_is_refused_by_doc(cli, tmp_path: Path) -> None:
    names = [f"q{number}" for number in range(60)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps({"q": name, "a": "Yes"}) + "\n" for name in names))
    (tmp_path / "hinted.yaml").write_text(TASK.format(data=tmp_path / "docs.jsonl"))
    (tmp_path / "utils.py").write_text(UTILS)
    hints = dict.fromkeys(names, "think")
    (tmp_path / "hints.json").write_text(json.dumps(hints))
    options = ("--tasks", "hinted", "--include_path", tmp_path, "--model", "dummy")
    first = cli(*options)
    assert first.code == 0
    again = cli(*options)
    assert again.code == 0
    assert "all 60 answers were in the run folder already" in again.out

    (tmp_path / "hints.json").write_text(json.dumps({**hints, "q50": "think twice"}))  # beyond the prompts of the spec
    changed = cli(*options)
    assert changed.code == 2
    assert "hinted doc 50: the recorded answer is to another question" in changed.err
    assert again.results == first.results
