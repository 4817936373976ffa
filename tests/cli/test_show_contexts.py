"""`show` where the choices stand in the prompt, as in winogrande: each choice's own context is told."""

import json
from pathlib import Path

TASK = """task: gap
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: label
doc_to_target: " because it was big."
doc_to_choice: "{{{{[start + ' the box', start + ' the ball']}}}}"
metric_list: [{{metric: acc}}]
"""


def test_a_context_that_differs_by_choice_is_shown(cli, tmp_path: Path) -> None:
    (tmp_path / "gap.jsonl").write_text(json.dumps({"start": "It did not fit, that is", "label": 1}) + "\n")
    (tmp_path / "gap.yaml").write_text(TASK.format(data=tmp_path / "gap.jsonl"))
    shown = cli("show", "gap", "--doc", "0", "--include_path", tmp_path, "--model", "dummy").out
    assert "that is the box" in shown
    assert "context 1: 'It did not fit, that is the ball'" in shown
