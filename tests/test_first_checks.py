"""A column that only scoring reads is looked for before the first request."""

from pathlib import Path

import pytest

from mm_eval.prompt.question import question_of

YAML = """
task: own
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: question
doc_to_target: question
OUTPUT
"""
SCORED = "process_results: !function utils.scored\nmetric_list: [{metric: right, aggregation: mean}]"
CHOICES = "output_type: multiple_choice\ndoc_to_choice: ['a', 'b']\ndoc_to_target: 0\n" + SCORED
SUBMITTED = "submission: {file: out.jsonl, record: !function utils.scored, form: jsonl}"


@pytest.fixture
def own(tmp_path: Path, cli):
    def run(body: str, output: str = SCORED, *options: str):
        text = YAML.replace("OUTPUT", output)
        if output == CHOICES:
            text = text.replace("doc_to_target: question\n", "")
        (tmp_path / "own.yaml").write_text(text)
        (tmp_path / "utils.py").write_text(f"def scored(doc, results):\n    {body}\n")
        (tmp_path / "rows.jsonl").write_text('{"question": "1?", "answer": "1"}\n{"question": "2?", "answer": "2"}\n')
        return cli("--tasks", "own", "--include_path", tmp_path, "--model", "dummy", *options)

    return run


@pytest.mark.parametrize("output", [SCORED, CHOICES, SUBMITTED])
def test_a_column_that_only_scoring_reads_is_missed_before_the_first_request(own, output: str) -> None:
    ran = own('return {"right": doc["anwser"]}', output)
    assert ran.code == 2 and not ran.folder.exists()
    key = "submission" if output == SUBMITTED else "process_results"
    assert f"own.yaml:8: {key} reads the column 'anwser', which the data of own lacks. Did you mean 'answer'" in (
        ran.err.replace("own.yaml:10:", "own.yaml:8:")
    )
    assert "The data has: question, answer." in ran.err


def test_a_shipped_task_without_a_column_of_its_data(cli, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from tests.conftest import ROOT

    table = pq.read_table(ROOT / "assets/data/lmms-lab/MME/data/test-00000-of-00001.parquet").drop(["answer"])
    (tmp_path / "root" / "lmms-lab" / "MME").mkdir(parents=True)
    pq.write_table(table, tmp_path / "root" / "lmms-lab" / "MME" / "test.parquet")
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", tmp_path / "root")
    assert ran.code == 2 and "process_results reads the column 'answer', which the data of mme lacks." in ran.err


def test_a_picture_column_that_a_shipped_task_reads_and_the_data_lacks(cli, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from tests.conftest import ROOT

    table = pq.read_table(ROOT / "assets/data/lmms-lab/MME/data/test-00000-of-00001.parquet")
    table = table.rename_columns(["img" if name == "image" else name for name in table.column_names])
    (tmp_path / "root" / "lmms-lab" / "MME").mkdir(parents=True)
    pq.write_table(table, tmp_path / "root" / "lmms-lab" / "MME" / "test.parquet")
    ran = cli("--tasks", "mme", "--model", "dummy", "--data_root", tmp_path / "root")
    assert ran.code == 2 and not ran.folder.exists()
    assert "mme.yaml:" in ran.err and "doc_to_visual reads the column 'image', which the data of mme lacks." in ran.err
    assert "Did you mean 'img'? The data has: question_id, img, question, answer, category." in ran.err


@pytest.mark.parametrize(
    "body",
    [
        'return {"right": float(len(results[0]) / len(results[0]) * len(doc["answer"]))}',  # fails for an empty answer
        'return {"right": float({"Yes": 1}.get(results[0], {}.get("x", 0)) or bool(doc.get("other")))}',
        'return {"right": 1.0} if results[0] else {"right": {}["other"]}',  # a KeyError of something else than the doc
    ],
)
def test_other_errors_of_the_made_up_answer_are_ignored(own, body: str) -> None:
    assert own(body).code == 0


@pytest.mark.full
def test_a_judge_is_not_called_for_the_made_up_answer(own, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    called = tmp_path / "called"
    body = (
        "import pathlib, socket\n    if not results[0]:\n        socket.getaddrinfo('judge.example', 443)\n"
        f"        pathlib.Path({str(called)!r}).touch()\n    return {{'right': 1.0}}"
    )
    assert own(body).code == 0 and not called.exists()


def test_nothing_is_scored_with_predict_only(own) -> None:
    assert own('return {"right": doc["anwser"]}', SCORED, "--predict_only").code == 0


def test_the_checks_before_a_run_asking_and_scoring_write_the_first_question_twice(cli, monkeypatch) -> None:
    """Once with a prompt block that notes which keys are read, and once for all others."""
    written: list[str] = []

    def write(*given):
        written.append(given[3])
        return question_of(*given)

    monkeypatch.setattr("mm_eval.prompt.task.question_of", write)
    ran = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "1", "--no_report")
    assert ran.code == 0 and written == ["mme doc 0"] * 2
