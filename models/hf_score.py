"""Log-likelihoods: each prompt runs once, and its continuations run on the cached keys and values.

    prefill (left-padded prompts, logits of the last token) -> first token of every continuation
    extend  (cache rows repeated, continuations right-padded, explicit positions) -> the other tokens

Positions are always stated, and the M-RoPE shift is read right after the prefill, because the model keeps it as state:
a second prefill would silently change the positions of the first one's continuations.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mm_eval.errors import ModelError
from mm_eval.types import Instance, LLOutput

from .hf_prompt import Prompt
from .hf_runtime import Runtime

EXTENDED_ROWS = 8
"""Continuations that run side by side at least, whatever the batch size: each holds a copy of its prompt's cache."""


@dataclass(frozen=True)
class Continuation:
    """Token ids whose log-likelihood after a prompt is asked. Rows that share the prompt *object* share its run."""

    instance: Instance
    prompt: Prompt
    ids: list[int]


@dataclass(frozen=True)
class Prefix:
    """What a prefill leaves: log-probabilities after each prompt, cache, mask, M-RoPE shift (0 without pictures)."""

    first: Any
    cache: Any
    mask: Any
    shift: Any


def boundary(prompt: Prompt, ids: list[int], start_token: int, max_length: int) -> Prompt:
    """The prompt in front of a continuation: at least one token, and the whole at most max_length.

    A text prompt is cut from the left; a prompt with pictures never: a ModelError instead.
    """
    prompt = prompt if prompt.ids else Prompt([start_token])
    room = max_length + 1 - len(ids)
    if len(prompt.ids) <= room:
        return prompt
    if prompt.pictures:
        raise ModelError(
            f"Prompt and continuation have {len(prompt.ids) + len(ids)} tokens; max_length is {max_length}.",
            hint="Lower max_pixels or the number of pictures. A prompt with pictures is never cut.",
        )
    if room < 1:
        raise ModelError(
            f"The continuation has {len(ids)} tokens; max_length is {max_length}.", hint="Raise max_length."
        )
    return prompt.last(room)


def score(runtime: Runtime, rows: Sequence[Continuation]) -> list[LLOutput]:
    """Sum of token log-probabilities in nats, and whether each token is the likeliest, one a row."""
    with torch.inference_mode():
        if not runtime.prefix_cache:
            return [_whole(runtime, row) for row in rows]
        prompts = {id(row.prompt): row.prompt for row in rows}
        place = {key: index for index, key in enumerate(prompts)}
        prefix = prefill(runtime, list(prompts.values()))
        sources = [place[id(row.prompt)] for row in rows]
        tokens = torch.tensor([row.ids[0] for row in rows], device=runtime.device)
        first = prefix.first[sources]
        totals = first.gather(1, tokens[:, None])[:, 0].tolist()
        greedy = (first.argmax(-1) == tokens).tolist()
        longer = [i for i, row in enumerate(rows) if len(row.ids) > 1]
        size = max(EXTENDED_ROWS, runtime.limit or 0)
        for start in range(0, len(longer), size):
            some = longer[start : start + size]
            rest = extend(runtime, prefix, [sources[i] for i in some], [rows[i].ids for i in some])
            for i, (total, is_greedy) in zip(some, rest, strict=True):
                totals[i] += total
                greedy[i] = greedy[i] and is_greedy
        return list(zip(totals, greedy, strict=True))


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
    first = torch.log_softmax(output.logits[:, -1].float(), -1).to(runtime.device)
    return Prefix(first, output.past_key_values, mask, shift.to(runtime.device).clone())


def extend(runtime: Runtime, prefix: Prefix, sources: Sequence[int], ids: Sequence[list[int]]) -> list[LLOutput]:
    """Scores the tokens after the first of continuations, each on the cache of prompt `sources[i]`."""
    index = torch.tensor(sources, device=runtime.device)
    longest = max(len(row) for row in ids) - 1
    shape = (len(ids), longest)
    tokens = torch.full(shape, runtime.pad_token, device=runtime.device)
    valid = torch.zeros(shape, dtype=prefix.mask.dtype, device=runtime.device)
    for i, row in enumerate(ids):
        tokens[i, : len(row) - 1] = torch.tensor(row[:-1], device=runtime.device)
        valid[i, : len(row) - 1] = 1
    mask = torch.cat([prefix.mask[index], valid], 1)
    positions = (mask.cumsum(-1) - 1)[:, -longest:] + prefix.shift[index]
    if runtime.family.mrope:
        positions = positions[None].expand(3, -1, -1)
    output = runtime.model(
        input_ids=tokens,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=_rows_of(prefix.cache, index),
        use_cache=True,
    )
    return [_total(output.logits[i, : len(row) - 1], row[1:]) for i, row in enumerate(ids)]


def _rows_of(cache: Any, index: Any) -> Any:
    """A cache of the given rows. The original stays as it is: layers replace their tensors, never write into them."""
    chosen = copy.copy(cache)
    chosen.layers = [copy.copy(layer) for layer in cache.layers]
    chosen.reorder_cache(index)
    return chosen


def _whole(runtime: Runtime, row: Continuation) -> LLOutput:
    """One whole forward for one continuation, positions left to the model: right for every causal model."""
    ids = row.prompt.ids + row.ids[:-1]
    answer = {"token_type_ids": runtime.family.answer_type}
    types = {name: values + [answer.get(name, 0)] * (len(row.ids) - 1) for name, values in row.prompt.types.items()}
    batch = runtime.collate([Prompt(ids, types=types, pictures=row.prompt.pictures)])
    keep = {"logits_to_keep": len(row.ids)} if runtime.keeps_logits else {}
    logits = runtime.model(**batch, use_cache=False, **keep).logits[0]
    return _total(logits[-len(row.ids) :], row.ids)


def _total(logits: Any, ids: list[int]) -> LLOutput:
    """Sum of log-probabilities of ids under logits of shape (len(ids), vocabulary), and whether ids are the argmax."""
    chosen = torch.tensor(ids, device=logits.device)
    probabilities = torch.log_softmax(logits.float(), -1)
    total = sum(probabilities.gather(1, chosen[:, None])[:, 0].tolist())
    return total, bool((probabilities.argmax(-1) == chosen).all())


def windows(ids: Sequence[int], start_token: int, max_length: int) -> list[tuple[list[int], list[int]]]:
    """A long text as disjoint (context, scored) pieces of at most max_length tokens of input.

    The first piece is conditioned on start_token, each later one on the one token before it; the last one, which is
    shorter, on as many as fit. So every token is scored exactly once (the scheme of lm-evaluation-harness).
    """
    tokens, pieces = list(ids), []
    for start in range(0, len(tokens), max_length):
        scored = tokens[start : start + max_length]
        context = tokens[max(0, start + len(scored) - max_length - 1) : start] if start else [start_token]
        pieces.append((context, scored))
    return pieces
