"""One rule decides in which unit a number is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from mm_eval.results.number_text import PERCENT, POINTS, SMALL, Unit, unit_for, unit_of
from mm_eval.results.run_table import unit_in
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.types import MetricKey, Number
from tests.sets import each_of


@each_of(
    ("metric", "values", "ends", "scales", "unit"),
    [
        ("acc", [0.613, 0.0], [0.59, 0.63], [(0.0, 1.0), None], PERCENT),
        ("score", [0.613], [0.59, 0.63], [], PERCENT),  # nothing is known but the numbers
        ("score", [0.5], [-20.0, 21.0], [], POINTS),  # points of a model that earns none
        ("score", [0.4, 61.3], [], [], POINTS),
        ("grade", [5.45, 0.0], [1.9, 9.0, 0.0, 0.28], [None, (0.0, 1.0)], POINTS),  # of 10, and a model that earns none
        ("acc", [1 + 1e-12, 0.0], [], [(0.0, 1.0), None], PERCENT),
        ("mme_perception_score", [1820.5], [1790.0, 1850.0], [None], POINTS),
        ("bits_per_byte", [0.83], [0.8, 0.9], [(0.0, 1.0)], SMALL),
        ("brier_score@judge", [0.2], [], [], SMALL),
        ("likelihood", [-0.4], [-0.5, -0.3], [], SMALL),
        ("bleu", [0.7], [0.5, 0.9], [None], SMALL),  # 0.7 of 100, not 70
        ("chrf@judge", [0.9], [], [], SMALL),
        ("acc", [], [], [], PERCENT),
        ("grade", [0.5], [0.4, 0.6], [(0.0, 10.0)], POINTS),  # as its range says
        ("grade", [0.0], [0.0, 0.0], [(0.0, 10.0)], POINTS),
        ("grade", [0.5], [], [(0.0, 1.0)], PERCENT),
    ],
)
def test_shares_are_in_percent_and_points_stay_points(metric, values, ends, scales, unit: Unit) -> None:
    assert unit_for(metric, values, ends, scales) == unit


def test_numbers_differences_and_intervals_are_written_alike() -> None:
    key = MetricKey("acc", "none")
    number = Number(key, 0.6131, 0.0061, n=400, clusters=400, freedom=399, scale=(0.0, 1.0))
    unit = unit_of(number)
    assert (unit.text(number.value), unit.spread(number)) == ("61.3", "± 1.2")
    assert (unit.signed(0.0231), unit.signed(-0.0231), unit.signed(0.0), unit.signless(-0.02)) == (
        "+2.3",
        "-2.3",
        "0.0",
        "2.0",
    )
    assert unit.text(-0.0001) == "0.0" and unit.text(None) == "-" and unit.ends((0.1, 0.2), " to ") == "10.0 to 20.0"
    exact = Number(key, 1.0, 0.0, exact=(0.832, 1.0))
    assert unit.spread(exact) == "[83.2, 100.0] †" and POINTS.text(1820.456) == "1820.46"


MARKED = """
task: marked
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
process_results: !function utils.process_results
metric_list: [{metric: mark, aggregation: mean}]
"""


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    """A task with marks from 0 to 10, of which a weak model earns 0.5 in the mean."""
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"q": "{n}?", "a": "{3 * (n % 6 == 0)}"}}\n' for n in range(60)))
    (tmp_path / "utils.py").write_text("def process_results(doc, results):\n    return {'mark': float(doc['a'])}\n")
    (tmp_path / "marked.yaml").write_text(MARKED)
    (tmp_path / "both.yaml").write_text("group: both\ntask: [marked]\naggregate_metric_list: [{metric: mark}]\n")
    return tmp_path


def test_marks_below_1_are_no_shares_though_a_folder_knows_only_their_mean(marked: Path, cli: Any) -> None:
    words = ("--tasks", "both", "--include_path", marked, "--model", "dummy")
    first = cli(*words)
    assert first.code == 0, first.err
    for said in (first.out, cli(*words).out, cli("score", first.folder).out):
        rows = [line for line in said.splitlines() if "mark " in line]
        assert len(rows) == 2 and all("0.5000" in row for row in rows), said
    assert "| both | 0.5000 |" in cli("report", first.folder, "--format", "md").out
    assert first.results["results"]["marked"]["no_shares"] == ["mark,none"]


STATED = """metric_list:
  - {metric: mark, aggregation: mean, range: [0, 10]}
  - {metric: own, aggregation: !function utils.own, range: [0, 5]}
  - {metric: error, aggregation: mean, higher_is_better: false, worst: 100}
  - {metric: kappa, aggregation: !function utils.own, range: [-1, 1]}
