"""Instances in, answers out: prompts are written ahead and batched, and each answer is yielded as soon as its batch has run.

A log-likelihood runs each prompt once (what prompts share runs once for all of them). The first token of every continuation is
scored by the prompt's own logits; the others run on its cached keys and values, right-padded and at stated positions.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import torch

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import Answers
from mm_eval.errors import DataError, MMEvalError, ModelError
from mm_eval.types import Answer, Instance, LLOutput

from .generate import GenerationRow, check_options, generate
from .pictures import shown, written_ahead
from .prompt import Prompt, PromptWriter
from .runtime import Runtime, not_finite, windows
from .sharing import Prefix, prefixes, run_on

logger = logging.getLogger(__name__)

EXTENDED_ROWS = 8
"""Minimum of continuations in one forward, whatever the batch size. Each holds a copy of its prompt's cache, so that the token
budget decides how many more.
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


@dataclass
class Asking:
    """Answers instances with a loaded model.

    max_length: maximum tokens of a prompt and its answer. seed_of: the sampling seed of an instance.
    alone: sequences of more tokens than this run alone, on this runtime; None if there are none.
    cuts: whether a text prompt that is too long is cut from the left; otherwise it fails.
    """

    writer: PromptWriter
    runtime: Runtime
    max_length: int
    seed_of: Callable[[Instance], int]
    alone: tuple[int, Runtime] | None = None
    cuts: bool = True
    _warned: bool = False

    @property
    def caches(self) -> bool:
        """Whether continuations run on the cache of their prompt."""
        return self.runtime.prefix_cache

    def generate(self, instances: Iterable[Instance]) -> Answers:
        """Generated text. Instances with equal options share batches."""
        pending: dict[str, tuple[GenerationOptions, list[GenerationRow]]] = {}
        for instance, written in written_ahead(instances, self.writer.write, shown):
            key = json.dumps(instance.generation_kwargs, sort_keys=True, default=repr)
            if key not in pending:
                pending[key] = check_options(GenerationOptions.from_kwargs(instance.generation_kwargs)), []
            options, questions = pending[key]
            try:
                if isinstance(written, MMEvalError):
                    raise written
                row = self._generation_row(instance, written, options)
            except (DataError, ModelError) as error:
                yield instance, located(error, instance)
                continue
            runs = self.runs(row.length)
            if runs is not self.runtime:
                yield from self._generated(runs, [row], options)
                continue
            if questions and self._is_full(questions, row):
                yield from self._generated(self.runtime, questions, options)
                questions.clear()
            questions.append(row)
            if options.do_sample or self._is_full(questions, row):
                yield from self._generated(self.runtime, questions, options)
                questions.clear()
        for options, questions in pending.values():
            if questions:
                yield from self._generated(self.runtime, questions, options)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        """Log-likelihoods. The choices of a question stay in one batch."""
        rows: list[Continuation] = []
        groups = written_ahead(
            (list(group) for _, group in groupby(instances, prompt_parts)),
            lambda group: self.writer.write(group[0]),
            lambda group: shown(group[0]),
        )
        for group, written in groups:
            for instance, made in self._continuations(group, written):
                if isinstance(made, MMEvalError):
                    yield instance, made
                elif not made.ids:
                    yield instance, Answer((0.0, True))
                elif (runs := self.runs(made.length - 1)) is not self.runtime:
                    yield from self._scored(runs, [made])
                else:
                    if rows and made.prompt is not rows[-1].prompt and self._is_full(rows, made):
                        yield from self._scored(self.runtime, rows)
                        rows = []
                    rows.append(made)
            if rows and self._is_full(rows, rows[-1]):
                yield from self._scored(self.runtime, rows)
                rows = []
        if rows:
            yield from self._scored(self.runtime, rows)

    def rolling(self, instances: Iterable[Instance]) -> Answers:
        """Log-likelihoods of whole texts, in windows if they are longer than max_length."""
        for instance in instances:
            if instance.images is not None:
                yield (
                    instance,
                    located(ModelError("Rolling log-likelihoods need a prompt without pictures."), instance),
                )
                continue
            ids = self.writer.encode_text(instance.continuation or "")
            pieces = windows(ids, self.writer.start_token, self.max_length)
            rows = [Continuation(instance, Prompt(context), scored) for context, scored in pieces]
            total, greedy, failure = 0.0, True, None
            runs = self.runs(max((row.length - 1 for row in rows), default=0))
            for some in _batches(rows, runs):
                for _, answer in runs.answered(some, partial(score, runs)):
                    if isinstance(answer, MMEvalError):
                        failure = answer
                    else:
                        total, greedy = total + answer[0], greedy and answer[1]
            usage = {"prompt_tokens": len(ids)}
            yield instance, located(failure, instance) if failure else Answer((total, greedy), usage=usage)

    def _generation_row(self, instance: Instance, prompt: Prompt, options: GenerationOptions) -> GenerationRow:
        if not prompt.ids:
            prompt = Prompt([self.writer.start_token])
        prompt, cap = fitted(prompt, options.max_new_tokens, self.max_length)
        self._check_cut(prompt, instance)
        seed = self.seed_of(instance) if options.do_sample else 0
        return GenerationRow(instance, prompt, cap, seed)

    def _is_full(self, rows: Sequence[GenerationRow | Continuation], following: GenerationRow | Continuation) -> bool:
        """Whether a batch of these rows is full, or has no room for the following one."""
        longest = max(row.length for row in [*rows, following])
        return self.runtime.is_full(len({id(row.prompt) for row in rows}), longest)

    def _generated(self, runtime: Runtime, questions: list[GenerationRow], options: GenerationOptions) -> Answers:
        run = partial(generate, runtime, options=options)
        for row, answer in runtime.answered(list(questions), run):
            yield row.instance, located(answer, row.instance)

    def _continuations(
        self, group: list[Instance], written: Prompt | MMEvalError
    ) -> Iterator[tuple[Instance, Continuation | MMEvalError]]:
        """One row per instance of a group with one context. Equal prompts become one object, so that they run once."""
        if isinstance(written, MMEvalError):
            yield from ((instance, located(written, instance)) for instance in group)
            return
        shared: dict[tuple[int, ...], Prompt] = {}
        for instance in group:
            try:
                prompt, ids = self.writer.split(written, instance.continuation or "")
                kept = boundary(prompt, ids, self.writer.start_token, self.max_length)
                self._check_cut(kept, instance)
            except (DataError, ModelError) as error:
                yield instance, located(error, instance)
                continue
            yield instance, Continuation(instance, shared.setdefault(tuple(kept.ids), kept), ids)

    def _scored(self, runtime: Runtime, rows: list[Continuation]) -> Answers:
        for row, answer in runtime.answered(rows, partial(score, runtime)):
            if isinstance(answer, MMEvalError):
                yield row.instance, located(answer, row.instance)
            else:
                tokens = {"prompt_tokens": len(row.prompt.ids), "completion_tokens": len(row.ids)}
                usage = {**tokens, "image_tokens": row.prompt.image_tokens}
                yield row.instance, Answer(answer, usage=usage, cut=row.prompt.dropped > 0)

    def _check_cut(self, prompt: Prompt, instance: Instance) -> None:
        """Logs the first prompt that was cut. Raises ModelError for each one under `--on_long_prompt fail`."""
        whole, kept = prompt.dropped + len(prompt.ids), len(prompt.ids)
        if prompt.dropped and not self.cuts:
            raise ModelError(
                f"The prompt has {whole} tokens; with the answer only {kept} fit (max_length is {self.max_length}).",
                hint="Use fewer few-shot examples, raise max_length, or use --on_long_prompt cut.",
            )
        if prompt.dropped and not self._warned:
            self._warned = True
            logger.warning(
                "The prompt of %s, doc %s has %d tokens; only its last %d are used. Further cuts are not logged, but counted.",
                *(instance.task, instance.doc_id, whole, kept),
            )

    def runs(self, tokens: int) -> Runtime:
        """The runtime for a sequence of so many tokens."""
        return self.alone[1] if self.alone and tokens > self.alone[0] else self.runtime


