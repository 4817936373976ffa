"""The random order of a comparison: whole clusters, categories in step, the same for every model."""

from collections import Counter

import pytest

from mm_eval.deciding.order import cut_into_looks, random_order


def test_looks_hold_whole_clusters_and_each_category_in_its_share() -> None:
    clusters = {doc: doc // 6 for doc in range(1200)}
    categories = {doc: "abcdefghij"[min(9, (doc // 6) % 12)] for doc in clusters}
    looks = cut_into_looks(random_order(clusters, categories, 0, "t"), 20)
    assert sorted(doc for docs in looks for doc in docs) == list(range(1200))
    whole = Counter(categories.values())
    so_far: Counter[str] = Counter()
    for number, docs in enumerate(looks, 1):
        assert {sum(clusters[doc] == cluster for doc in docs) for cluster in {clusters[doc] for doc in docs}} == {6}
        so_far.update(categories[doc] for doc in docs)
        assert all(abs(so_far[name] - size * number / 20) <= 12 for name, size in whole.items())


def test_the_order_is_random_and_depends_on_seed_and_task_alone() -> None:
    clusters = {doc: doc for doc in range(100)}
    first = random_order(clusters, {}, 0, "t")
    assert first == random_order(dict(reversed(list(clusters.items()))), {}, 0, "t")
    assert first != random_order(clusters, {}, 1, "t") != random_order(clusters, {}, 0, "u")
    assert sum(docs[0] for docs in first[:50]) == pytest.approx(49.5 * 50, rel=0.3)


def test_few_clusters_leave_looks_empty_and_the_last_one_full() -> None:
    looks = cut_into_looks([[0, 1, 2], [3]], 8)
    assert [docs for docs in looks if docs] == [[0, 1, 2], [3]] and looks[-1] == [3] and looks[5] == [0, 1, 2]