"""
VALUES = """
def process_results(doc, results):
    mark = float(doc["a"])
    return {"mark": mark, "own": mark, "error": 0.0, "kappa": mark}


def own(marks):
    return sum(marks) / len(marks) / 10
"""


def test_a_range_that_a_task_states_decides_the_unit_everywhere(marked: Path, cli: Any) -> None:
    (marked / "utils.py").write_text(VALUES)
    (marked / "marked.yaml").write_text(MARKED.replace("metric_list: [{metric: mark, aggregation: mean}]\n", STATED))
    words = ("--tasks", "both", "--include_path", marked, "--model", "dummy")
    first = cli(*words, "--categories")
    assert first.code == 0, first.err
    for said in (first.out, cli(*words, "--categories").out, cli("score", first.folder, "--categories").out):
        rows = [line.replace("  ", " ") for line in said.splitlines()]
        assert sum("0.50 ± " in " ".join(row.split()) for row in rows) == 2, said
        assert any("own ↑ 0.05 ± " in " ".join(row.split()) for row in rows), said
        assert any("kappa ↑ 0.0500 ± " in " ".join(row.split()) for row in rows), said
    row = first.results["results"]["both"]
    assert row["ranges"]["mark,none"] == [0, 10] == first.results["results"]["marked"]["ranges"]["mark,none"]
    compared = cli("compare", first.folder, first.folder, "--include_path", marked, "--categories")
    assert "0.05" in compared.out and " 5.0" not in compared.out, compared.out


def test_a_number_outside_of_its_range_is_said_and_a_missing_answer_is_worth_what_is_stated(
    marked: Path, cli: Any
) -> None:
    (marked / "utils.py").write_text(VALUES)
    stated = STATED.replace("[0, 10]", "[0, 0.1]")
    (marked / "marked.yaml").write_text(MARKED.replace("metric_list: [{metric: mark, aggregation: mean}]\n", stated))
    replies = [{"task": "marked", "doc_id": n, "resps": [""], "ended": ["refused"]} for n in range(60)]
    (marked / "replies.jsonl").write_text("".join(json.dumps(each) + "\n" for each in replies))
    found = cli(
        *("--tasks", "marked", "--include_path", marked, "--model", "replay"),
        *("--model_args", f"path={marked / 'replies.jsonl'}", "--output_path", marked / "refused"),
    )
    assert found.results["results"]["marked"]["error,none"] == 100  # as metric_list says, and not 1
    found = cli("--tasks", "marked", "--include_path", marked, "--model", "dummy")
    assert "mark: it is 0.5, outside of the range 0 to 0.1 that metric_list states" in " ".join(found.out.split())


@pytest.mark.parametrize(
    ("typo", "meant"), [("aggregatoin: median", "aggregation"), ("higher_is_beter: false", "higher_is_better")]
)
def test_a_misspelt_key_of_a_metric_is_an_error_with_its_line(marked: Path, cli: Any, typo: str, meant: str) -> None:
    (marked / "marked.yaml").write_text(MARKED.replace("metric: mark,", f"metric: mark, {typo},"))
    found = cli("--tasks", "marked", "--include_path", marked, "--model", "dummy")
    assert found.code == 2 and "marked.yaml:9" in found.err and "Did you mean '" in found.err


def test_how_often_tools_were_called_is_no_share_where_every_document_called_once() -> None:
    for metric in ("calls", "calls_zoom", "failed", "malformed", "turns"):
        found = Number(MetricKey(metric, "tools"), 1.0, 0.0, (0.3, 1.0), 3, scale=(0.0, 1.0))
        assert unit_of(found, found, metric=metric).text(found.value) == "1.00", metric
    assert unit_of(Number(MetricKey("looked", "tools"), 1.0, 0.0, scale=(0.0, 1.0))).text(1.0) == "100.0"
    assert unit_of(Number(MetricKey("failed", "none"), 1.0, 0.0, scale=(0.0, 1.0))).text(1.0) == "100.0"


def test_a_score_of_0_beside_counts_of_calls_is_a_share_as_anywhere() -> None:
    """The other numbers decide the decimals of a 0, and how often tools were called says nothing of a score."""
    numbers = [Number(MetricKey("acc", "none"), 0.0, exact=(0.0, 0.6)), Number(MetricKey("calls", "tools"), 2.5)]
    assert unit_in(Scores(numbers=numbers), numbers[0]) == PERCENT
    points = [numbers[0], Number(MetricKey("score", "none"), 250.0)]
    assert unit_in(Scores(numbers=points), points[0]) == POINTS
