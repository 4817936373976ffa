"""Prompts run once: prefixes in a cache, prompts that begin alike sharing theirs, and tokens run on top of it.

    prefill   left-padded prompts -> logits after each, keys and values
    grown     right-padded tokens on top of rows of a prefix -> a longer prefix
    prefixes  a batch of prompts -> their prefixes; what a picture's questions or few-shot prompts share runs once

Positions are always stated, and the M-RoPE shift is read right after the prefill, because the model keeps it as state:
a second prefill would silently change the positions of what follows the first.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from .hf_prompt import Prompt

if TYPE_CHECKING:
    from .hf_runtime import Runtime

LEAST_SHARED = 32
"""Tokens of text that prompts must have in common for a pass of their own to pay."""


@dataclass(frozen=True)
class Prefix:
    """What has run so far, row by row.

    logits: after the last token of each row, float32. mask: which cached tokens are real. shift: of M-RoPE positions (0
    without pictures).
    """

    logits: Any
    cache: Any
    mask: Any
    shift: Any

    @property
    def first(self) -> Any:
        """Log-probabilities of the next token."""
        return torch.log_softmax(self.logits, -1)


def prefill(runtime: Runtime, prompts: Sequence[Prompt]) -> Prefix:
    """Runs prompts, each once, and keeps what continuations need."""
    from transformers import DynamicCache

    batch = runtime.collate(prompts)
    mask = batch["attention_mask"]
    computes_positions = runtime.family.mrope and any(prompt.pictures for prompt in prompts)
    if not computes_positions:
        batch["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    output = runtime.model(
        **batch, past_key_values=DynamicCache(config=runtime.model.config), use_cache=True, logits_to_keep=1
    )
    shift = runtime.model.model.rope_deltas if computes_positions else torch.zeros_like(mask[:, :1])
    logits = output.logits[:, -1].float().to(runtime.device)
    return Prefix(logits, output.past_key_values, mask, shift.to(runtime.device).clone())


def run_on(runtime: Runtime, prefix: Prefix, sources: Sequence[int], ids: Sequence[list[int]], **options: Any) -> Any:
    """One forward of right-padded tokens, row i on top of row `sources[i]`; returns (output, mask, row index).

    The prefix stays as it is, unless its rows are all used in order and `last_use` is among the options.
    """
    index = torch.tensor(sources, device=runtime.device)
    longest = max(map(len, ids))
    tokens = torch.tensor([row + [runtime.pad_token] * (longest - len(row)) for row in ids], device=runtime.device)
    valid = [[1] * len(row) + [0] * (longest - len(row)) for row in ids]
    mask = torch.cat([prefix.mask[index], torch.tensor(valid, dtype=prefix.mask.dtype, device=runtime.device)], 1)
    positions = (mask.cumsum(-1) - 1)[:, -longest:] + prefix.shift[index]
    if runtime.family.mrope:
        positions = positions[None].expand(3, -1, -1)
    in_place = options.pop("last_use", False) and list(sources) == list(range(len(prefix.mask)))
    output = runtime.model(
        input_ids=tokens,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=prefix.cache if in_place else _rows_of(prefix.cache, index),
        use_cache=True,
        **options,
    )
    return output, mask, index


def grown(
    runtime: Runtime, prefix: Prefix, sources: Sequence[int], ids: Sequence[list[int]], last_use: bool = False
) -> Prefix:
    """The prefixes that tokens lead to, row i on top of row `sources[i]`. Rows of different lengths leave holes in the mask."""
    last = [len(row) - 1 for row in ids]
    kept = sorted(set(last))
    keep = torch.tensor(kept, device=runtime.device)
    output, mask, index = run_on(runtime, prefix, sources, ids, logits_to_keep=keep, last_use=last_use)
    rows = torch.arange(len(ids), device=output.logits.device)
    places = torch.tensor([kept.index(place) for place in last], device=output.logits.device)
    logits = output.logits[rows, places].float().to(runtime.device)
    return Prefix(logits, output.past_key_values, mask, prefix.shift[index])


def _rows_of(cache: Any, index: Any) -> Any:
    """A cache of the given rows. The original stays as it is: layers replace their tensors, never write into them."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    chosen.reorder_cache(index)
    return chosen


