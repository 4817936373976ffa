"""Attention over packed rows: every question sees its picture's prefix and itself, and nothing else is computed.

A dense mask over the whole row costs three times the scores; the CPU's flash kernel was 60% of a training step.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface

NAME, PLAIN = "packed_questions", "plain"


@dataclass
class Bucket:
    """Questions of about one length as a block (count, width), padded on the right.

    tokens: flat indices into the rows behind the prefix, (count * width). owner: the row of each question. bias: 0
    where a query sees a key of (prefix, block), else minus infinity.
    """

    tokens: Tensor
    owner: Tensor
    width: int
    bias: Tensor


@dataclass
class Blocks:
    """How a batch's rows fall into questions; back: where each flat token lies in the joined buckets."""

    prefix: int
    buckets: list[Bucket]
    back: Tensor


_current: list[Blocks] = []


def blocks_of(question: Tensor, prefix: int) -> Blocks:
    """The blocks of a batch. question: (rows, length), the question a token belongs to, -1 for padding."""
    rows, length = question.shape
    spans: list[tuple[int, int, int]] = []
    for row, numbers in enumerate(question):
        kept, counts = numbers[numbers > 0].unique_consecutive(return_counts=True)
        start = row * length
        for count in counts.tolist():
            spans.append((row, start, count))
            start += count
    spans.sort(key=lambda span: span[2])
    cuts = [0, *(int(share * len(spans)) for share in (0.4, 0.67, 0.88)), len(spans)]
    back = torch.zeros(rows * length, dtype=torch.long)
    buckets, done = [], 0
    # Questions with listed options are twice as long as the others, and some forms much longer.
    for begin, end in pairwise(cuts):
        some = spans[begin:end]
        if not some:
            continue
        width = max(count for *_, count in some)
        start, count = torch.tensor([span[1] for span in some]), torch.tensor([span[2] for span in some])
        step = torch.arange(width)[None]
        inside = step < count[:, None]
        tokens = torch.where(inside, start[:, None] + step, start[:, None]).flatten()
        places = done + torch.arange(len(some) * width)
        back[tokens[inside.flatten()]] = places[inside.flatten()]
        bias = torch.full((width, width), float("-inf")).triu(1)
        bias = torch.cat([torch.zeros(width, prefix), bias], 1)
        buckets.append(Bucket(tokens, torch.tensor([span[0] for span in some]), width, bias))
        done += len(some) * width
    return Blocks(prefix, buckets, back)


@contextmanager
def packed_attention(config: Any, blocks: Blocks) -> Iterator[None]:
    """Within it the language model of the config attends by blocks."""
    before = config._attn_implementation
    config._attn_implementation = NAME
    _current.append(blocks)
    try:
        yield
    finally:
        _current.pop()
        config._attn_implementation = before


def dense(query: Tensor, key: Tensor, value: Tensor, scaling: float, bias: Tensor | None = None) -> Tensor:
    """Plain attention in the type of the values: on matrices this small twice as fast as the CPU's flash kernel."""
    query, key = query.to(value.dtype), key.to(value.dtype)
    with torch.autocast("cpu", enabled=False):
        scores = (query * scaling) @ key.transpose(2, 3)
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        return scores.softmax(-1) @ value


def _attend(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, scaling: float = 1.0, **kwargs: Any
) -> tuple[Tensor, None]:
    blocks = _current[-1]
    # Under autocast the rotation leaves float32 here; gathering half of the bytes is cheaper.
    query, key = query.to(value.dtype), key.to(value.dtype)
    rows, heads, length, size = query.shape
    cut = blocks.prefix
    seen_key, seen_value = key[:, :, :cut], value[:, :, :cut]
    causal = torch.full((cut, cut), float("-inf")).triu(1)
    prefix = dense(query[:, :, :cut], seen_key, seen_value, scaling, causal)
    flat = [part[:, :, cut:].transpose(1, 2).reshape(-1, heads * size) for part in (query, key, value)]
    outputs = []
    for bucket in blocks.buckets:
        shape = (len(bucket.owner), bucket.width, heads, size)
        q, k, v = (part.index_select(0, bucket.tokens).view(shape).transpose(1, 2) for part in flat)
        k = torch.cat([seen_key.index_select(0, bucket.owner), k], 2)
        v = torch.cat([seen_value.index_select(0, bucket.owner), v], 2)
        outputs.append(dense(q, k, v, scaling, bucket.bias).transpose(1, 2).reshape(-1, heads * size))
    behind = torch.cat(outputs).index_select(0, blocks.back).view(rows, length - cut, heads, size)
    return torch.cat([prefix.transpose(1, 2), behind], 1), None


def _plain(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Any, scaling: float = 1.0, **kwargs: Any
) -> tuple[Tensor, None]:
    return dense(query, key, value, scaling).transpose(1, 2), None


AttentionInterface.register(NAME, _attend)
AttentionInterface.register(PLAIN, _plain)
