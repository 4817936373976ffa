"""Attention in parts: keys that several rows share are looked at once, the own keys of each row apart, and both are joined.

Each part comes with the logarithm of the sum of its weights (log-sum-exp), which says how much it counts for.

    attention, at_once, joined  the arithmetic
    Forward                     the rows of a running forward: places of their new tokens, and the masks
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor,
    scale: float,
    cap: float | None = None,
    alone: bool = False,
) -> tuple[Tensor, Tensor]:
    """Attention of queries (rows, heads, tokens, width) to keys and values (rows, key heads, places, width).

    mask: is added to the scores (rows or 1, 1, tokens, places), or None. cap: scores stay below it (softcap). Returns the mean of
    the values (rows, heads, tokens, width) and the float32 logarithm of the sum of weights (rows, heads, tokens). alone: nothing
    is joined to it, so that the sums are not needed.
    """
    rows, heads, tokens, width = query.shape
    groups = heads // keys.shape[1]
    folded = query.reshape(rows, keys.shape[1], groups * tokens, width)
    if mask is not None and groups > 1 and tokens > 1:
        mask = mask.repeat(1, 1, groups, 1)
    elif mask is not None and groups > 1:
        mask = mask.expand(-1, -1, groups, -1)
    even = cap is None and width == values.shape[-1]
    if alone and cap is None and query.device.type != "cpu":
        found = scaled_dot_product_attention(folded, keys, values, attn_mask=mask, scale=scale)
        return found.reshape(rows, heads, tokens, -1), None
    if even and query.device.type == "cpu" and query.dtype in (torch.float32, torch.bfloat16):
        flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        found, sums = flash(folded, keys, values, 0.0, False, attn_mask=mask, scale=scale)
    else:
        found, sums = _written_out(folded, keys, values, mask, scale, cap)
    return found.reshape(rows, heads, tokens, -1), sums.reshape(rows, heads, tokens)


def joined(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Attention to two parts of the keys as one."""
    (a, sums_a), (b, sums_b) = one, other
    both = torch.logaddexp(sums_a, sums_b)
    weight = (sums_b - both).exp()[..., None]
    return (a * (1 - weight) + b * weight).to(a), both


def at_once(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float, cap: float | None
) -> tuple[Tensor, Tensor]:
    """Attention of rows (rows, heads, tokens, width) to one root: a single product for each head of the keys."""
    count, heads, tokens, width = query.shape
    groups = heads // keys.shape[1]
    one = query.reshape(count, -1, groups, tokens, width).transpose(0, 1).reshape(1, keys.shape[1], -1, width)
    if mask is not None:
        mask = mask[:, None].expand(-1, groups, -1, -1).reshape(1, 1, -1, keys.shape[2])
    found, weight = attention(one, keys, values, mask, scale, cap)
    found = found.reshape(-1, count, groups, tokens, values.shape[-1]).transpose(0, 1)
    weight = weight.reshape(-1, count, groups, tokens).transpose(0, 1)
    return found.reshape(count, heads, tokens, -1), weight.reshape(count, heads, tokens)


def _written_out(
    query: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float, cap: float | None
) -> tuple[Tensor, Tensor]:
    """The same in plain products; scores are float32 whatever the dtype."""
    if query.device.type == "cuda" and query.dtype != torch.float32:
        flat = torch.bmm(query.flatten(0, 1), keys.flatten(0, 1).transpose(1, 2), out_dtype=torch.float32)
        scores = flat.unflatten(0, query.shape[:2]) * scale
    else:
        scores = query.float() @ keys.float().transpose(2, 3) * scale
    if cap is not None:
        scores = torch.tanh(scores / cap) * cap
    if mask is not None:
        scores = scores + mask
    sums = scores.logsumexp(-1)
    return (scores - sums[..., None]).exp().to(values) @ values, sums


class Forward:
    """The rows of a running forward and the places of their new tokens. Masks are made once for all layers.

    lengths: tokens of each row that are there already. new: numbers of new tokens. first: the index of the first row.

    New tokens are left-padded, so that all rows end in the last column. A row's padding goes to the places after its new tokens,
    where nobody looks before something else is written there.
    """

    def __init__(self, lengths: Sequence[int], new: Sequence[int], roots: Sequence[Any], first: int) -> None:
        self.lengths, self.new, self.first = list(lengths), list(new), first
        self.tokens = max(self.new, default=0)
        places: dict[int, list[int]] = {}
        by_id = {id(root): root for root in roots if root}
        for row, root in enumerate(roots):
            if root:
                places.setdefault(id(root), []).append(row)
        self.groups = [(by_id[key], together(rows), rows) for key, rows in places.items()]
        self._made: dict[tuple[object, ...], Tensor] = {}

    def places(self, device: torch.device) -> Tensor:
        """Where new tokens are written, and up to where they look (rows, tokens)."""
        key = ("places", device)
        if key not in self._made:
            column = torch.arange(self.tokens, device=device)
            lengths, new = (torch.tensor(values, device=device)[:, None] for values in (self.lengths, self.new))
            self._made[key] = lengths + (column - self.tokens + new) % self.tokens
        return self._made[key]

    def rows(self, device: torch.device) -> Tensor:
        """The indices of the rows in their buffer (rows, 1)."""
        key = ("rows", device)
        if key not in self._made:
            self._made[key] = torch.arange(self.first, self.first + len(self.lengths), device=device)[:, None]
        return self._made[key]

    def own_mask(self, window: int | None, like: Tensor) -> Tensor | None:
        """What is added to the scores of a row's own keys (rows, 1, tokens, longest). None if each sees all of them."""
        seen = max(self.lengths) + self.tokens
        if self.tokens == 1 and min(self.lengths) + 1 == seen and (window is None or seen <= window):
            return None
        key = ("own", window, like.device)
        if key not in self._made:
            last = self.places(like.device)[..., None]
            place = torch.arange(seen, device=like.device)
            hidden = place > last
            if window is not None:
                hidden |= place <= last - window
            self._made[key] = _added(hidden, like)[:, None]
        return self._made[key]

    def root_mask(self, root: Any, rows: list[int], held: int, window: int | None, like: Tensor) -> Tensor | None:
        """The same for the keys of a root, of which a layer holds the last ones (rows, tokens, held)."""
        if window is None or max(self.lengths[row] for row in rows) + self.tokens + held - 1 < window:
            return None
        key = ("root", id(root), held, window, like.device)
        if key not in self._made:
            last = root.length + self.places(like.device)[rows][..., None]
            place = torch.arange(root.length - held, root.length, device=like.device)
            self._made[key] = _added(place <= last - window, like)
        return self._made[key]


def _added(hidden: Tensor, like: Tensor) -> Tensor:
    return torch.zeros(hidden.shape, dtype=like.dtype, device=like.device).masked_fill_(
        hidden, torch.finfo(like.dtype).min
    )


def together(rows: list[int]) -> slice | list[int]:
    """A slice if the rows stand together, which copies nothing."""
    return slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] == len(rows) - 1 else rows
