"""Prompts that begin alike (`beginnings.py`) run once: prefixes in a cache to go on from.

    beginnings prompts -> the prefixes of what they share, which runs once, on top of what is kept from earlier batches
    prefixes   prompts -> their own prefixes
    prefill    left-padded prompts -> logits after each, keys and values
    grown      right-padded tokens on top of rows of a prefix -> a longer prefix
    completed  the rest of prompts, pictures included, on top of their common beginning -> their prefixes

Positions are always explicit. The M-RoPE shift is read right after the prefill, because the model keeps it as state: a second
prefill would silently change the positions of what follows the first.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..prompts.prompt import Prompt
from .beginnings import common_beginning, sharing, shows_alike
from .runtime import Runtime

if TYPE_CHECKING:
    from transformers import Cache
    from transformers.utils import ModelOutput


@dataclass(frozen=True)
class Prefix:
    """Rows of tokens that have run.

    logits: after the last token of each row, float32. mask: which cached tokens are real. shift: of M-RoPE positions (0
    without pictures). seen: what the last token of each row sees of the pictures beside the tokens (rows, 1, pictures, tiles).
    """

    logits: Tensor
    cache: Cache
    mask: Tensor
    shift: Tensor
    seen: Tensor | None = None

    @property
    def first(self) -> Tensor:
        """Log-probabilities of the next token."""
        return torch.log_softmax(self.logits, -1)


def prefill(runtime: Runtime, prompts: Sequence[Prompt]) -> Prefix:
    """Runs prompts and keeps what continuations need."""
    from transformers import DynamicCache

    batch = runtime.collate(prompts)
    mask = batch["attention_mask"]
    computes_positions = runtime.family.mrope and any(prompt.pictures for prompt in prompts)
    if not computes_positions:
        batch["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
    output = runtime.forward(1, **batch, past_key_values=DynamicCache(config=runtime.model.config), use_cache=True)
    shift = runtime.model.model.rope_deltas if computes_positions else torch.zeros_like(mask[:, :1])
    logits = output.logits[:, -1].float().to(runtime.device)
    seen = batch["cross_attention_mask"][:, -1:] if "cross_attention_mask" in batch else None
    return Prefix(logits, output.past_key_values, mask, shift.to(runtime.device).clone(), seen)


def run_on(
    runtime: Runtime,
    prefix: Prefix,
    sources: Sequence[int],
    ids: Sequence[list[int]],
    keep: int | Tensor | None = None,
    **options: object,
) -> tuple[ModelOutput, Tensor, Tensor]:
    """One forward of right-padded tokens, row i on top of row `sources[i]`; returns (output, mask, row index).

    keep: as of `Runtime.forward`; None: the logits of all tokens.

    The prefix is unchanged, unless its rows are all used in order and `last_use` is among the options.
    """
    index = torch.tensor(sources, device=runtime.device)
    longest = max(map(len, ids))
    tokens = torch.tensor([row + [runtime.pad_token] * (longest - len(row)) for row in ids], device=runtime.device)
    valid = [[1] * len(row) + [0] * (longest - len(row)) for row in ids]
    mask = torch.cat([prefix.mask[index], torch.tensor(valid, dtype=prefix.mask.dtype, device=runtime.device)], 1)
    positions = options.pop("position_ids", None)
    if positions is None:
        positions = (mask.cumsum(-1) - 1)[:, -longest:] + prefix.shift[index]
        positions = positions[None].expand(runtime.family.axes, -1, -1) if runtime.family.mrope else positions
    if prefix.seen is not None:
        options["cross_attention_mask"] = prefix.seen[index].expand(-1, longest, -1, -1)
    in_place = options.pop("last_use", False) and list(sources) == list(range(len(prefix.mask)))
    output = runtime.forward(
        longest if keep is None else keep,
        input_ids=tokens,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=prefix.cache if in_place else _rows_of(prefix.cache, index),
        use_cache=True,
        **options,
    )
    return output, mask, index


def grown(
    runtime: Runtime, prefix: Prefix, sources: Sequence[int], ids: Sequence[list[int]], **options: object
) -> Prefix:
    """The prefixes after more tokens, row i on top of row `sources[i]`. Rows of different lengths leave holes in the mask.

    options: passed to `run_on`.
    """
    last = [len(row) - 1 for row in ids]
    kept = sorted(set(last))
    keep = torch.tensor(kept, device=runtime.device)
    output, mask, index = run_on(runtime, prefix, sources, ids, keep, **options)
    rows = torch.arange(len(ids), device=output.logits.device)
    places = torch.tensor([kept.index(place) for place in last], device=output.logits.device)
    logits = output.logits[rows, places].float().to(runtime.device)
    seen = None if prefix.seen is None else prefix.seen[index]
    return Prefix(logits, output.past_key_values, mask, prefix.shift[index], seen)


def completed(runtime: Runtime, head: Prefix, length: int, pictures: int, prompts: Sequence[Prompt]) -> Prefix:
    """The prefixes of prompts that all begin with the `length` tokens and the pictures of a prefix of one row."""
    tails = [prompt.ids[length:] for prompt in prompts]
    options = runtime.shown([picture for prompt in prompts for picture in prompt.pictures[pictures:]])
    shift = None
    if runtime.family.mrope and prompts[0].pictures:
        options["position_ids"], shift = _positions_from(runtime, prompts, length)
    made = grown(runtime, head, [0] * len(prompts), tails, **options)
    return made if shift is None else replace(made, shift=shift)


_OF_POSITIONS = ("image_grid_thw", "video_grid_thw", "second_per_grid_ts")
"""The tensors by which a model finds the positions of what a prompt shows."""
_RENAMED = {"feature_attention_mask": "audio_seqlens", "video_second_per_grid": "second_per_grids"}
"""Those of types that hear, which find what is shown by its ids and count frames of sound, and their names there."""


def _positions_from(runtime: Runtime, prompts: Sequence[Prompt], start: int) -> tuple[Tensor, Tensor]:
    """M-RoPE positions of the tokens after the first `start`, right-padded (axes, rows, longest), and each prompt's shift."""
    longest = max(len(prompt.ids) for prompt in prompts)
    positions, shifts = [], []
    for prompt in prompts:
        batch = runtime.tokens([prompt])
        grids: dict[str, Any] = {}
        for name in (*_OF_POSITIONS, *_RENAMED):
            if some := [picture.tensors[name] for picture in prompt.pictures if name in picture.tensors]:
                grids[name] = torch.cat(some).to(runtime.device)
        for name in _RENAMED.keys() & grids.keys():
            grids[_RENAMED[name]] = grids.pop(name)
        if "audio_seqlens" in grids:
            grids["audio_seqlens"] = grids["audio_seqlens"].sum(-1)
        if any(picture.in_video for picture in prompt.pictures):
            grids["use_audio_in_video"] = True
        positions_of = runtime.model.model.get_rope_index
        if "audio_seqlens" not in inspect.signature(positions_of).parameters:
            grids["mm_token_type_ids"] = batch["mm_token_type_ids"]
        whole, shift = positions_of(batch["input_ids"], attention_mask=batch["attention_mask"], **grids)
        positions.append(torch.nn.functional.pad(whole[:, :, start:], (0, longest - whole.shape[-1])))
        shifts.append(shift)
    return torch.cat(positions, 1).to(runtime.device), torch.cat(shifts).to(runtime.device)


