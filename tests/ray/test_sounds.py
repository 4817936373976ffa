"""Sounds travel to the workers of a real cluster as their files, and the answers are those of one process."""

from collections.abc import Callable
from typing import Any


def test_sounds_travel_to_a_worker_that_hears(start: Callable[..., Any]) -> None:
    words = ("--tasks", "mmau_mini", "--limit", "6", "--model", "tiny-qwen2-audio")
    one, fleet = start(*words, workers=0, name="one"), start(*words, workers=1, name="fleet")
    one.end(), fleet.end()
    assert fleet.content() == one.content()
    assert any(row.get("sounds") for row in fleet.answers())
