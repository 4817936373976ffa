"""Log-likelihoods: each prompt runs once, and what prompts share runs once for all of them.

The first token of every continuation is scored by the prompt's own logits; the others run on its keys and values, right-padded
and at stated positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mm_eval.values.errors import ModelError
from mm_eval.values.types import Instance, LLOutput

from ..prompts.prompt import Prompt
from .cache import Rows, root_of
from .prefixes import Prefix, beginnings, prefixes, run_on
from .runtime import Runtime, not_finite

EXTENDED_ROWS = 8
"""Minimum of continuations in one forward, whatever the batch size. The token budget decides how many more: for
each the tokens of its prompt too, which some caches copy.
"""


@dataclass(frozen=True)
class Continuation:
    """Token ids to score after a prompt. Rows that share the prompt *object* share its run."""

    instance: Instance
    prompt: Prompt
    ids: list[int]

    @property
    def length(self) -> int:
        return len(self.prompt.ids) + len(self.ids)


@dataclass(frozen=True)
class Begun:
    """Prompts that have run, one a row.

    first: log-probabilities of the next token (rows, vocabulary). tokens: of the longest one. extend: (rows, tokens after each)
    -> for each its logits after each token (tokens, vocabulary), the prompts unchanged.
    """

    first: Tensor
    tokens: int
    extend: Callable[[Sequence[int], Sequence[list[int]]], Iterator[Tensor]]


def score(runtime: Runtime, rows: Sequence[Continuation]) -> list[LLOutput | ModelError]:
    """For each row the sum of token log-probabilities in nats, and whether each token is the likeliest.

    A sum that is not finite is a ModelError.
    """
    with torch.inference_mode():
        found = _on_prefixes(runtime, rows) if runtime.prefix_cache else [_whole(runtime, row) for row in rows]
    return [answer if math.isfinite(answer[0]) else not_finite("log-likelihoods") for answer in found]


def _on_prefixes(runtime: Runtime, rows: Sequence[Continuation]) -> list[LLOutput]:
    """Scores of rows; those with one prompt object run on one prefix."""
    by_prompt: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        by_prompt.setdefault(id(row.prompt), []).append(number)
    groups = list(by_prompt.values())
    answers: dict[int, LLOutput] = {}
    start = _in_place if runtime.in_place else _in_copies
    for places, begun in start(runtime, [rows[numbers[0]].prompt for numbers in groups]):
        numbers = [(number, line) for line, place in enumerate(places) for number in groups[place]]
        scored = _continued(runtime, begun, [line for _, line in numbers], [rows[n].ids for n, _ in numbers])
        answers.update(zip((number for number, _ in numbers), scored, strict=True))
    return [answers[number] for number in range(len(rows))]


def _in_place(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[int], Begun]]:
    """Prompts on their shared beginnings. A prompt that shares nothing is a root itself, for its own continuations."""
    for part, prefix in beginnings(runtime, prompts):
        rows, order, tails = Rows(runtime), [], []
        for line, (beginning, places) in enumerate(part):
            rows.add(root_of(prefix, line, beginning), prefix.shift[line], len(places))
            order += places
            tails += [prompts[place].ids[len(beginning.ids) :] for place in places]
        logits = rows.run(tails)[:, -1] if all(tails) else prefix.logits

        def extend(sources: Sequence[int], ids: Sequence[list[int]], rows: Rows = rows) -> Iterator[Tensor]:
            longest = rows.forked(sources).run(ids, keep=max(map(len, ids)))
            return (logits[-len(row) :] for logits, row in zip(longest, ids, strict=True))

        yield order, Begun(torch.log_softmax(logits, -1), rows.longest, extend)


def _in_copies(runtime: Runtime, prompts: Sequence[Prompt]) -> Iterator[tuple[list[int], Begun]]:
    """Prompts in transformers' cache, of which each continuation gets a copy."""
    for places, prefix in prefixes(runtime, prompts):

        def extend(sources: Sequence[int], ids: Sequence[list[int]], prefix: Prefix = prefix) -> Iterator[Tensor]:
            longest = run_on(runtime, prefix, sources, ids)[0].logits
            return (logits[: len(row)] for logits, row in zip(longest, ids, strict=True))

        yield places, Begun(prefix.first, prefix.mask.shape[1], extend)


def _continued(runtime: Runtime, begun: Begun, sources: list[int], ids: list[list[int]]) -> list[LLOutput]:
    """Scores of continuations, each after the prompt of row `sources[i]`. The first token needs no forward."""
    tokens = torch.tensor([row[0] for row in ids], device=runtime.device)
    first = begun.first[sources]
    totals = first.gather(1, tokens[:, None])[:, 0].tolist()
    greedy = (first.argmax(-1) == tokens).tolist()
    longer = [i for i, row in enumerate(ids) if len(row) > 1]
    size = max(EXTENDED_ROWS, runtime.limit or runtime.budget // (begun.tokens + max(map(len, ids))))
    for start in range(0, len(longer), size):
        some = longer[start : start + size]
        logits = begun.extend([sources[i] for i in some], [ids[i][:-1] for i in some])
        for i, row in zip(some, logits, strict=True):
            total, is_greedy = _total(row, ids[i][1:])
            totals[i] += total
            greedy[i] = greedy[i] and is_greedy
    return list(zip(totals, greedy, strict=True))


def _whole(runtime: Runtime, row: Continuation) -> LLOutput:
    return _total(whole(runtime, row.prompt, row.ids[:-1]), row.ids)


def whole(runtime: Runtime, prompt: Prompt, after: list[int]) -> Tensor:
    """Logits after a prompt and after each of some tokens that follow it (len(after) + 1, vocabulary), from one whole forward.

    The model sets the positions. Right for every causal model.
    """
    answer = {"token_type_ids": runtime.family.answer_type}
    types = {name: values + [answer.get(name, 0)] * len(after) for name, values in prompt.types.items()}
    batch = runtime.collate([Prompt(prompt.ids + after, types=types, pictures=prompt.pictures)])
    keep = len(after) + 1
    logits = runtime.model(
        **batch, use_cache=False, **({"logits_to_keep": keep} if runtime.keeps_logits else {})
    ).logits
    return logits[0, -keep:]


def _total(logits: Tensor, ids: list[int]) -> LLOutput:
    """Sum of log-probabilities of ids under logits of shape (len(ids), vocabulary), and whether ids are the argmax."""
    chosen = torch.tensor(ids, device=logits.device)
    probabilities = torch.log_softmax(logits.float(), -1)
    total = sum(probabilities.gather(1, chosen[:, None])[:, 0].tolist())
    return total, bool((probabilities.argmax(-1) == chosen).all())
