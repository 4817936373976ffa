"""What diagnose finds in a run with tools, and that it says nothing of a run in which nothing is odd."""

from pathlib import Path

from mm_eval.results.findings import Fault, diagnose
from mm_eval.results.recorded import RecordedRun
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
