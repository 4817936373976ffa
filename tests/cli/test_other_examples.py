"""Few-shot examples of another split: where that changes the run is another one, also if the first docs' prompts stay."""

import json
from pathlib import Path

YAML = """task: shots
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/test.jsonl, train: {folder}/train.jsonl}}}}
test_split: test
fewshot_split: train
num_fewshot: 1
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
generation_kwargs: {{until: ["\\n"], max_gen_toks: 4}}
metric_list: [{{metric: exact_match}}]
"""


def write(path: Path, count: int, last: str) -> None:
    rows = [{"question": f"{path.stem} {n}", "answer": "one"} for n in range(count - 1)]
    rows.append({"question": last, "answer": "one"})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_changed_example_that_the_first_docs_do_not_show_is_another_run(cli, tmp_path: Path) -> None:
    (tmp_path / "shots.yaml").write_text(YAML.format(folder=tmp_path))
    write(tmp_path / "test.jsonl", 3, "last")
    write(tmp_path / "train.jsonl", 2000, "last")
    command = ("--tasks", "shots", "--include_path", tmp_path, "--model", "dummy")
    assert cli(*command).code == 0 and "nothing was requested" in cli(*command).out
    write(tmp_path / "train.jsonl", 2000, "another")
    again = cli(*command)
    assert again.code == 2 and "few-shot examples differs" in again.err and "prompts differ" not in again.err
    scored = cli("score", again.folder)  # no question shows it
    assert scored.code == 0 and "the data of shots has changed since the run, and none of its 3 questions" in scored.out
