"""`reasoning_tags` of a task file: marks around the reasoning in the answers to this task."""

import json
from pathlib import Path

import pytest

from mm_eval import Answer, Model, Results, evaluate
from mm_eval.run import score

TASK = {
    "task": "own",
    "dataset_path": "json",
    "test_split": "test",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "metric_list": [{"metric": "exact_match"}],
}
TEXTS = ("[w]4 or 5?[/w] 5", "5", "<think>4?</think>5", "[w]5", "[W]no[/W]5")
"""Answers to five questions whose answer is 5."""


class Said(Model):
    """Gives these answers. tells: it has cut the reasoning of known families itself, as adapters that run a model do."""

    def __init__(self, tells: bool) -> None:
        super().__init__()
        self.tells = tells

    def generate(self, instances):
        for instance in instances:
            text = TEXTS[instance.doc_id]
            before, mark, after = text.rpartition("</think>")
            yield instance, Answer(after, reasoning=before + mark) if self.tells else Answer(text)


def run(tmp_path: Path, tells: bool, **stated: object) -> Results:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"question": f"{i}: 2+3?", "answer": "5"}) + "\n" for i in range(len(TEXTS))))
    task = {**TASK, "dataset_kwargs": {"data_files": {"test": str(rows)}}, **stated}
    return evaluate([task], Said(tells), identity="v", report=False, output_path=str(tmp_path / "run"))


def right(results: Results, task: str = "own") -> list[float]:
    return [next(iter(row["scores"].values())) for row in results.samples(task)]


@pytest.mark.parametrize("tells", [False, True])
@pytest.mark.parametrize("tags", [[["[w]", "[/w]"]], "[w],[/w]", '[["[w]", "[/w]"]]'])
def test_a_task_states_marks_and_recorded_answers_are_read_by_them(tmp_path, tells, tags):
    assert right(run(tmp_path, tells)) == [0, 1, 1, 0, 0]
    again = run(tmp_path, tells, reasoning_tags=tags)
    assert right(again) == [1, 1, 1, 0, 1] and again.report.requested == 0, "no answer was requested again"
    cut = [row.get("reasoning") for row in again.samples("own")]
    assert cut[:3] == [["[w]4 or 5?[/w]"], None, ["<think>4?</think>"]]


@pytest.mark.parametrize("tells", [False, True])
def test_none_leaves_the_reasoning_in_the_answers_of_the_task(tmp_path, tells):
    results = run(tmp_path, tells, reasoning_tags="none", filter_list=[
        {"name": "seen", "filter": [{"function": "regex", "regex_pattern": "(<think>.*)"}]}])  # fmt: skip
    assert [row["filtered_resps"]["seen"] for row in results.samples("own")][2] == ["<think>4?</think>5"]


@pytest.mark.parametrize("tells", [False, True])
def test_marks_that_are_stated_when_a_run_is_scored_cut_what_the_adapter_has_left(tmp_path, tells):
    folder = run(tmp_path, tells).folder
    assert right(Results(score(folder, reasoning_tags="[w],[/w]"))) == [1, 1, 1, 0, 1]
    assert right(Results(score(folder))) == [0, 1, 1, 0, 0]


def test_the_frame_that_a_file_looks_for_stays_also_after_an_edit_and_for_what_it_imports(tmp_path):
    """In a notebook the frame was still taken away before the edited function, and always before one of a file beside it."""
    rows, utils, beside = (tmp_path / name for name in ("rows.jsonl", "utils.py", "beside.py"))
    rows.write_text(json.dumps({"question": "2+3?", "answer": "5"}) + "\n")
    (tmp_path / "own.yaml").write_text(
        "task: own_frame\ndataset_path: json\ntest_split: test\noutput_type: generate_until\ndoc_to_text: question\n"
        f"doc_to_target: answer\ndataset_kwargs: {{data_files: {{test: {rows}}}}}\nprocess_results: !function utils.read\n"
        "metric_list: [{metric: exact_match, aggregation: mean}]\n"
    )
    framed = "WANTED = '<answer>5</answer>'\n"
    beside.write_text(framed)
    for number, wanted in enumerate(("WANTED = '5'\n", framed, "from .beside import WANTED\n")):
        utils.write_text(
            f"{wanted}def read(doc, results):\n    return {{'exact_match': float(results[0] == WANTED)}}\n"
        )
        found = evaluate("own_frame", lambda messages: "<answer>5</answer>", include_path=str(tmp_path), report=False,
                         output_path=str(tmp_path / "run" / str(number)))  # fmt: skip
        assert right(found, "own_frame") == [1]
