"""The random order in which all models of a comparison answer: the same for each, whole clusters, categories in step.

Any beginning of the order is a small copy of the whole: each category has its share of it. So a number over a beginning is
a number of the benchmark, only less sure, and models that answered the same beginning are paired on it.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence

from mm_eval.values.files import digest_of


def random_order(
    clusters: Mapping[int, Hashable], categories: Mapping[int, Hashable], seed: int, name: str
) -> list[list[int]]:
    """The clusters in random order, each the list of its docs.

    clusters: {doc id: cluster}. categories: {doc id: category}; a cluster belongs to that of its first doc. name: of the task, so
    that tasks of equal size have orders of their own.
    Each category's clusters are put in random order and spread evenly from 0 to 1, each at a random place of its part.
    """
    generator = random.Random(f"{seed} {name}")
    members: dict[Hashable, list[int]] = {}
    for doc_id in sorted(clusters):
        members.setdefault(clusters[doc_id], []).append(doc_id)
    strata: dict[Hashable, list[list[int]]] = {}
    for docs in members.values():
        strata.setdefault(categories.get(docs[0]), []).append(docs)
    placed: list[tuple[float, list[int]]] = []
    for found in strata.values():
        generator.shuffle(found)
        placed += [((place + generator.random()) / len(found), docs) for place, docs in enumerate(found)]
    placed.sort(key=lambda each: (each[0], each[1][0]))
    return [docs for _, docs in placed]


def cut_into_looks(order: Sequence[Sequence[int]], looks: int) -> list[list[int]]:
    """The docs of each look, whole clusters: after look k at most k / looks of all docs are done. A look may be empty.

    >>> cut_into_looks([[0, 1], [2], [3]], 4)
    [[], [0, 1], [2], [3]]
    """
    total, done, found = sum(map(len, order)), 0, [list[int]() for _ in range(looks)]
    for docs in order:
        done += len(docs)
        found[-(-done * looks // total) - 1] += docs
    return found


def order_digest(looks: Mapping[str, Sequence[Sequence[int]]], data: Mapping[str, str]) -> str:
    """What two models must have in common to be paired look by look: the docs of each look, and the data."""
    return digest_of(
        {"looks": {name: [list(docs) for docs in found] for name, found in looks.items()}, "data": dict(data)}
    )