def prefixes(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[int], Prefix]]:
    """The prefixes of prompts, a part at a time: (indices of the prompts, their prefix, row for row)."""
    groups = list(sharing(prompts))
    alone = [place for length, places in groups if not length for place in places]
    if alone:
        yield alone, prefill(runtime, [prompts[place] for place in alone])
    shared = [(length, places) for length, places in groups if length]
    if runtime.holes and shared:
        roots = merged([_root(runtime, prompts[places[0]].cut(length)) for length, places in shared])
        rows = [(number, place, length) for number, (length, places) in enumerate(shared) for place in places]
        tails = [prompts[place].ids[length:] for _, place, length in rows]
        yield [place for _, place, _ in rows], grown(runtime, roots, [number for number, _, _ in rows], tails)
        return
    for length, places in shared:
        by_length: dict[int, list[int]] = {}
        for place in places:
            by_length.setdefault(len(prompts[place].ids), []).append(place)
        root = _root(runtime, prompts[places[0]].cut(length))
        for some in by_length.values():
            tails = [prompts[place].ids[length:] for place in some]
            yield some, grown(runtime, root, [0] * len(some), tails)


def sharing(prompts: Sequence[Prompt]) -> Iterator[tuple[int, list[int]]]:
    """Consecutive prompts that begin alike: (how many tokens they share, their indices); 0 for those that share nothing.

    Prompts with pictures share them all or nothing: the picture's tokens and those before must be among what they share.
    """
    start = 0
    while start < len(prompts):
        length, end = 0, start + 1
        while end < len(prompts):
            common = _common(prompts[start], prompts[end], length)
            if common < _least(prompts[start]) or 2 * common < length:
                break
            length, end = common, end + 1
        yield length, list(range(start, end))
        start = end


def _least(prompt: Prompt) -> int:
    return prompt.picture_end if prompt.pictures else LEAST_SHARED


def _common(one: Prompt, other: Prompt, known: int) -> int:
    """How many tokens can run for both at once; at least one is left to each. known: an upper bound, 0 for none."""
    if one.picture_key != other.picture_key or bool(one.pictures) != bool(other.pictures):
        return 0
    if one.pictures and not one.picture_key:
        return 0
    most = min(len(one.ids), len(other.ids)) - 1
    most = min(most, known) if known else most
    if one.ids[:most] == other.ids[:most]:
        return most
    return next(i for i in range(most) if one.ids[i] != other.ids[i])


def _root(runtime: Runtime, prompt: Prompt) -> Prefix:
    """The prefix of one prompt; the last one is kept, since the next batch often goes on with the same picture or shots."""
    key = (prompt.picture_key, tuple(prompt.ids))
    if runtime.kept_root is None or runtime.kept_root[0] != key:
        runtime.kept_root = None
        runtime.kept_root = key, prefill(runtime, [prompt])
    root: Prefix = runtime.kept_root[1]
    return root


def merged(parts: Sequence[Prefix]) -> Prefix:
    """Prefixes side by side: shorter ones get masked places at the end. Only for caches of full attention."""
    if len(parts) == 1:
        return parts[0]
    longest = max(part.mask.shape[1] for part in parts)
    cache = copy.copy(parts[0].cache)
    cache.layers = [copy.copy(layer) for layer in cache.layers]
    for number, layer in enumerate(cache.layers):
        own = [part.cache.layers[number] for part in parts]
        layer.keys = torch.cat([_padded(each.keys, longest, -2) for each in own])
        layer.values = torch.cat([_padded(each.values, longest, -2) for each in own])
    mask = torch.cat([_padded(part.mask, longest, -1) for part in parts])
    return Prefix(torch.cat([p.logits for p in parts]), cache, mask, torch.cat([p.shift for p in parts]))


def _padded(values: Any, length: int, dimension: int) -> Any:
    missing = length - values.shape[dimension]
    before = [0, 0] * (-dimension - 1)
    return torch.nn.functional.pad(values, [*before, 0, missing]) if missing else values
