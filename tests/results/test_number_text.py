"""One rule decides in which unit a number is shown."""

from pathlib import Path
from typing import Any

import pytest

from mm_eval.results.number_text import PERCENT, POINTS, SMALL, Unit, unit_for, unit_of
from mm_eval.values.types import MetricKey, Number


@pytest.mark.parametrize(
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