def snapshot(prefix: Prefix, length: int | None = None) -> Prefix:
    """A copy that does not change when this prefix grows. With a length: only its first tokens, without valid logits.

    Only a prefix of one row without masked places can be cut, and only in caches of full attention.
    """
    cache = _copied(prefix.cache)
    if length is None:
        return replace(prefix, cache=cache)
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[..., :length, :], layer.values[..., :length, :]
    return replace(prefix, cache=cache, mask=prefix.mask[:, :length])


def _rows_of(cache: Cache, index: Tensor) -> Cache:
    """A cache of the given rows. The original is unchanged."""
    chosen = _copied(cache)
    chosen.reorder_cache(index)
    return chosen


def _copied(cache: Cache) -> Cache:
    """A cache with the same keys and values, which layers replace and never write into, and copied states."""
    other = copy.copy(cache)
    other.layers = [copy.copy(layer) for layer in cache.layers]
    for layer in other.layers:
        for name, states in vars(layer).items():
            if isinstance(states, dict):  # of convolutions (lfm2), which are written in place
                setattr(layer, name, {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in states.items()})
    return other


def merged(parts: Sequence[Prefix]) -> Prefix:
    """Joins prefixes. Shorter ones get masked places at the end. Only for caches of full attention."""
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


def _padded(values: Tensor, length: int, dimension: int) -> Tensor:
    missing = length - values.shape[dimension]
    before = [0, 0] * (-dimension - 1)
    return torch.nn.functional.pad(values, [*before, 0, missing]) if missing else values


