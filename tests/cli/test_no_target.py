"""A split whose answers are not published: its docs have a null for a target, and no answer can equal it."""

import json
from pathlib import Path

import pytest

YAML = """task: hidden
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/test.jsonl}}}}
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
metric_list: [{{metric: exact_match}}]
"""


@pytest.mark.parametrize(("targets", "without"), [(["Yes", None, ""], 1), (["Yes", "", "No"], 0)])
def test_docs_without_a_target_are_counted_below_the_table(
    cli, tmp_path: Path, targets: list[str | None], without: int
) -> None:
    (tmp_path / "hidden.yaml").write_text(YAML.format(folder=tmp_path))
    rows = [{"question": f"Is it {n}?", "answer": target} for n, target in enumerate(targets)]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("--tasks", "hidden", "--include_path", tmp_path, "--model", "dummy")
    assert ran.code == 0
    assert ("note: hidden: 1 of 3 documents has no target (doc_to_target gives null)" in ran.out) is bool(without)
