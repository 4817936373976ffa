"""VSI-Bench: hard answers in both forms, the thresholds, and the mean over its eight tasks."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.vsi_bench import utils

from tests.tasks.answers import answered, prompt

CHOICE = {"question_type": "route_planning", "options": ["A. left", "B. right"], "ground_truth": "B"}
NUMBER = {"question_type": "object_abs_distance", "options": None, "ground_truth": "10"}
CHOICES = {  # answer -> (score, whether it is read)
    "B": (1, True), "b": (1, True), "B.": (1, True), "B. right": (1, True), " B ": (1, True), "A": (0, True),
    "a. left": (0, True),
    "B)": (0, False), "(B)": (0, False), "right": (0, False), "The answer is B": (0, False), "B\nright": (0, False),
    "**B**": (0, False), "D": (0, False), "右": (0, False), "": (0, False),
}  # fmt: skip
NUMBERS = {
    "10": (1, True), "10.0 meters": (1, True), "10.": (1, True), "1e1": (1, True), "5": (0.1, True), "14": (0.3, True),
    "15": (0.1, True), "15.1": (0, True), "9.5": (1, True), "10.4": (1, True),
    "11": (0.9, True), "-10": (0, True), "0": (0, True), "inf": (0, True),
    "nan": (0, True), "10m": (0, False), "ten": (0, False), "about 10": (0, False), "10,0": (0, False), "": (0, False),
}  # fmt: skip


@pytest.mark.parametrize(("doc", "metric", "said"), [(CHOICE, "acc", CHOICES), (NUMBER, "mra", NUMBERS)])
def test_hard_answers(doc: dict[str, Any], metric: str, said: dict[str, tuple[float, bool]]) -> None:
    for answer, (score, is_read) in said.items():
        found = utils.process_results(doc, [answer])
        assert found[metric] == pytest.approx(score), answer
        assert found["score"] == (doc["question_type"], found[metric])
        assert (found["__rule__"] != "unparsed") == is_read, answer


def test_directions_are_one_task_of_three_levels() -> None:
    easy, hard = ("object_rel_direction_easy", 1.0), ("object_rel_direction_hard", 0.0)
    items = [easy] * 3 + [hard] + [("object_counting", 0.4), ("object_counting", 0.6), ("route_planning", 1.0)]
    assert utils.overall(items) == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert utils.task_of({"question_type": hard[0]}) == "relative direction"


def test_the_sample_by_hand(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "vsi_bench", ["B"] * 20)
    row = ran.results["results"]["vsi_bench"]
    rows = ran.samples("vsi_bench")
    right: dict[str, list[float]] = {}
    for each in rows:
        right.setdefault(each["doc"]["question_type"], []).append(float(each["target"] == "B"))
    means = {kind: sum(each) / len(each) for kind, each in right.items()}
    levels = [means.pop(kind) for kind in list(means) if "direction" in kind]
    assert len(levels) == 3 and len(means) == 7 and sum(levels) + sum(means.values()) > 0
    assert row["score,none"] == pytest.approx((sum(means.values()) + sum(levels) / 3) / 8)
    assert row["mra,none"] == 0 and len(ran.results["categories"]["vsi_bench"]["task"]) == 8


def test_prompts(cli: Any) -> None:
    chosen, counted = (prompt(cli, "vsi_bench", doc=doc) for doc in (0, 3))
    assert chosen.startswith("These are frames of a video.\nWhat is the color of the ") and "\nOptions:\nA. " in chosen
    assert chosen.endswith("\nAnswer with the option's letter from the given choices directly.")
    assert cli("--tasks", "vsi_bench", "--sample", "--model", "dummy", "--limit", 1).code == 0, (
        "no number among the documents"
    )
    assert counted.splitlines()[2:] == ["Please answer the question using a single word or phrase."]
