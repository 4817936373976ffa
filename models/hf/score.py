"""Log-likelihoods: each prompt runs once, and its continuations run on the cached keys and values.

prefixes of the prompts (what they share runs once) -> first token of every continuation
extend  (cache rows repeated, continuations right-padded, explicit positions) -> the other tokens
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mm_eval.errors import ModelError
from mm_eval.types import Instance, LLOutput

from .prompt import Prompt
from .runtime import Runtime, not_finite
from .sharing import Prefix, prefill, prefixes, run_on

__all__ = ["Continuation", "boundary", "extend", "prefill", "score", "windows"]

EXTENDED_ROWS = 8
"""Continuations that run side by side at least, whatever the batch size; each holds a copy of its prompt's cache, so that the
budget of tokens says how many more.
"""


@dataclass(frozen=True)
class Continuation:
    """Token ids whose log-likelihood after a prompt is asked. Rows that share the prompt *object* share its run."""

    instance: Instance
    prompt: Prompt
    ids: list[int]

    @property
    def length(self) -> int:
        return len(self.prompt.ids) + len(self.ids)


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


def score(runtime: Runtime, rows: Sequence[Continuation]) -> list[LLOutput | ModelError]:
    """Sum of token log-probabilities in nats, and whether each token is the likeliest, one a row.

    A ModelError in the place of a sum that is not finite.
    """
    found = _scored(runtime, rows)
    return [answer if math.isfinite(answer[0]) else not_finite("log-likelihoods") for answer in found]


def _scored(runtime: Runtime, rows: Sequence[Continuation]) -> list[LLOutput]:
    with torch.inference_mode():
        if not runtime.prefix_cache:
            return [_whole(runtime, row) for row in rows]
        prompts = {id(row.prompt): row.prompt for row in rows}
        by_prompt: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            by_prompt.setdefault(id(row.prompt), []).append(number)
        answers: dict[int, LLOutput] = {}
        groups = list(by_prompt.values())
        for places, prefix in prefixes(runtime, list(prompts.values())):
            numbers = [(number, line) for line, place in enumerate(places) for number in groups[place]]
            scored = _continued(runtime, prefix, [line for _, line in numbers], [rows[n].ids for n, _ in numbers])
            answers.update(zip((number for number, _ in numbers), scored, strict=True))
        return [answers[number] for number in range(len(rows))]


def _continued(runtime: Runtime, prefix: Prefix, sources: list[int], ids: list[list[int]]) -> list[LLOutput]:
    """Scores of continuations, each after row `sources[i]` of a prefix: the first token costs nothing more."""
    tokens = torch.tensor([row[0] for row in ids], device=runtime.device)
    first = prefix.first[sources]
    totals = first.gather(1, tokens[:, None])[:, 0].tolist()
    greedy = (first.argmax(-1) == tokens).tolist()
    longer = [i for i, row in enumerate(ids) if len(row) > 1]
    held = prefix.mask.shape[1] + max(map(len, ids))
    size = max(EXTENDED_ROWS, runtime.limit or runtime.budget // held)
    for start in range(0, len(longer), size):
        some = longer[start : start + size]
        rest = extend(runtime, prefix, [sources[i] for i in some], [ids[i] for i in some])
        for i, (total, is_greedy) in zip(some, rest, strict=True):
            totals[i] += total
            greedy[i] = greedy[i] and is_greedy
    return list(zip(totals, greedy, strict=True))


def extend(runtime: Runtime, prefix: Prefix, sources: Sequence[int], ids: Sequence[list[int]]) -> list[LLOutput]:
    """Scores the tokens after the first of continuations, each on the cache of prompt `sources[i]`."""
    output, _, _ = run_on(runtime, prefix, sources, [row[:-1] for row in ids])
    return [_total(output.logits[i, : len(row) - 1], row[1:]) for i, row in enumerate(ids)]


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
