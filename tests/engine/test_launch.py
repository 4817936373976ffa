"""Sharing a run out: each doc to one rank, and docs with a common picture to the same one."""

import pytest

from mm_eval.engine.launch import Processes, processes
from mm_eval.errors import ConfigError


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("begun", [set(), {0, 1, 2, 3, 4, 5, 6, 7}, set(range(30))])
def test_every_doc_has_one_rank_and_docs_of_one_picture_have_the_same(count: int, begun: set[int]) -> None:
    groups = {doc_id: doc_id // 3 for doc_id in range(30)}
    shares = [Processes(rank, count).share(groups, begun) for rank in range(count)]
    assert sorted(doc_id for share in shares for doc_id in share) == list(range(30))
    for share in shares:
        assert all(share.count(doc_id // 3 * 3) == 1 for doc_id in share)


def test_pending_docs_are_dealt_out_evenly_though_one_rank_died() -> None:
    groups = {doc_id: doc_id for doc_id in range(40)}
    begun = set(range(0, 40, 2))  # rank 1 of 2 died before its first answer
    shares = [Processes(rank, 2).share(groups, begun) for rank in range(2)]
    assert [len(set(share) - begun) for share in shares] == [10, 10]


def test_each_process_takes_the_gpu_of_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    taken: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    for name, value in {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", "RANK": "1", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert processes.__wrapped__() == Processes(1, 4, 1) and taken == [1]
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ConfigError, match="no GPU for process 2 of this machine, which has 2"):
        processes.__wrapped__()
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    processes.__wrapped__()
    assert taken == [1]
