"""Our values of the made pairs are those that were compared with the libraries, so that no upgrade changes a number unnoticed."""

import csv
import json
from functools import cache
from typing import Any

import pytest

from tests.matrix import metrics
from tests.matrix.metric_values import OURS

FEW = 40
"""Every so many of the pairs are in the default set, all in `full`."""


@cache
def recorded() -> dict[str, Any]:
    values: dict[str, Any] = json.loads(metrics.RECORDED.read_text())
    return values


def changed(name: str, every: int) -> list[tuple[Any, Any, Any]]:
    """(pair, recorded value, value of today) of those that differ."""
    before = recorded()[name]["ours"]
    places = range(0, len(before), every)
    today = OURS[name](places)
    return [
        (metrics.METRICS[name].pairs()[place], before[place], value)
        for place, value in zip(places, today, strict=True)
        if metrics.differ(before[place], value)
    ]


@pytest.mark.parametrize("name", recorded())
def test_our_values_are_those_that_were_compared(name: str) -> None:
    """After an upgrade of jiwer, sacrebleu or lxml that changes one: `python -m tests.matrix.metrics`, then."""
    if name in ("wer", "cer"):
        pytest.importorskip("jiwer")
    assert not changed(name, FEW)


@pytest.mark.full
@pytest.mark.parametrize("name", recorded())
def test_all_our_values_are_those_that_were_compared(name: str) -> None:
    if name in ("wer", "cer"):
        pytest.importorskip("jiwer")
    assert not changed(name, 1)


def test_the_table_is_that_of_the_recorded_values_and_names_each_reason() -> None:
    with metrics.TABLE.open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [metrics.HEADINGS, *metrics.rows(recorded())]
    assert not any("not explained" in row[3] for row in metrics.rows(recorded()))


def test_the_newest_compared_versions_are_those_that_are_installed() -> None:
    """An upgrade in constraints.txt needs a new comparison."""
    pinned = (metrics.ROOT / "constraints.txt").read_text().splitlines()
    for name in ("wer", "bleu"):
        compared = metrics.METRICS[name]
        assert f"{compared.library}=={compared.versions[0]}" in pinned