def prompt_parts(instance: Instance) -> tuple[object, ...]:
    """Equal for instances with equal prompts."""
    return instance.context, instance.image_digests, None if instance.image_digests else id(instance.images)


def _batches(rows: list[Continuation], runtime: Runtime) -> Iterator[list[Continuation]]:
    """Rows in batches as large as the runtime allows."""
    batch: list[Continuation] = []
    for row in rows:
        batch.append(row)
        if runtime.is_full(len(batch), max(one.length for one in batch)):
            yield batch
            batch = []
    if batch:
        yield batch


def located(answer: Any, instance: Instance) -> Any:
    """An error with the task and doc of its instance; an answer unchanged."""
    return answer.located(f"{instance.task}, doc {instance.doc_id}") if isinstance(answer, MMEvalError) else answer


def fitted(prompt: Prompt, cap: int, max_length: int) -> tuple[Prompt, int]:
    """A prompt and a token cap that fit into max_length together.

    A text prompt is cut from the left to leave room for the answer (at most half of max_length). A prompt with pictures
    is never cut: the cap shrinks instead. Raises ModelError if there is no room at all.
    """
    length = len(prompt.ids)
    if length + cap <= max_length:
        return prompt, cap
    if not prompt.pictures:
        room = max_length - min(cap, max_length // 2)
        prompt = prompt if length <= room else prompt.last(room)
    elif length >= max_length:
        raise ModelError(
            f"The prompt has {length} tokens, {prompt.image_tokens} of them for pictures; max_length is {max_length}.",
            hint="Lower max_pixels or the number of pictures. A prompt with pictures is never cut.",
        )
    return prompt, min(cap, max_length - len(prompt.ids))


def boundary(prompt: Prompt, ids: list[int], start_token: int, max_length: int) -> Prompt:
    """The prompt before a continuation: at least one token, and with the continuation at most max_length.

    A text prompt is cut from the left. Raises ModelError for a prompt with pictures, which is never cut.
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
    for places, prefix in prefixes(runtime, [rows[numbers[0]].prompt for numbers in groups]):
        numbers = [(number, line) for line, place in enumerate(places) for number in groups[place]]
        scored = _continued(runtime, prefix, [line for _, line in numbers], [rows[n].ids for n, _ in numbers])
        answers.update(zip((number for number, _ in numbers), scored, strict=True))
    return [answers[number] for number in range(len(rows))]


def _continued(runtime: Runtime, prefix: Prefix, sources: list[int], ids: list[list[int]]) -> list[LLOutput]:
    """Scores of continuations, each after row `sources[i]` of a prefix. The first token needs no forward."""
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
    """Scores of the tokens after the first one, each on the cache of row `sources[i]`."""
    output, _, _ = run_on(runtime, prefix, sources, [row[:-1] for row in ids])
    return [_total(output.logits[i, : len(row) - 1], row[1:]) for i, row in enumerate(ids)]


def _whole(runtime: Runtime, row: Continuation) -> LLOutput:
    """One whole forward for one continuation; the model sets the positions. Right for every causal model."""
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
