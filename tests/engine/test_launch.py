"""Sharing a run out: each doc to one rank, and docs with a common picture to the same one."""

import pytest

from mm_eval.engine.launch import Processes


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
