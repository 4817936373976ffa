"""What diagnose finds in a run with tools, and that it says nothing of a run in which nothing is odd."""

from pathlib import Path
from typing import Any

from mm_eval.results.findings import Fault, diagnose
from mm_eval.results.page import _page_row
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import Marking
from mm_eval.tools.findings import ToolFindings
from tests.tools.scripted import Scripted, Way, box, call, run, way, write


def found(tmp_path: Path, ways: list[Way]) -> dict[str, Fault]:
    task = write(tmp_path / "task", len(ways))
    run(task, tmp_path / "run", Scripted(ways))
    return {fault.kind: fault for fault in diagnose(RecordedRun.read(tmp_path / "run"))}


def test_loops_broken_calls_and_answers_without_a_look(tmp_path: Path) -> None:
    faults = found(tmp_path, [way(box(0)), way("<tool_call>{'a'}</tool_call>"), *[way("B")] * 20])
    said = {kind: (fault.docs, fault.of) for kind, fault in faults.items()}
    assert said["loop"] == (1, 22) and said["malformed calls"] == (1, 22) and said["no answer"] == (2, 22)
    assert said["no look"] == (21, 22) and "bias" not in said
    assert faults["loop"].examples[0].doc_id == 0 and "tool_call" in faults["loop"].examples[0].answer
    assert faults["malformed calls"].said == "1 of 22 documents wrote a call that can't be read"
    assert "the tool zoom" not in faults["unused tool"].said and "--doc" in faults["loop"].mend


def test_calls_that_fail_and_a_tool_without_a_use(tmp_path: Path) -> None:
    faults = found(tmp_path, [way(call(bbox_2d=[900, 900, 100, 100]), "B")] * 20)
    assert faults["failed calls"].docs == 20 and "another unit" in faults["failed calls"].cause
    assert "20 of 20 calls" in faults["failed calls"].said


def test_a_run_in_which_nothing_is_odd(tmp_path: Path) -> None:
    faults = found(tmp_path, [way(box(0), "B"), way("B"), way(call("calculator", expression="1"), "B")])
    assert not {"loop", "malformed calls", "failed calls", "no look", "no answer", "unused tool"} & faults.keys()


def code_row(doc_id: int, calls: int, opened: bool = True, restored: int = 0, **counts: int) -> dict[str, Any]:
    """A row of samples with calls of code."""
    code = {"raised": 0, "stopped": 0, "ended": 0, "silent": 0, **counts, "opened": opened}
    entry: dict[str, Any] = {
        "turns": calls + 1,
        "calls": calls,
        "failed": 0,
        "malformed": 0,
        "repeated": 0,
        "pictures": 0,
    }
    entry |= {"looked": True, "unanswered": False, "by_tool": {"python": calls}, "code": code}
    return {"doc_id": doc_id, "tools": {**entry, "restored": [restored]} if restored else entry}


def test_calls_of_code_are_counted_and_documents_that_were_restored_named() -> None:
    findings = ToolFindings()
    findings.add(code_row(0, 5, raised=2, silent=1))
    findings.add(code_row(1, 3, opened=False, stopped=1))
    findings.add(code_row(2, 1, restored=1))
    findings.add(code_row(3, 0, opened=False))  # it had no code to open a picture with
    said = {each[0]: each[3] for each in findings.found()}
    assert said["code"] == (
        "3 of 4 documents ran code, in 9 calls: 2 raised an exception, 1 met a limit, 0 ended their interpreter, "
        "1 printed nothing; in 1 document no code opened a picture"
    )
    assert said["restored code"].startswith(
        "1 of 4 documents continued after an interruption, and code gave other results"
    )
    assert "code that raises" not in said, "one of three documents is not often"
    quiet = ToolFindings()
    quiet.add(code_row(0, 2))
    assert not [each for each in quiet.found() if "code" in each[0]]


def test_the_page_shows_code_with_what_it_returned_and_the_rest_with_its_turn() -> None:
    digests = ["a" * 64, "b" * 64]
    shown = [{"type": "image", "digest": digest} for digest in digests]
    turns = [
        {"messages": [], "answer": "<tool_call>", "ended": "stop"},
        {
            "messages": [{"role": "user", "content": [*shown, {"type": "text", "text": "3"}]}],
            "answer": "B",
            "ended": "stop",
        },
    ]
    call = {
        "turn": 0,
        "code": "1 + 2",
        "output": "3",
        "pictures": [["image_02.png", digests[0]]],
        "ending": "error",
        "seconds": 1,
    }
    row: Any = {
        "doc_id": 0,
        "status": "answered",
        "doc": {},
        "prompt": "q",
        "target": "B",
        "resps": ["B"],
        "scores": {},
    }
    row |= {"turns": [turns, turns[1:]], "tools": {**code_row(0, 1)["tools"], "ran": [[call], []], "restored": [2]}}
    (first, second), (alone,) = (page := _page_row("t", row, Marking()))["n"]
    assert first["c"] == [{"c": "1 + 2", "o": "3", "s": 1, "i": digests[:1], "e": "raised an exception", "r": []}]
    assert second["i"] == digests[1:] and "c" not in second and page["rs"] == [2]
    assert alone["i"] == digests, "another repeat, which ran no code"
