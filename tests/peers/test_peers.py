"""The comparison with lm-eval and lmms-eval: what counts as equal, and the comparison itself where the peers are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peer_environments import LM_EVAL, LMMS_EVAL, installed
from tests.peers import compare, recorded
from tests.peers.differences import DIFFERENCES, Difference


def peer_said(path: Path, **changes: object) -> Path:
    row = {
        "doc_id": 0, "arguments": [["Why?", " a"], ["Why?", " b"]], "resps": [[[-1.0, False]], [[-2.5, True]]],
        "filtered_resps": [[-1.0, False], [-2.5, True]], "filter": "none", "metrics": ["acc"], "acc": 1.0, **changes,
    }  # fmt: skip
    said = {"results": {"t": {"acc,none": 1.0, "acc_stderr,none": 0.5}}, "samples": {"t": [row]}}
    path.write_text(json.dumps(said))
    return path


def our_folder(folder: Path, **changes: object) -> Path:
    row = {
        "task": "t", "doc_id": 0, "status": "answered", "prompt": "Why?", "choices": [" a", " b"],
        "resps": [[-1.00001, False], [-2.5, True]], "filtered_resps": {"none": [[-1.0, False], [-2.5, True]]},
        "scores": {"acc,none": 1}, **changes,
    }  # fmt: skip
    (folder / "samples").mkdir(parents=True)
    (folder / "samples" / "t.jsonl").write_text(json.dumps(row) + "\n")
    numbers = {"acc,none": 1.0, "acc_stderr,none": 0.5, "n": 1}
    (folder / "results.json").write_text(json.dumps({"results": {"t": numbers}, "groups": {}}))
    return folder


def verdict(tmp_path: Path, **changes: object) -> compare.Verdict:
    theirs = recorded.peers(peer_said(tmp_path / "peer.json"))
    mine = recorded.ours(our_folder(tmp_path / "run", **changes))
    return compare.judge("made-up", "t", mine["t"], theirs["t"])


def test_equal_runs_are_equal_value_by_value(tmp_path: Path) -> None:
    found = verdict(tmp_path)
    assert not found.wrong and not found.meant
    assert found.equal == {
        "prompt": 1, "continuation": 2, "answer": 2, "filtered": 1, "score": 1, "number": 1, "stderr": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"prompt": "Why? "}, "prompt"),
        ({"choices": [" a", "b"]}, "continuation"),
        ({"resps": [[-1.01, False], [-2.5, True]]}, "answer"),
        ({"resps": [[-1.0, True], [-2.5, True]]}, "answer"),
        ({"resps": [[-1.0, False]]}, "answer"),
        ({"filtered_resps": {"none": "x"}}, "filtered"),
        ({"scores": {"acc,none": 0}}, "score"),
        ({"error": {"owner": "data"}}, "loads"),
    ],
)
def test_each_kind_of_value_that_differs_is_found(tmp_path: Path, changes: dict[str, object], field: str) -> None:
    found = verdict(tmp_path, **changes)
    assert field in {unequal.field for unequal in found.wrong}


def test_a_task_that_one_suite_lacks_is_different(tmp_path: Path) -> None:
    theirs = recorded.peers(peer_said(tmp_path / "peer.json"))
    [found] = compare.judge_all("made-up", {}, theirs)
    assert found.task == "t" and found.wrong


def test_a_difference_explains_only_its_own_fields_tasks_and_metrics() -> None:
    meant = Difference("d", "because", ("stderr", "answer"), tasks=("t*",), runs=("bos",), metrics=("f1,*",))
    assert meant.explains("bos", "task", "stderr", "f1,none") and meant.explains("bos", "task", "answer", (0, 1))
    assert not meant.explains("bos", "task", "stderr", "acc,none")
    assert not meant.explains("bos", "task", "number", "f1,none")
    assert not meant.explains("bos", "other", "answer", (0, 1)) and not meant.explains("no-bos", "task", "answer", 0)
    assert len({each.name for each in DIFFERENCES}) == len(DIFFERENCES) and all(each.reason for each in DIFFERENCES)


@pytest.mark.slow
@pytest.mark.parametrize("peer", [LM_EVAL, LMMS_EVAL])
def test_all_numbers_are_those_of_the_peer_but_for_what_is_meant(peer: str) -> None:
    if installed(peer) is None:
        pytest.skip(f"{peer} is not installed: python tests/peers/compare.py makes its environment")
    from tests.peers import runs

    names = ",".join(run for run in runs.QUICK if runs.PEER_OF[run] == peer)
    done = subprocess.run(
        [sys.executable, compare.__file__, "--quick", "--only", names], capture_output=True, text=True, timeout=3600
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