MOST_PADDING = 0.2
"""Maximum share of padding in a batch of beginnings."""


def prefixes(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[int], Prefix]]:
    """Yields the prefixes of prompts in parts: (indices of the prompts, their prefix with a row for each)."""
    shared: list[tuple[Prompt, list[int], Prefix]] = []
    for begun, prefix in beginnings(runtime, prompts):
        if len(begun) == 1 and len(begun[0][1]) > 1:
            shared.append((*begun[0], prefix))
        else:
            yield [place for _, places in begun for place in places], prefix
    if runtime.holes and shared:
        roots = merged([prefix for _, _, prefix in shared])
        rows = [(number, place) for number, (_, places, _) in enumerate(shared) for place in places]
        tails = [prompts[place].ids[len(shared[number][0].ids) :] for number, place in rows]
        yield [place for _, place in rows], grown(runtime, roots, [number for number, _ in rows], tails)
        return
    for root, places, prefix in shared:
        by_length: dict[int, list[int]] = {}
        for place in places:
            by_length.setdefault(len(prompts[place].ids), []).append(place)
        for some in by_length.values():
            tails = [prompts[place].ids[len(root.ids) :] for place in some]
            yield some, grown(runtime, prefix, [0] * len(some), tails)


def beginnings(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[tuple[Prompt, list[int]]], Prefix]]:
    """Runs what prompts share, and whole those that share nothing.

    Yields parts: (what ran and the indices of the prompts that begin with it, row by row; the prefix). A part is one beginning
    of several prompts, or any number of whole ones. Beginnings run in batches of several pictures.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, prompt in enumerate(prompts):
        alike.setdefault(runtime.beside(prompt), []).append(place)
    for some in alike.values():
        for part, prefix in _beginnings(runtime, [prompts[place] for place in some]):
            yield [(root, [some[place] for place in places]) for root, places in part], prefix


def _beginnings(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[tuple[Prompt, list[int]]], Prefix]]:
    """The same for prompts that may share a batch."""
    groups = list(sharing(runtime, prompts))
    alone = [place for length, places in groups if not length for place in places]
    shared = [(prompts[places[0]].cut(length), places) for length, places in groups if length]
    _keep_head(runtime, [*(prompts[place] for place in alone), *(root for root, _ in shared)])
    kept = runtime.kept if shared and runtime.keeps else None
    if alone:
        prefix = _whole(runtime, [prompts[place] for place in alone])
        ends = alone[-1] == len(prompts) - 1
        if ends and len(alone) > 1 and prompts[-1].pictures and runtime.keeps:
            runtime.kept = prompts[-1], _apart(runtime, _line(runtime, prefix, len(alone) - 1))
        last = runtime.kept if ends else None
        yield [(prompts[place], [place]) for place in alone], prefix
        runtime.kept = kept if shared else runtime.kept
    for (root, places), prefix in zip(shared, _begun(runtime, [root for root, _ in shared]), strict=True):
        yield [(root, places)], prefix
    if alone and ends:
        runtime.kept = last


def _whole(runtime: Runtime, prompts: Sequence[Prompt]) -> Prefix:
    """The prefixes of prompts that share nothing. The first one goes on from the kept one if only that is possible."""
    if runtime.holes and _only_first_goes_on(runtime, prompts):
        return merged([_started(runtime, prompts[:1]), _started(runtime, prompts[1:])])
    return _started(runtime, prompts)


def _begun(runtime: Runtime, roots: Sequence[Prompt]) -> list[Prefix]:
    """The prefix of each root, of one row. Roots run in batches, without the first if it alone goes on from the kept one."""
    made: dict[int, Prefix] = {}
    places = list(range(len(roots)))
    if _only_first_goes_on(runtime, roots):
        made[places.pop(0)] = _started(runtime, roots[:1])
    for some in _batches(runtime, roots, places):
        prefix = _started(runtime, [roots[place] for place in some])
        made.update((place, _line(runtime, prefix, line)) for line, place in enumerate(some))
    if len(roots) > 1 and runtime.keeps:
        runtime.kept = roots[-1], _apart(runtime, made[len(roots) - 1])
    return [made[place] for place in range(len(roots))]


def _only_first_goes_on(runtime: Runtime, prompts: Sequence[Prompt]) -> bool:
    return len(prompts) > 1 and _goes_on(runtime, prompts[:1]) and not _goes_on(runtime, prompts)


def _batches(runtime: Runtime, roots: Sequence[Prompt], places: Sequence[int]) -> Iterator[list[int]]:
    """Places of roots that run together: of similar length, as many as the runtime allows."""
    batch, held = list[int](), 0
    for place in sorted(places, key=lambda place: -len(roots[place].ids)):
        length = len(roots[place].ids)
        longest = len(roots[batch[0]].ids) if batch else length
        padded = longest * (len(batch) + 1)
        if batch and (runtime.is_full(len(batch), longest) or padded - held - length > MOST_PADDING * padded):
            yield batch
            batch, held = [], 0
        batch.append(place)
        held += length
    if batch:
        yield batch


def _line(runtime: Runtime, prefix: Prefix, line: int) -> Prefix:
    """One row of a prefix: with full attention a view without padding, else a copy with it (windows, states of convolutions)."""
    row = slice(line, line + 1)
    if not runtime.holes:
        cache = _rows_of(prefix.cache, torch.tensor([line], device=runtime.device))
        seen = None if prefix.seen is None else prefix.seen[row]
        return Prefix(prefix.logits[row], cache, prefix.mask[row], prefix.shift[row], seen)
    real = prefix.mask[line].nonzero()[:, 0]
    places = slice(int(real[0]), int(real[-1]) + 1)
    cache = _copied(prefix.cache)
    for layer in cache.layers:
        layer.keys, layer.values = layer.keys[row, ..., places, :], layer.values[row, ..., places, :]
    return Prefix(prefix.logits[row], cache, prefix.mask[row, places], prefix.shift[row])


def _apart(runtime: Runtime, line: Prefix) -> Prefix:
    """A copy of a row, which does not hold the memory of the batch."""
    return replace(line, cache=_rows_of(line.cache, torch.tensor([0], device=runtime.device)))


def _started(runtime: Runtime, prompts: Sequence[Prompt]) -> Prefix:
    """The prefixes of prompts, on top of the kept one if all of them begin like it."""
    last = prompts[-1]
    made = None
    if runtime.kept is not None:
        known, prefix = runtime.kept
        if _is_known(runtime, prompts):
            return snapshot(prefix)
        if beginning := common_beginning(runtime, known, prompts):
            length, pictures = beginning
            made = completed(runtime, snapshot(prefix, length), length, pictures, prompts)
    if made is None:
        runtime.kept = None  # its memory is needed
        made = prefill(runtime, prompts)
    if len(prompts) == 1 and runtime.keeps:
        runtime.kept = last, snapshot(made)
    return made


def _is_known(runtime: Runtime, prompts: Sequence[Prompt]) -> bool:
    """Whether a single prompt is the kept one."""
    if runtime.kept is None or len(prompts) > 1:
        return False
    return prompts[0].ids == runtime.kept[0].ids and shows_alike(prompts[0], runtime.kept[0])


def _goes_on(runtime: Runtime, prompts: Sequence[Prompt]) -> bool:
    """Whether prompts run on top of the kept one."""
    if runtime.kept is None:
        return False
    return _is_known(runtime, prompts) or common_beginning(runtime, runtime.kept[0], prompts) is not None


def _keep_head(runtime: Runtime, prompts: Sequence[Prompt]) -> None:
    """Runs the common beginning of prompts and keeps it, unless its pictures are kept already."""
    if len(prompts) < 2 or not prompts[0].pictures or not runtime.keeps:  # a long common text is a root already
        return
    beginning = common_beginning(runtime, prompts[0], prompts)
    known = common_beginning(runtime, runtime.kept[0], prompts) if beginning and runtime.kept else None
    if beginning and (known is None or known[1] < beginning[1]):
        runtime.kept = None  # its memory is needed
        head = prompts[0].head(*beginning)
        runtime.kept = head, prefill(runtime, [head])
