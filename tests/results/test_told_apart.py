"""Checkpoints of one name are told apart in tables: "hf" and "hf (default)" said nothing about step-100/hf and step-200/hf."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mm_eval.results.recorded import RecordedRun, told_apart


def run(name: str = "", stated: str = "", blind: str = "", **args: Any) -> RecordedRun:
    results: Any = SimpleNamespace(run=SimpleNamespace(model_name="hf"))
    return RecordedRun(Path("run"), results, {"blind": blind}, {"model_args": args, "name": stated}, name)


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([run(pretrained="step-100/hf"), run(pretrained="step-200/hf")], ["step-100/hf", "step-200/hf"]),
        ([run(path="a/x/hf.jsonl"), run(path="b/x/hf.jsonl")], ["a/x/hf.jsonl", "b/x/hf.jsonl"]),
        ([run(model="a/m"), run(model="b/m"), run(model="b/other")], ["a/m", "b/m", "other"]),
        ([run(pretrained="a/hf"), run(pretrained="./a/hf/")], ["hf", "hf"]),  # one checkpoint
        ([run(pretrained="hf"), run(pretrained="step/hf")], ["hf", "step/hf"]),
        ([run(pretrained="o/m", revision="step1"), run(pretrained="o/m")], ["m@step1", "m@main"]),
        (
            [run(pretrained="a/hf", stated="mine"), run(pretrained="b/hf", stated="mine")],
            ["mine", "mine"],
        ),  # the user says so
        (
            [run(pretrained=f"{n}/hf", chat_template_kwargs={"enable_thinking": False}) for n in "ab"],
            ["a/hf (no thinking)", "b/hf (no thinking)"],
        ),
    ],
)
def test_names_have_as_many_parts_as_tell_checkpoints_apart(runs: list[RecordedRun], names: list[str]) -> None:
    assert [each.model for each in told_apart(runs)] == names


def test_a_table_names_both(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "a"}\n{"q": "b"}\n')
    (tmp_path / "t.yaml").write_text(
        "task: named\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: q\ndoc_to_target: q\nmetric_list: [{metric: exact_match}]\n"
    )
    folders = []
    for step in ("step-100", "step-200"):
        (tmp_path / step).mkdir()
        answers = "".join(f'{{"task": "named", "doc_id": {n}, "resps": ["a"]}}\n' for n in range(2))
        (tmp_path / step / "hf.jsonl").write_text(answers)
        where = f"path={tmp_path / step / 'hf.jsonl'}"
        command = ("--tasks", "named", "--include_path", tmp_path, "--model", "replay", "--model_args", where)
        ran = cli(*command, "--output_path", tmp_path / f"run-{step}")
        assert ran.code == 0, ran.err
        folders.append(tmp_path / f"run-{step}")
    table = cli("report", *folders, "--format", "csv").out
    assert "step-100/hf.jsonl" in table and "step-200/hf.jsonl" in table and "(default)" not in table
    again = cli("report", folders[0], folders[0], "--format", "md").out
    assert "(default)" not in again
