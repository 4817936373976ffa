"""What `--repeats N` adds: avg@N and pass@k beside each number, with the doc as what is drawn."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from mm_eval.scoring.metrics.aggregation import (
    average_of_runs,
    avg_and_pass,
    mean,
    mean_of_means,
    median,
    weighted_mean,
)
from mm_eval.scoring.metrics.stderr import standard_error
from tests.scoring.scorers.test_score_task import TASK

ANSWERS = [
    ["1", "no", "1", "no", "no"],
    ["no", "no", "no", "no", "no"],
    ["3", "3", "3", "3", "3"],
    ["no", "no", "4", "4", "4"],
]
SHARES = [2 / 5, 0.0, 1.0, 3 / 5]
UTILS = """
def first(doc, results):
    return {"right": float(results[0] == doc["answer"]), "close": 0.5 * (results[0] == doc["answer"])}


def strict(doc, results):
    if results[0] == "no" and doc["answer"] == "4" and len(results) == 1:
        raise ValueError("no such number")
    return {"right": float(results[0] == doc["answer"])}


def odd(doc, results):
    right = float(results[0] == doc["answer"])
    return {"right": right if right or len(results) > 1 or doc["answer"] in "23" else None}


def both(doc, results):
    return dict.fromkeys(("right", "spread"), float(results[0] == doc["answer"]))


def runs(references, scores):
    return list(scores)


def deviation(docs):
    from statistics import fmean, pstdev

    return pstdev(map(fmean, zip(*docs)))


def each(doc, results):
    assert len(results) == 1
    return {"right": float(results[0] == doc["answer"])}


def kinds(doc, results):
    return {"macro": ["odd" if int(doc["answer"]) % 2 else "even", float(results[0] == doc["answer"])]}
