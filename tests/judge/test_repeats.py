"""Several answers to a doc: each has verdicts of its own, and the doc's value is their mean."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tests.judge.server as scripted
from mm_eval.results.page import _judge_cells
from tests.judge.conftest import JUDGE, TASK, UTILS
from tests.judge.server import Server
from tests.judge.test_kinds import EXTRACTS, FILTERS, LETTER
from tests.processes import child, wait_until
from tests.sets import few

ROWS = [{"q": f"What is {n}?", "a": str(n)} for n in range(3)]
THREE = TASK + "repeats: 3\n" + JUDGE


def write(judged: Any, answers: Sequence[Sequence[str]], task: str = THREE, utils: str = UTILS) -> None:
    """answers: to each doc, those of its repeats."""
    judged.write(ROWS, [], task=task, utils=utils)
    rows = [{"task": "graded", "doc_id": n, "resps": list(said)} for n, said in enumerate(answers)]
    (judged.folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def replies(judged: Any, of_docs: Sequence[Sequence[str]]) -> list[object]:
    """The words for a judge from a file."""
    path: Path = judged.folder / "verdicts.jsonl"
    rows = [{"task": "graded#judge", "doc_id": n, "resps": list(said)} for n, said in enumerate(of_docs)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["--judge", "replay", "--judge_args", f"path={path},name=J"]


def test_each_answer_has_verdicts_of_its_own(judged: Any, server: Server) -> None:
    write(judged, [["0", "0", "5"], ["1", "2", "3"], ["2", "2", "2"]])
    ran = judged.with_server(server)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["judge_score,none"] == pytest.approx((2 / 3 + 1 / 3 + 1) / 3) and row["n"] == 3
    assert [sample["scores"]["judge_score,none"] for sample in ran.samples("graded")] == [2 / 3, 1 / 3, 1.0]
    first = ran.samples("graded")[0]
    assert [(entry["answer"], entry["verdict"]) for entry in first["judge"]] == [(1, 1), (2, 1), (3, 0)]
    assert first["resps"] == ["0", "0", "5"]
    slots = [slot for path in (ran.folder / "journal").glob("*.jsonl") for slot in slots_of(path)]
    assert sorted(slot[1:3] for slot in slots) == [[doc, repeat] for doc in range(3) for repeat in range(3)]


def slots_of(path: Path) -> list[list[Any]]:
    """The judge's slots in a file of the journal."""
    rows = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [slot for row in rows for slot in row.get("slots", ()) if "#judge" in str(slot[0])]


