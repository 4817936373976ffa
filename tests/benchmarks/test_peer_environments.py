"""The environments of the peers are made with the versions that CI tests, but for those that a peer excludes."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def made() -> dict:
    return runpy.run_path(str(ROOT / "benchmarks" / "peer_environments.py"))


def test_a_peer_keeps_all_versions_but_those_that_it_excludes(made: dict) -> None:
    every = (ROOT / "constraints.txt").read_text().splitlines()
    assert made["_constraints"](made["LM_EVAL"]) == every
    left_out = set(every) - set(made["_constraints"](made["LMMS_EVAL"]))
    assert {line.partition("==")[0] for line in left_out} == set(made["FREE"][made["LMMS_EVAL"]])
