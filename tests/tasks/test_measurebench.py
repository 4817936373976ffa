"""MeasureBench: the last number or first time of day, its unit, and the best of several scales.

What is expected was computed by the authors' evaluation/measure_bench_evaluator.py at d5bb865.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.measurebench.utils import process_results

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

VOLTS = {"interval": [4.9, 5.1], "units": ["V", "volt"]}
SPEED = {"interval": [4.9, 5.1], "units": ["rpm"]}
CUBIC = {"interval": [4.9, 5.1], "units": ["m3", "m³"]}
MICRO = {"interval": [4.9, 5.1], "units": ["µA"]}
PLAIN = {"interval": [-5.1, -4.9], "units": []}
CLOCK = {"interval": ["5:04:59", "5:06:01"], "units": [""]}
BARS = {"intervals": [[4.9, 5.1], [71, 74]], "units": [["bar"], ["psi"]]}
DAY = {"intervals": [["5:04", "5:06"], ["17:04", "17:06"]], "units": [""]}
FREE = {"intervals": [[4.9, 5.1], [71, 74]], "units": []}
HARD = [
    # what is right, answer, acc, number_acc, unit_acc; None where no unit is asked for
    (VOLTS, "Final Answer: 5 V", 1, 1, 1), (VOLTS, "Final Answer: 5", 0, 1, 0), (VOLTS, "Final Answer: 6 Volts", 0, 0, 1),
    (VOLTS, "It is 5 V.", 1, 1, 1), (VOLTS, "5 V", 1, 1, 1), (VOLTS, "From 4 V to 5 V", 1, 1, 1), (VOLTS, "4-5 V", 0, 0, 1),
    (VOLTS, "5 V of 10", 0, 0, 1), (VOLTS, "Answer: 7 V. Final Answer: 5 V", 1, 1, 1), (VOLTS, "\\boxed{5 V} of 10", 1, 1, 1),
    (VOLTS, "Final Answer: 5.1 V", 1, 1, 1), (VOLTS, "Final Answer: 5.11 V", 0, 0, 1), (VOLTS, "Final Answer: 10/2 V", 1, 1, 1),
    (VOLTS, "Final Answer: **5 V** ± 0.2", 0, 0, 1), (VOLTS, "答案：5 V", 1, 1, 1), (VOLTS, "", 0, 0, 0),
    (VOLTS, "Every value fits.", 0, 0, 1), (VOLTS, "Final Answer: 5,000 V", 0, 0, 1), (VOLTS, "Answer: V u5", 0, 0, 1),
    (VOLTS, "Answer: 5 V 1/0", 1, 1, 1), (SPEED, "Answer: 5 r/min", 0, 1, 0), (SPEED, "Answer: 5 RPM", 1, 1, 1),
    (CUBIC, "Answer: 5 m3", 0, 0, 1), (CUBIC, "Answer: 5 m³", 1, 1, 1), (MICRO, "Answer: 5 μA", 1, 1, 1),
    (PLAIN, "Answer: \u22125", 1, 1, None), (PLAIN, "Answer: 5", 0, 0, None), (PLAIN, "0-5", 1, 1, None),
    (CLOCK, "Answer: 5:05", 1, 1, 1), (CLOCK, "Answer: 05:05:30", 1, 1, 1), (CLOCK, "Answer: 17:05", 0, 0, 1),
    (CLOCK, "Answer: 5:05 or 6:05", 1, 1, 1), (CLOCK, "Answer: 505", 0, 0, 1), (CLOCK, "Answer: 5:5", 0, 0, 1),
    (BARS, "Answer: 5 bar", 1, 1, 1), (BARS, "Answer: 72 psi", 1, 1, 1), (BARS, "Answer: 5 psi", 0, 1, 0),
    (BARS, "Answer: 90 psi", 0, 0, 1), (DAY, "Answer: 5:05", 1, 1, None), (DAY, "Answer: 17:05", 0, 0, None),
    (FREE, "Answer: 72", 1, 1, None),
]  # fmt: skip


@each_of(("stated", "answer", "acc", "number", "unit"), HARD)
def test_hard_answers(stated: dict[str, Any], answer: str, acc: int, number: int, unit: int | None) -> None:
    rule = "multi_interval_matching" if "intervals" in stated else "interval_matching"
    found = process_results({"evaluator": rule, "evaluator_kwargs": json.dumps(stated)}, [answer])
    assert (found["acc"], found["number_acc"], found.get("unit_acc")) == (acc, number, unit)


@each_of(("answer", "rule"), [("Answer: 5 V", "number"), ("Answer: 5 V 1/0", "number"), ("no", "unparsed")])
def test_an_answer_without_a_number_is_unparsed(answer: str, rule: str) -> None:
    doc = {"evaluator": "interval_matching", "evaluator_kwargs": json.dumps(VOLTS)}
    assert process_results(doc, [answer])["__rule__"] == rule


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """The unit is counted where one is asked for: not in the gauge without one and the two clocks."""
    said = ["0 A", "volt", "nothing", "at 25:61", "none", "0 cm", "none"]
    ran = answered(cli, tmp_path, "measurebench_synthetic", said)
    row = ran.results["results"]["measurebench_synthetic"]
    assert row["acc,none"] == row["number_acc,none"] == 0 and row["unparsed"] == 4
    assert row["unit_acc,none"] == pytest.approx(3 / 4)
    assert categories(ran, "measurebench_synthetic", "design", "n") == {"dial": 5, "linear": 2}
    assert categories(ran, "measurebench_synthetic", "instrument", "n")["clock"] == 2


def test_the_prompt_is_the_recorded_one(cli: Any) -> None:
    asked = (
        "What is the reading of the ammeter?\nFinalize your output with: `Final Answer:`, followed by a string representing "
        "the correct answer with the reading of the instrument and the corresponding unit (if necessary)."
    )
    assert prompt(cli, "measurebench_real") == prompt(cli, "measurebench_synthetic") == asked
