"""The share of groups of docs that are all right: a question asked of several figures counts if every answer is right.

The jackknife of such a share needs its value without some docs, again and again. Only the groups of these docs change, so each
value costs as much as the docs left out, and not as all docs (`Traits.without`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics.traits import declare

Item = Mapping[str, Any]


class _Groups:
    """How many items and how many wrong ones each group has. key: the entry of an item that names its group, or is None."""

    def __init__(self, items: Sequence[Item], key: str) -> None:
        self.of: list[Hashable] = [item[key] for item in items]
        self.wrong_items = [item["right"] != 1 for item in items]
        self.sizes = Counter(group for group in self.of if group is not None)
        self.wrong = Counter(g for g, bad in zip(self.of, self.wrong_items, strict=True) if bad and g is not None)

    def share_without(self, left_out: Collection[int] = ()) -> float:
        """The share of groups that are all right, without the items at these positions; 0 if no group is left."""
        sizes, wrong = Counter[Hashable](), Counter[Hashable]()
        for position in left_out:
            if (group := self.of[position]) is not None:
                sizes[group] += 1
                wrong[group] += self.wrong_items[position]
        emptied = sum(1 for group, count in sizes.items() if count == self.sizes[group])
        right = len(self.sizes) - len(self.wrong)
        for group, count in sizes.items():
            was_right = group not in self.wrong
            is_right = count < self.sizes[group] and wrong[group] == self.wrong[group]
            right += is_right - was_right
        groups = len(self.sizes) - emptied
        return right / groups if groups else 0.0


def whole_groups(*keys: str, with_items: bool = False) -> Callable[[Sequence[Item]], float]:
    """An aggregation: the share of groups whose items are all right; of several kinds of groups, the mean of their shares.

    An item is {"right": 1 or 0, key: its group, or None where it belongs to none}. with_items: the share of right items is one
    more of the shares.

    >>> items = [{"right": 1, "q": "a"}, {"right": 0, "q": "a"}, {"right": 1, "q": "b"}, {"right": 0, "q": None}]
    >>> whole_groups("q")(items), whole_groups("q", with_items=True)(items)
    (0.5, 0.5)
    """

    def without(items: Sequence[Item]) -> Callable[[Collection[int]], float]:
        kinds = [_Groups(items, key) for key in keys]
        right = [item["right"] == 1 for item in items]
        total = sum(right)

        def share(left_out: Collection[int]) -> float:
            shares: list[float] = []
            if with_items:
                shares.append((total - sum(right[i] for i in left_out)) / (len(items) - len(left_out)))
            shares += [groups.share_without(left_out) for groups in kinds]
            return sum(shares) / len(shares)

        return share

    @declare(smooth=True, without=without)
    def whole(items: Sequence[Item]) -> float:
        """The share of groups that are all right."""
        return without(items)(())

    return whole