def test_an_unreadable_verdict_leaves_out_its_doc_and_is_asked_again(judged: Any) -> None:
    write(judged, [["0", "0", "0"], ["1", "1", "1"], ["2", "", "2"]])
    lost = [
        ["GRADE: C", "?", "GRADE: C", "", "hm"],
        ["GRADE: C", "?", "GRADE: I", "", "GRADE: C"],
        ["GRADE: C", "", "GRADE: I"],
    ]
    ran = judged.run(*replies(judged, lost), "--judge_retries", 1)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["judge_failed"] == 1, ran.out
    assert row["judge_score,none"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert row["judge_bounds"] == pytest.approx([1 / 3, 2 / 3])
    [_, second, third] = ran.samples("graded")
    assert [(entry["answer"], entry["attempts"]) for entry in second["judge"]] == [(1, 1), (2, 2), (3, 1)]
    assert [entry.get("empty", False) for entry in third["judge"]] == [False, True, False]


def test_several_verdicts_on_each_of_several_answers(judged: Any) -> None:
    write(judged, [["0", "1"], ["1", "2"], ["2", "3"]], TASK + "repeats: 2\n" + JUDGE + "  repeats: 2\n")
    right, wrong = "GRADE: C", "GRADE: I"
    ran = judged.run(*replies(judged, [[right, wrong, right, right], [right] * 4, [wrong, wrong, right, wrong]]))
    assert ran.code == 0, ran.out
    assert [sample["scores"]["judge_score,none"] for sample in ran.samples("graded")] == [0.75, 1.0, 0.25]


def test_a_reduction_makes_the_value_of_a_doc(judged: Any) -> None:
    metrics = """  metric_list:
    - {metric: first, aggregation: mean, reduction: take_first, higher_is_better: true}
    - {metric: best, aggregation: mean, reduction: max, higher_is_better: true}
    - {metric: mean, aggregation: mean, higher_is_better: true}
    - {metric: some, aggregation: mean, reduction: pass@2, higher_is_better: true}
"""
    write(judged, [["0", "1"], ["1", "2"], ["2", "3"]], TASK + "repeats: 2\n" + JUDGE + metrics)
    ran = judged.run(*replies(judged, [["GRADE: I", "GRADE: C"], ["GRADE: C", "GRADE: C"], ["GRADE: I", "GRADE: I"]]))
    row = ran.results["results"]["graded"]
    found = [row[f"{name},none"] for name in ("first", "best", "mean", "pass@2(some)")]
    assert ran.code == 0 and found == pytest.approx([1 / 3, 2 / 3, 1 / 2, 2 / 3]), ran.out


def test_the_bounds_are_those_of_the_reduced_number(judged: Any) -> None:
    """They were those of the docs without a verdict alone, [0, 1], where a reduction names its values."""
    metrics = "  metric_list: [{metric: some, aggregation: mean, reduction: pass@2, higher_is_better: true}]\n"
    write(judged, [["0", "1"], ["1", "2"], ["2", "3"]], TASK + "repeats: 2\n" + JUDGE + metrics)
    ran = judged.run(*replies(judged, [["GRADE: I", "GRADE: C"], ["GRADE: C", "?"], ["GRADE: C", "GRADE: C"]]))
    row = ran.results["results"]["graded"]
    assert row["pass@2(some),none"] == 1.0 and row["judge_bounds"] == pytest.approx([2 / 3, 1.0]), ran.out


def test_extraction_and_rules_grade_each_answer_by_itself(judged: Any) -> None:
    rows = [["B", "the second", "no"], ["A", "B", "B"], ["none", "none", "none"]]
    task = TASK.replace("doc_to_target: a", "doc_to_target: \"{{ 'B' }}\"") + "repeats: 3\n" + FILTERS + EXTRACTS
    write(judged, rows, task + "  only_unparsed: true\n", UTILS + LETTER)
    given = [["", "Letter: B", "Letter: A"], [], ["Letter: B", "Letter: B", "Letter: C"]]
    ran = judged.run(*replies(judged, given))
    assert ran.code == 0, ran.out + ran.err
    scores = [sample["scores"]["exact_match,none"] for sample in ran.samples("graded")]
    assert scores == pytest.approx([2 / 3, 2 / 3, 2 / 3])
    assert ran.samples("graded")[0]["filtered_resps"] == {"none": ["B", "B", "A"]}


def test_what_has_no_mean_is_refused(judged: Any) -> None:
    total = "\ndef total(values):\n    return sum(value == 1 for value in values)\n"
    metric = "  metric_list: [{metric: graded, aggregation: !function utils.total, higher_is_better: true}]\n"
    write(judged, [["0", "1"]] * 3, TASK + "repeats: 2\n" + JUDGE + metric, UTILS + total)
    ran = judged.run("--no_judge")
    assert ran.code == 2 and "'graded' is not a mean" in ran.err and "graded.yaml:" in ran.err, ran.err
    vote = FILTERS.replace("[{function: mcq_letter}]", "[{function: mcq_letter}, {function: majority_vote}]")
    write(judged, [["0", "1"]] * 3, TASK + "repeats: 2\n" + vote + EXTRACTS + "  only_unparsed: true\n", UTILS + LETTER)
    ran = judged.run("--no_judge")
    assert ran.code == 2 and "a filter of the task leaves fewer" in ran.err, ran.err


def test_samples_and_quality_know_of_several_answers(judged: Any, server: Server, cli: Any) -> None:
    write(judged, [["0", "0", "5"], ["1", "", "3"], ["2", "2", "2"]])
    first = judged.with_server(server, preflight=True)
    assert first.code == 0, first.out + first.err
    path = first.folder / "samples" / "graded.jsonl"
    shown = [entry["w"] for entry in _judge_cells(first.samples("graded")[1])["j"][0]["e"]]
    assert shown == [1, 2, 3]
    again = judged.run("--judge", "replay", "--judge_args", f"path={path}", "--output_path", judged.folder / "again")
    assert again.results["results"]["graded"] == first.results["results"]["graded"], again.out
    said = cli("judge", first.folder, "--docs", 3)
    assert said.code in (0, 3) and "is the judge's noise" not in said.out, said.out + said.err
    known = dict(server.asked)
    scored = cli("score", first.folder)
    assert scored.code == 0 and dict(server.asked) == known, scored.err


@pytest.mark.full
def test_a_killed_run_asks_only_for_the_verdicts_that_lack(judged: Any, server: Server, tmp_path: Path) -> None:
    """Killed while the judge answers; the next launch asks no question twice that has a reply on disk."""
    write(judged, [["0", "1", "2"], ["1", "1", "3"], ["2", "2", "0"]])
    server.latency = 0.3
    asked = f"base_url={server.url},model=judge-1,num_concurrent=1,max_retries=0"
    words = [*judged.words, "--judge", "openai", "--judge_args", asked, "--judge_preflight", "false", "--no_report"]
    words += ["--output_path", str(tmp_path / "run")]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with child([sys.executable, "-m", "mm_eval", *words], **quiet) as process:
        wait_until(lambda: sum(server.asked.values()) >= 4)
        process.kill()
        process.wait()
    server.latency = 0.0
    before = sum(len(slots_of(path)) for path in (tmp_path / "run" / "journal").glob("*.jsonl"))
    assert before < 9
    at = sum(server.asked.values())
    ran = judged.command(*words)
    assert ran.code == 0, ran.out + ran.err
    assert ran.results["results"]["graded"]["judge_score,none"] == pytest.approx((1 / 3 + 2 / 3 + 2 / 3) / 3)
    assert sum(server.asked.values()) - at <= 9 - before


@pytest.mark.parametrize("task", few([THREE, TASK + JUDGE + "  repeats: 2\n"], at=[0]))
def test_a_judge_is_tried_before_several_answers(judged: Any, server: Server, monkeypatch: Any, task: str) -> None:
    """A good judge passes, one that passes everything does not."""
    write(judged, [["0", "0", "5"], ["1", "2", "3"], ["2", "2", "2"]], task)
    ran = judged.with_server(server, preflight=True)
    assert ran.code == 0 and ran.results["judges"]["graded"][0]["preflight"] == "passed", ran.err
    monkeypatch.setattr(scripted, "replied", lambda text, prompt: "GRADE: C")
    ran = judged.with_server(server, "--output_path", judged.folder / "lax", preflight=True, model="lax")
    assert ran.code == 2 and "choose another judge" in ran.err, ran.out + ran.err


def test_repeats_of_the_command_give_the_mean_and_the_passes_of_verdicts(judged: Any) -> None:
    write(judged, [["0", "0", "5"], ["1", "2", "3"], ["2", "2", "2"]], task=TASK + JUDGE)
    right, wrong = "GRADE: C", "GRADE: I"
    said = replies(judged, [[right, right, wrong], [right, wrong, wrong], [right] * 3])
    ran = judged.run("--repeats", 3, *said)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["avg@3(judge_score),none"] == row["judge_score,none"] == pytest.approx((2 / 3 + 1 / 3 + 1) / 3)
    assert row["pass@3(judge_score),none"] == 1.0
