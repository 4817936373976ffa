"""The time of a run's requests: launches one after the other add up, processes side by side do not, killed ones count."""

import json
from pathlib import Path

import pytest

from mm_eval.engine.progress import TAIL, answering


def journal(folder: Path, name: str, times: list[float], end: str = "") -> None:
    (folder / "journal").mkdir(exist_ok=True)
    lines = [json.dumps({"kind": "answer", "t": time}) for time in times]
    (folder / "journal" / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines) + end)


def test_launches_add_up_and_processes_side_by_side_count_once(tmp_path: Path) -> None:
    assert answering(tmp_path) == {}
    journal(tmp_path, "host-1-1000000000000", [1010.0, 1060.0])
    journal(tmp_path, "host-2-1010000000000", [1020.0, 1100.0])
    journal(tmp_path, "host-3-5000000000000", [5001.0], end='{"kind": "ans')
    assert answering(tmp_path) == {"started": 1000.0, "ended": 5001.0, "seconds": 101.0}


def test_odd_files_are_left_out(tmp_path: Path) -> None:
    journal(tmp_path, "empty", [])
    journal(tmp_path, "torn", [], end='{"t": 3')
    journal(tmp_path, "host-1-99", [1e6, 1e6 + 10], end=f"{{{'x' * (TAIL // 2)}\n")
    assert answering(tmp_path)["seconds"] == pytest.approx(10.0), "a name that gives no time before the first record"
