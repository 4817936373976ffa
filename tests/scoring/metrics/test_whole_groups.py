"""Shares of groups that are all right: the fast jackknife gives the numbers of the plain one."""

import random

import pytest
from mm_eval.tasks.rules.whole_groups import whole_groups

from mm_eval.scoring.metrics.stderr import standard_error
from mm_eval.scoring.metrics.traits import declare, smooth

KINDS = {"questions": (("q",), False), "figures": (("f",), False), "average": (("q", "f"), True)}


def items_of(count: int, seed: int = 0) -> list[dict]:
    """Six items a set, in two questions and three figures; a tenth without a figure."""
    draw = random.Random(seed)
    return [
        {
            "right": float(draw.random() < 0.7),
            "q": f"{n // 6}/{n % 2}",
            "f": None if draw.random() < 0.1 else f"{n // 6}/{n % 3}",
        }
        for n in range(count)
    ]


def plain(keys: tuple[str, ...], with_items: bool):
    """The same number by counting all items at each call."""

    @smooth
    def counted(items) -> float:
        shares = [sum(item["right"] for item in items) / len(items)] if with_items else []
        for key in keys:
            groups: dict = {}
            for item in items:
                if item[key] is not None:
                    groups[item[key]] = groups.get(item[key], True) and item["right"] == 1
            shares.append(sum(groups.values()) / len(groups) if groups else 0.0)
        return sum(shares) / len(shares)

    return counted


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("docs", [2, 7, 300, pytest.param(30_000, marks=pytest.mark.full)])
def test_the_fast_jackknife_gives_the_plain_ones_numbers(kind: str, docs: int) -> None:
    keys, with_items = KINDS[kind]
    fast, slow, items = whole_groups(*keys, with_items=with_items), plain(keys, with_items), items_of(docs)
    clusters = [n // 3 for n in range(docs)] if docs > 2 else None
    assert fast(items) == slow(items)
    found, wanted = standard_error(fast, items, clusters), standard_error(slow, items, clusters)
    assert found.note == wanted.note and found.value == pytest.approx(wanted.value, rel=1e-12, abs=1e-12)


def test_items_without_any_group_have_a_share_of_0() -> None:
    assert whole_groups("f")([{"right": 1, "f": None}] * 3) == 0


def test_leaving_docs_out_reads_only_those_docs() -> None:
    """HallusionBench's standard errors took 50 s for 100,000 docs: every one of 200 replicates read all of them."""
    read = 0

    class Counted(dict):
        def __getitem__(self, key):
            nonlocal read
            read += 1
            return dict.__getitem__(self, key)

    items = [Counted(item) for item in items_of(3000)]
    assert standard_error(whole_groups("q", "f", with_items=True), items).value
    assert read < 30 * len(items), f"{read} reads of {len(items)} items"


def test_a_declared_way_that_gives_another_number_is_not_used() -> None:
    @declare(smooth=True, without=lambda values: lambda left_out: 1.0)
    def total(values) -> float:
        return sum(values) / len(values)

    values = [0.0, 1.0, 0.0, 0.0, 1.0]
    assert standard_error(total, values).value == pytest.approx(0.24494897427831783)
