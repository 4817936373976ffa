"""`--limit` on every shipped task and group: exit code 0, and no number is missing without a note."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.conftest import Ran
from tests.sets import few
from tests.tasks.test_all import ENTRIES, NEEDS_PACKAGES

LIMITS = ("1", "2", "5", "0.1")
QUICK = {
    "mmbench_en_dev_v11": LIMITS, "we_math": LIMITS, "release_core": ("1",), "mmvet": LIMITS, "blink": ("1",), "bbh": ("1",),
    "mme": LIMITS, "seedbench": LIMITS,
}  # fmt: skip
NAMES = sorted(
    name for name, entry in ENTRIES.items() if entry.kind in ("task", "group") and name not in NEEDS_PACKAGES
)


def unexplained(results: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The numbers that are missing although no note of their row names their metric."""
    return [
        f"{name}: {key}; notes: {row.get('notes')}"
        for name, row in results.items()
        for key, value in row.items()
        if "," in key and "_stderr," not in key and value is None
        if key.partition(",")[0] not in " ".join(row.get("notes", ()))
    ]


def complaints(ran: Ran) -> list[str]:
    """What is wrong with a run under a limit."""
    return unexplained(ran.results["results"]) if ran.code == 0 else [f"exit code {ran.code}: {ran.err[-600:]}"]


def test_only_a_note_about_the_number_explains_it() -> None:
    row = {"acc,none": None, "acc_stderr,none": None, "f1,none": 0.0}
    assert unexplained({"a": {**row, "notes": ["acc,none: too few documents"]}}) == []
    assert [text[:6] for text in unexplained({"a": row, "b": {**row, "notes": ["f1,none: few documents"]}})] == [
        "a: acc",
        "b: acc",
    ]


@pytest.mark.parametrize(
    ("name", "limit"), few([(name, limit) for name in QUICK for limit in QUICK[name]], at=(0, 2, 4, 6))
)
def test_a_limit_leaves_every_number_or_a_note(cli: Callable[..., Ran], name: str, limit: str) -> None:
    assert complaints(cli("--tasks", name, "--model", "dummy", "--sample", "--no_judge", "--limit", limit)) == []


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS)
def test_every_shipped_name_under_every_limit(cli: Callable[..., Ran], limit: str) -> None:
    ran = cli("--tasks", ",".join(NAMES), "--model", "dummy", "--sample", "--no_judge", "--limit", limit)
    assert complaints(ran) == []
    assert set(NAMES) <= set(ran.results["results"])
