"""Prompts run once: prefixes in a cache, and tokens run on top of them (hf_sharing: which prompts share theirs).

    prefill    left-padded prompts -> logits after each, keys and values
    grown      right-padded tokens on top of rows of a prefix -> a longer prefix
    completed  the rest of prompts, pictures too, on top of what they all begin with -> their prefixes

Positions are always stated, and the M-RoPE shift is read right after the prefill, because the model keeps it as state:
a second prefill would silently change the positions of what follows the first.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from .hf_prompt import Prompt

if TYPE_CHECKING:
    from .hf_runtime import Runtime


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
    positions = options.pop("position_ids", None)
    if positions is None:
        positions = (mask.cumsum(-1) - 1)[:, -longest:] + prefix.shift[index]
        positions = positions[None].expand(3, -1, -1) if runtime.family.mrope else positions
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


def grown(runtime: Runtime, prefix: Prefix, sources: Sequence[int], ids: Sequence[list[int]], **options: Any) -> Prefix:
    """The prefixes that tokens lead to, row i on top of row `sources[i]`. Rows of different lengths leave holes in the mask.

    options: of `run_on`.
    """
    last = [len(row) - 1 for row in ids]
    kept = sorted(set(last))
    keep = torch.tensor(kept, device=runtime.device)
    output, mask, index = run_on(runtime, prefix, sources, ids, logits_to_keep=keep, **options)
    rows = torch.arange(len(ids), device=output.logits.device)
    places = torch.tensor([kept.index(place) for place in last], device=output.logits.device)
    logits = output.logits[rows, places].float().to(runtime.device)
    return Prefix(logits, output.past_key_values, mask, prefix.shift[index])


def completed(runtime: Runtime, head: Prefix, length: int, pictures: int, prompts: Sequence[Prompt]) -> Prefix:
    """The prefixes of prompts that all begin with the `length` tokens and so many pictures of a prefix of one row."""
    tails = [prompt.ids[length:] for prompt in prompts]
    options = runtime.shown([picture for prompt in prompts for picture in prompt.pictures[pictures:]])
    shift = None
    if runtime.family.mrope and prompts[0].pictures:
        options["position_ids"], shift = _positions_from(runtime, prompts, length)
    made = grown(runtime, head, [0] * len(prompts), tails, **options)
    return made if shift is None else replace(made, shift=shift)


def _positions_from(runtime: Runtime, prompts: Sequence[Prompt], start: int) -> tuple[Any, Any]:
    """M-RoPE positions of the tokens after the first `start`, right-padded (3, rows, longest), and each prompt's shift."""
    longest = max(len(prompt.ids) for prompt in prompts)
    positions, shifts = [], []
    for prompt in prompts:
        batch = runtime.tokens([prompt])
        grid = torch.cat([picture.tensors["image_grid_thw"] for picture in prompt.pictures]).to(runtime.device)
        whole, shift = runtime.model.model.get_rope_index(
            batch["input_ids"], batch["mm_token_type_ids"], image_grid_thw=grid, attention_mask=batch["attention_mask"]
        )
        positions.append(torch.nn.functional.pad(whole[:, :, start:], (0, longest - whole.shape[-1])))
        shifts.append(shift)
    return torch.cat(positions, 1).to(runtime.device), torch.cat(shifts).to(runtime.device)


def snapshot(prefix: Prefix, length: int | None = None) -> Prefix:
    """A prefix that stays as it is when this one grows; with a length only its first tokens, and no logits.

    Only a prefix of one row without masked places has first tokens, and only caches of full attention can be cut.
    """
    cache = _copied(prefix.cache)
    if length is None:
        return replace(prefix, cache=cache)
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[..., :length, :], layer.values[..., :length, :]
    return replace(prefix, cache=cache, mask=prefix.mask[:, :length])


def _rows_of(cache: Any, index: Any) -> Any:
    """A cache of the given rows. The original stays as it is."""
    chosen = _copied(cache)
    chosen.reorder_cache(index)
    return chosen


def _copied(cache: Any) -> Any:
    """Another cache with the same keys and values, which layers replace and never write into, and states of its own."""
    other = copy.copy(cache)
    other.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in other.layers:
        for name, states in vars(layer).items():
            if isinstance(states, dict):  # of convolutions (lfm2), which are written in place
                setattr(layer, name, {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in states.items()})
    return other


def merged(parts: Sequence[Prefix]) -> Prefix:
    """Prefixes side by side: shorter ones get masked places at the end. Only for caches of full attention."""
    if len(parts) == 1:
        return parts[0]
    longest = max(part.mask.shape[1] for part in parts)
    cache = _copied(parts[0].cache)
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