"""
EM = "metric_list: [{metric: exact_match}]"


def run(cli: Any, tmp_path: Path, scoring: str, *options: Any, answers: list[list[str]] = ANSWERS) -> Any:
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    rows = [{"question": f"{n}?", "answer": str(1 + n)} for n in range(len(answers))]
    (folder / "sums.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "sums.yaml").write_text(TASK % (folder / "sums.jsonl", scoring))
    (folder / "utils.py").write_text(UTILS)
    recorded = tmp_path / "answers.jsonl"
    said = [{"task": "sums", "doc_id": n, "resps": each} for n, each in enumerate(answers)]
    recorded.write_text("\n".join(map(json.dumps, said)))
    model = ("--model", "replay", "--model_args", f"path={recorded}")
    return cli("--tasks", "sums", "--include_path", folder, *model, *options)


def numbers(ran: Any) -> dict[str, Any]:
    assert ran.code == 0, ran.err
    return {key: value for key, value in ran.results["results"]["sums"].items() if key.endswith(",none")}


def test_both_numbers_of_the_same_answers_stand_beside_the_old_one(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path, EM, "--repeats", 5)
    found = numbers(ran)
    assert found["avg@5(exact_match),none"] == pytest.approx(sum(SHARES) / 4)
    assert found["pass@5(exact_match),none"] == 3 / 4
    assert found["pass@3(exact_match),none"] == pytest.approx((1 - 1 / 10 + 0 + 1 + 1) / 4)
    assert found["pass@1(exact_match),none"] == found["avg@5(exact_match),none"]
    rows = [line.split() for line in ran.out.splitlines() if "exact_match" in line and "↑" in line]
    assert [row[row.index("↑") - 1] for row in rows] == [
        "pass@3(exact_match)",
        "pass@5(exact_match)",
        "avg@5(exact_match)",
    ]
    assert ran.samples("sums")[0]["scores"]["avg@5(exact_match),none"] == 2 / 5


def test_the_doc_is_what_is_drawn(cli, tmp_path: Path) -> None:
    """Not 20 answers, and not each doc five times: both would give a standard error that is too small."""
    ran = run(cli, tmp_path, EM, "--repeats", 5)
    row = ran.results["results"]["sums"]
    centre = sum(SHARES) / 4
    by_hand = math.sqrt(sum((share - centre) ** 2 for share in SHARES) / 3 / 4)
    assert row["avg@5(exact_match)_stderr,none"] == pytest.approx(by_hand)
    marks = [float(answer == str(1 + n)) for n, said in enumerate(ANSWERS) for answer in said]
    assert standard_error(mean, marks, [n for n in range(4) for _ in range(5)]).value == pytest.approx(by_hand)
    assert standard_error(mean, marks).value < 0.6 * by_hand


def test_no_number_of_before_changes(cli, tmp_path: Path) -> None:
    """A task that states its repeats has what it had; with --repeats the old keys keep their values and come first."""
    for scoring in (EM, "process_results: !function utils.first\nmetric_list: [{metric: right}, {metric: close}]"):
        stated = numbers(run(cli, tmp_path, f"{scoring}\nrepeats: 5", "--output_path", tmp_path / f"a{len(scoring)}"))
        asked = numbers(run(cli, tmp_path, scoring, "--repeats", 5, "--output_path", tmp_path / f"b{len(scoring)}"))
        assert not any(key.startswith("avg@") for key in stated)
        assert {key: asked[key] for key in stated} == stated and list(asked)[: len(stated)] == list(stated)


def test_a_function_of_the_task_scores_each_answer_by_itself(cli, tmp_path: Path) -> None:
    scoring = "process_results: !function utils.first\nmetric_list: [{metric: right}, {metric: close}]"
    ran = run(cli, tmp_path, scoring, "--repeats", 5)
    found = numbers(ran)
    assert found["right,none"] == 2 / 4  # of the first answers, as before
    assert found["avg@5(right),none"] == pytest.approx(sum(SHARES) / 4) and found["pass@5(right),none"] == 3 / 4
    assert found["avg@5(close),none"] == pytest.approx(sum(SHARES) / 8)
    assert not any(key.startswith("pass@") and "close" in key for key in found)
    assert "no pass@5 of close: its values lie between right and wrong" in ran.out


def test_a_filter_that_takes_the_first_answer_takes_each(cli, tmp_path: Path) -> None:
    filters = "filter_list: [{name: none, filter: [{function: take_first}]}]\n"
    found = numbers(run(cli, tmp_path, filters + EM, "--repeats", 5))
    assert found["exact_match,none"] == 2 / 4
    assert found["avg@5(exact_match),none"] == pytest.approx(sum(SHARES) / 4)


def test_an_answer_that_cannot_be_scored_costs_no_other_number(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path, "process_results: !function utils.strict\nmetric_list: [{metric: right}]", "--repeats", 5)
    row = ran.results["results"]["sums"]
    assert row["failed"] == 0 and row["right,none"] == 2 / 4
    assert row["avg@5(right),none"] == pytest.approx(sum(SHARES[:3]) / 3)
    assert "1 document has no avg@5: doc 3" in ran.out and "no such number" in ran.out


def test_a_task_states_the_reduction_of_its_function(cli, tmp_path: Path) -> None:
    scoring = (
        "process_results: !function utils.each\nrepeats: 5\nmetadata: {metric: pass@4(right)}\n"
        "metric_list: [{metric: right, reduction: avg_and_pass, k: 4}]"
    )
    ran = run(cli, tmp_path, scoring)
    found = numbers(ran)
    assert {key for key in found if "stderr" not in key} == {"avg@5(right),none", "pass@4(right),none"}
    assert found["pass@4(right),none"] == pytest.approx((1 + 0 + 1 + 1) / 4)
    assert "avg@5(right)" in ran.out


def test_a_number_that_is_no_mean_is_averaged_over_the_runs(cli, tmp_path: Path) -> None:
    scoring = "process_results: !function utils.kinds\nmetric_list: [{metric: macro, aggregation: mean_of_means}]"
    found = numbers(run(cli, tmp_path, scoring, "--repeats", 5, "--output_path", tmp_path / "first"))
    by_kind = [(SHARES[0] + SHARES[2]) / 2, (SHARES[1] + SHARES[3]) / 2]
    assert found["avg@5(macro),none"] == pytest.approx(sum(by_kind) / 2)
    again = cli(
        "compare", tmp_path / "first", tmp_path / "first", "--format", "json", "--include_path", tmp_path / "mine"
    )
    assert "avg@5(macro)" in again.out


def test_what_an_aggregation_declares_holds_of_its_runs() -> None:
    """Equal runs give the number of one of them and its standard error, by whatever method that has."""
    docs: list[tuple[Any, list[Any]]] = [
        (mean_of_means, [("ab"[n % 2], float(n % 3)) for n in range(20)]),
        (weighted_mean, [(float(n % 3), 1.0 + n % 2) for n in range(20)]),
        (median, [float(n * n % 7) for n in range(20)]),
    ]
    for function, values in docs:
        of_runs, items = average_of_runs(function), [[value] * 3 for value in values]
        assert of_runs(items) == pytest.approx(function(values))
        one = standard_error(function, values, bootstrap_iters=500).value
        assert standard_error(of_runs, items, bootstrap_iters=500).value == pytest.approx(one)


def test_the_estimator_has_no_bias() -> None:
    assert avg_and_pass(None, [1, 0, 0]) == {"avg@3": 1 / 3, "pass@3": 1.0}
    assert avg_and_pass(None, [1, 0, 0, 0], k=2)["pass@2"] == pytest.approx(1 - (3 * 2) / (4 * 3))


def test_more_repeats_than_were_asked_are_another_run(cli, tmp_path: Path) -> None:
    output = ("--output_path", tmp_path / "run")
    assert run(cli, tmp_path, EM, "--repeats", 3, *output).code == 0
    refused = run(cli, tmp_path, EM, "--repeats", 5, *output)
    assert refused.code == 2 and "the folder holds another run" in refused.err and "repeats" in refused.err
    assert run(cli, tmp_path, EM, "--repeats", 3, *output).code == 0
    scored = cli("score", tmp_path / "run", "--include_path", tmp_path / "mine")
    assert scored.code == 0 and "avg@3(exact_match)" in scored.out


def test_two_runs_are_compared_by_all_of_their_answers(cli, tmp_path: Path) -> None:
    """The old key of such a task is of the first answers alone; avg@N and pass@N are paired by document beside it."""
    scoring = "process_results: !function utils.first\nmetadata: {metric: right}\nmetric_list: [{metric: right}]"
    better = [[str(1 + n)] * 5 for n in range(3)] + [ANSWERS[3]]
    a, b = (tmp_path / "a", tmp_path / "b")
    assert run(cli, tmp_path, scoring, "--repeats", 5, "--output_path", a).code == 0
    assert run(cli, tmp_path, scoring, "--repeats", 5, "--output_path", b, answers=better).code == 0
    ran = cli("compare", a, b)
    table = [
        line.removeprefix("sums").split() for line in ran.out.splitlines() if "right" in line and " 4" in line[-2:]
    ]
    shown = {cells[0]: cells for cells in table}
    assert list(shown) == ["right", "avg@5(right)", "pass@5(right)"], ran.out
    assert shown["avg@5(right)"][1:4] == ["50.0", "90.0", "+40.0"] and "1 more metric" in ran.out


def test_a_group_has_the_numbers_of_its_tasks(cli, tmp_path: Path) -> None:
    scoring = "process_results: !function utils.first\nmetric_list: [{metric: right}]"
    run(cli, tmp_path, scoring, "--repeats", 5)
    group = "group: both\ntask: [sums]\naggregate_metric_list: [{metric: right}]\n"
    (tmp_path / "mine" / "both.yaml").write_text(group)
    model = ("--model", "replay", "--model_args", f"path={tmp_path / 'answers.jsonl'}")
    ran = cli(
        "--tasks", "both", "--include_path", tmp_path / "mine", *model, "--repeats", 5, "--output_path", tmp_path / "g"
    )
    row = ran.results["groups"]["both"]
    assert row["right,none"] == 2 / 4 and row["avg@5(right),none"] == pytest.approx(sum(SHARES) / 4)
    assert row["pass@5(right),none"] == 3 / 4


def test_a_score_that_is_no_number_costs_its_document_the_average_alone(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path, "process_results: !function utils.odd\nmetric_list: [{metric: right}]", "--repeats", 5)
    row = ran.results["results"]["sums"]
    assert ran.code == 0 and row["right,none"] == 2 / 4
    assert row["avg@5(right),none"] == (SHARES[1] + SHARES[2]) / 2
    assert "2 documents have no avg@5" in ran.out and "is None, which is not a number" in ran.out


def test_a_number_of_all_answers_together_has_no_average(cli, tmp_path: Path) -> None:
    """A deviation of the runs is 0 in each of them: the task's own reduction has made its number of all answers already."""
    metrics = "[{metric: right, reduction: mean}, {metric: spread, aggregation: !function utils.deviation, "
    metrics += "reduction: !function utils.runs, higher_is_better: null}]"
    scoring = f"process_results: !function utils.both\nmetric_list: {metrics}"
    found = numbers(run(cli, tmp_path, scoring, "--repeats", 5))
    assert found["right,none"] == found["avg@5(right),none"] and found["spread,none"] > 0
    assert not any("(spread)" in key for key in found)
