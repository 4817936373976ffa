"""The prompts of the shipped blocks beside those of VLMEvalKit's own code, where a checkout of it is named."""

import os
from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager
from tests.peers.prompts_of_families import BENCHMARKS, FAMILY, LISTED, differences, documents, joined

KIT = os.environ.get("MM_EVAL_VLMEVALKIT", "")


def test_parts_are_compared_as_a_model_sees_them() -> None:
    assert joined(["", None, "\nA", "B", "", None]) == [None, "\nAB", None]
    assert joined(["", None, "\nA"]) == joined([None, "A"]) == [None, "A"], (
        "the template's own line's end after one picture"
    )


def test_a_listed_difference_names_a_compared_pair() -> None:
    tasks, families = {each.task for each in BENCHMARKS}, set(FAMILY.values())
    assert len(tasks) == len(BENCHMARKS) >= 34 and tasks <= set(TaskManager().entries)
    assert len(FAMILY) == 12 and len(families) == 6
    assert {task for task, _ in LISTED} <= {*tasks, "*"} and {family for _, family in LISTED} <= {*families, "*"}


def test_the_lines_hold_the_questions_of_our_documents() -> None:
    ai2d = next(each for each in BENCHMARKS if each.task == "ai2d")
    line, asked = next(documents(ai2d))
    assert line["A"] == "grass" and line["image_path"] == ["0.png"] and asked["qwen3_vl"][0] is None
    assert str(asked["qwen3_vl"][1]).endswith("Please select the correct answer from the options above. \n")


@pytest.mark.skipif(not KIT, reason="MM_EVAL_VLMEVALKIT names no checkout of open-compass/VLMEvalKit")
def test_every_difference_from_the_kit_is_listed() -> None:
    found = differences(Path(KIT))
    unlisted = {
        (task, family): first
        for (task, family), (count, _, first) in found.items()
        if count and not {(task, family), (task, "*"), ("*", family)} & set(LISTED)
    }
    assert not unlisted
    assert {key for key in LISTED if "*" not in key} <= {key for key, (count, _, _) in found.items() if count}
