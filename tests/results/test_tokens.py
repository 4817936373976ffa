"""Tokens of answers from the journal, and the share of right answers by length."""

import json

from mm_eval.results.recorded import RecordedTask
from mm_eval.results.sample_rows import spent_on_docs, tokens_of_attempts
from mm_eval.run_page import right_by_size
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.types import MetricKey


def test_tokens_are_those_of_each_docs_first_answer(tmp_path):
    (tmp_path / "journal").mkdir()
    usage = {"completion_tokens": 5}
    lines = [
        {"kind": "slots", "key": "a", "slots": [["t", 7, 0, 0]]},
        {"kind": "answer", "key": "a", "slots": [["t", 0, 0, 0]], "usage": usage},
        {"kind": "answer", "key": "b", "slots": [["t", 1, 1, 0]], "usage": usage},
        {"kind": "answer", "key": "c", "slots": [["t", 2, 0, 0]], "usage": {"completion_tokens": "many"}},
        {"kind": "answer", "key": "d", "slots": [["t#judge@gpt", 3, 0, 0]], "usage": usage},
        {"kind": "answer", "slots": 3},
    ]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "journal" / "x.jsonl").write_text(f'{text}\nno JSON\n{{"kind": "ans')
    found = spent_on_docs(tmp_path)["t"]
    assert {doc: each.completion for doc, each in found.items()} == {0: 5, 7: 5}
    assert spent_on_docs(tmp_path / "elsewhere") == {}


def test_tokens_of_attempts_are_of_all_their_turns(tmp_path):
    (tmp_path / "journal").mkdir()
    lines = [
        {"kind": "answer", "key": f"{doc}{repeat}{turn}", "slots": [["t", doc, repeat, 0, turn]], "usage": usage}
        for doc, repeat, turn, usage in (
            (0, 0, 0, {"completion_tokens": 5}),
            (0, 0, 1, {"completion_tokens": 7}),
            (0, 1, 0, {"completion_tokens": 30}),
            (1, 0, 0, {"prompt_tokens": 3}),
        )
    ]
    (tmp_path / "journal" / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert tokens_of_attempts(tmp_path, ["completion_tokens"])["t"] == {(0, 0): (0, 12, 0, 0), (0, 1): (0, 30, 0, 0)}
    assert tokens_of_attempts(tmp_path) == {}, "by default both are needed, as a price is"


def test_the_share_of_right_answers_by_length_is_of_docs_that_are_right_or_wrong():
    values = {doc_id: float(doc_id % 3 > 0) for doc_id in range(10)} | {10: 0.5, 11: 1.0}
    task = RecordedTask(
        "t", Scores(), {MetricKey("acc", "none"): values}, dict.fromkeys(values, 0) | {i: i for i in values}
    )
    lengths = [2, 3, 2, 3, 2, 8, 9, 15, 8, 9]
    task.sizes = {"characters": dict(enumerate(lengths)) | {10: 2, 11: 0}}
    [chart] = right_by_size(task, dict.fromkeys(range(10), 1))
    assert [(part["name"], part["value"], part["n"]) for part in chart["parts"]] == [
        ("0", 1.0, 1),
        ("2 to 3", 0.6, 5),
        ("8 to 15", 0.6, 5),
    ]
    assert all(0 <= bound <= 1 for part in chart["parts"] for bound in part["interval"] or ())
    [chart] = right_by_size(task, dict(enumerate(lengths)))
    assert chart["unit"] == "tokens", "of a model that reasons they are what was spent"
    task.sizes = {}
    assert list(right_by_size(task, {})) == []


def test_lengths_that_hardly_differ_are_no_chart():
    """Yes and no, with an empty answer here and there."""
    values = {doc_id: float(doc_id % 2) for doc_id in range(40)}
    task = RecordedTask("t", Scores(), {MetricKey("acc", "none"): values}, {i: i for i in values})
    task.sizes = {"characters": {doc_id: 2 + doc_id % 3 for doc_id in values} | dict.fromkeys(range(6), 0)}
    assert list(right_by_size(task, {})) == []
