"""A judge that is asked several questions about one answer: `total` in a task's `judge`."""

import json
from pathlib import Path

import pytest

from tests.judge.conftest import TASK

JUDGE = """judge:
  prompt: !function utils.judge_prompt
  verdict: !function utils.verdict
  verdict_examples: [["GRADE: C", 1], ["well, 1 of 10", null]]
  total: !function utils.total
  range: !function utils.ends
  empty: !function utils.lowest
  metric_list: [{metric: right, aggregation: !function utils.mean_of_turns, higher_is_better: true}]
"""
UTILS = """
import json


def judge_prompt(doc, answer, verdicts):
    said = answer.split("|")
    if len(verdicts) >= len(doc["a"]):
        return None
    turn = len(verdicts)
    return f"{doc['q']} {verdicts}\\nReference: {doc['a'][turn]}\\nAnswer: {said[turn] if turn < len(said) else said[-1]}"


def verdict(reply):
    return {"GRADE: C": 1, "GRADE: I": 0}.get(reply)


def total(verdicts, doc, answer):
    assert len(verdicts) == len(doc["a"])
    return {"right": verdicts}


def ends(doc):
    return {"right": [0] * len(doc["a"])}, {"right": [1] * len(doc["a"])}


def lowest(doc):
    return ends(doc)[0]


def mean_of_turns(values):
    marks = [mark for of_doc in values for mark in of_doc]
    return sum(marks) / len(marks)
"""
ROWS = [{"q": "one", "a": ["1"]}, {"q": "three", "a": ["1", "2", "3"]}, {"q": "two", "a": ["5", "6"]}]


@pytest.fixture
def several(judged):
    judged.write(ROWS, ["1", "1|2|no", "5|6"], TASK + JUDGE, UTILS)
    return judged


def test_each_answer_has_as_many_questions_as_its_doc_needs(several, server) -> None:
    ran = several.with_server(server)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["right,none"] == 5 / 6 and row["judge_failed"] == 0
    assert len(server.asked) == 6 and max(server.asked.values()) == 1
    assert any(prompt.startswith("three [1, 1]\n") for prompt in server.asked), "a prompt gets the verdicts so far"
    shown = ran.samples("graded")[1]["judge"]
    assert [(each["step"], each["verdict"]) for each in shown] == [(1, 1), (2, 1), (3, 0)]
    assert shown[-1]["total"] == {"right": [1, 1, 0]} and "total" not in shown[0]
    again = several.with_server(server, "--output_path", ran.folder)
    assert again.code == 0 and sum(server.asked.values()) == 6, "nothing is asked twice"
    assert "verdicts: 6 were there already" in again.out


def test_a_doc_with_one_verdict_missing_is_in_no_number(several, server) -> None:
    rows = [*ROWS[:2], {"q": "FAULTCHATTY", "a": ["5", "6"]}]
    several.write(rows, ["1", "1|2|no", "5|6"], TASK + JUDGE, UTILS)
    ran = several.with_server(server, "--judge_retries", 0)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["judge_failed"] == 1
    assert row["right,none"] == 3 / 4 and row["judge_bounds"] == [3 / 6, 5 / 6]
    assert sum(server.asked.values()) == 5, "the question after an unreadable reply is not asked"


def test_an_empty_answer_and_one_without_questions_are_not_sent(several, server) -> None:
    several.write([*ROWS[:2], {"q": "none", "a": []}], ["", "1|2|3", "x"], TASK + JUDGE, UTILS)
    ran = several.with_server(server)
    assert ran.code == 0, ran.out + ran.err
    assert ran.results["results"]["graded"]["right,none"] == 3 / 4
    assert [row["judge"].get("empty") for row in (ran.samples("graded")[0], ran.samples("graded")[2])] == [True, True]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (("return {\"right\": verdicts}", "return None"), "what the task's `total` gives can't be used: it is None."),
        (("return {\"right\": verdicts}", "return {\"left\": 1}"), "it names 'left', which metric_list does not."),
        (("assert len", "assert 1 > len"), "the task's `total` failed: AssertionError"),
    ],
)  # fmt: skip
def test_a_total_that_cannot_be_used_is_no_verdict(several, server, broken: tuple[str, str], said: str) -> None:
    several.write(ROWS[:1], ["1"], TASK + JUDGE, UTILS.replace(*broken))
    ran = several.with_server(server)
    assert ran.code == 3 and said in ran.out
    assert ran.results["results"]["graded"]["right,none"] is None


def test_a_prompt_that_never_ends_is_a_fault_of_its_doc(several, server, monkeypatch) -> None:
    monkeypatch.setattr("mm_eval.judge.prompts.MOST_QUESTIONS", 5)  # 100 in a run
    several.write(ROWS[:1], ["1"], TASK + JUDGE, UTILS.replace("return None", "return 'Reference: x\\nAnswer: x'"))
    ran = several.with_server(server)
    assert ran.code == 3 and "asks more than 5 questions about one answer" in ran.out


@pytest.mark.full
def test_validate_show_and_quality_know_of_all_questions(several, server, cli) -> None:
    folder = ("--include_path", several.folder)
    ran = cli("validate", "--tasks", "graded", *folder)
    assert ran.code == 0, ran.out + ran.err
    ran = cli("show", "graded", *folder, "--judge", "--doc", 1, "--answer", "1|2|3")
    assert ran.code == 0 and ran.out.count("end of prompt") == 3 and "verdicts on 3 documents: 6 calls" in ran.out, (
        ran.out
    )
    run = several.with_server(server)
    ran = cli("judge", run.folder, "--docs", 0, "--format", "json")
    assert ran.code == 0, ran.out + ran.err
    length, *_ = json.loads(ran.out)["tasks"]["graded"]["findings"]
    assert length["docs"] == 3 and length["value"] == pytest.approx(-0.866, abs=1e-3), (
        "by what total gives for a document"
    )


def test_what_total_does_not_go_with(several) -> None:
    for more, said in (("extracts: true", "`total` belongs to a judge of one step"), ("total: 3", "'total'")):
        text = (TASK + JUDGE).replace("  range:", f"  {more}\n  range:", 1)
        if more.startswith("total"):
            text = text.replace("  total: !function utils.total\n", "")
        (Path(several.folder) / "graded.yaml").write_text(text)
        ran = several.run("--no_judge")
        assert ran.code == 2 and said in ran.err, ran.err
