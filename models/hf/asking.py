"""Instances in, answers out: prompts are written ahead, put into batches, and each answer goes as soon as its batch has run."""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import Answers
from mm_eval.errors import DataError, MMEvalError, ModelError
from mm_eval.types import Answer, Instance

from .generate import Question, check_options, fitted, generate
from .prompt import Prompt, PromptWriter
from .runtime import Runtime
from .score import Continuation, boundary, score, windows

logger = logging.getLogger(__name__)


@dataclass
class Asking:
    """A loaded model and what writes its prompts.

    max_length: tokens of a prompt and its answer at most. seed_of: the seed of an instance's sampling.
    alone: sequences of more tokens than the number run by themselves, on the runtime beside it; None where there are none.
    cuts: whether a prompt of text that is too long is cut from the left; else it fails.
    """

    writer: PromptWriter
    runtime: Runtime
    max_length: int
    seed_of: Callable[[Instance], int]
    alone: tuple[int, Runtime] | None = None
    cuts: bool = True
    _warned: bool = False

    def generate(self, instances: Iterable[Instance]) -> Answers:
        """Text; questions with equal options share batches."""
        pending: dict[str, tuple[GenerationOptions, list[Question]]] = {}
        for instance, written in written_ahead(instances, self.writer.write, _has_pictures):
            key = json.dumps(instance.generation_kwargs, sort_keys=True, default=repr)
            if key not in pending:
                pending[key] = check_options(GenerationOptions.from_kwargs(instance.generation_kwargs)), []
            options, questions = pending[key]
            try:
                if isinstance(written, MMEvalError):
                    raise written
                asked = self._question(instance, written, options)
            except (DataError, ModelError) as error:
                yield instance, _located(error, instance)
                continue
            runs = self.runs(asked.length)
            if runs is not self.runtime:
                yield from self._generated(runs, [asked], options)
                continue
            if questions and self._is_full(questions, asked):
                yield from self._generated(self.runtime, questions, options)
                questions.clear()
            questions.append(asked)
            if options.do_sample or self._is_full(questions, asked):
                yield from self._generated(self.runtime, questions, options)
                questions.clear()
        for options, questions in pending.values():
            if questions:
                yield from self._generated(self.runtime, questions, options)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        """Log-likelihoods; the choices of a question stay in one batch."""
        rows: list[Continuation] = []
        groups = written_ahead(
            _sharing_a_prompt(instances),
            lambda group: self.writer.write(group[0]),
            lambda group: _has_pictures(group[0]),
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
        """Log-likelihoods of whole texts, in windows where they are longer than max_length."""
        for instance in instances:
            if instance.images is not None:
                yield instance, _located(ModelError("Rolling log-likelihoods are of text alone."), instance)
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
            yield instance, _located(failure, instance) if failure else Answer((total, greedy), usage=usage)

    def _question(self, instance: Instance, prompt: Prompt, options: GenerationOptions) -> Question:
        if not prompt.ids:
            prompt = Prompt([self.writer.start_token])
        prompt, cap = fitted(prompt, options.max_new_tokens, self.max_length)
        self._check_cut(prompt, instance)
        seed = self.seed_of(instance) if options.do_sample else 0
        return Question(instance, prompt, cap, seed)

    def _is_full(self, rows: Sequence[Question | Continuation], following: Question | Continuation) -> bool:
        """Whether the prompts of some rows are a batch already, or would be too much with the following one beside them."""
        longest = max(row.length for row in [*rows, following])
        return self.runtime.is_full(len({id(row.prompt) for row in rows}), longest)

    def _generated(self, runtime: Runtime, questions: list[Question], options: GenerationOptions) -> Answers:
        run = partial(generate, runtime, options=options)
        for asked, answer in runtime.answered(list(questions), run):
            yield asked.instance, _located(answer, asked.instance)

    def _continuations(
        self, group: list[Instance], written: Prompt | MMEvalError
    ) -> Iterator[tuple[Instance, Continuation | MMEvalError]]:
        """One row an instance of a group with one context; equal prompts are one object, so that they run once."""
        if isinstance(written, MMEvalError):
            yield from ((instance, _located(written, instance)) for instance in group)
            return
        shared: dict[tuple[int, ...], Prompt] = {}
        for instance in group:
            try:
                prompt, ids = self.writer.split(written, instance.continuation or "")
                kept = boundary(prompt, ids, self.writer.start_token, self.max_length)
                self._check_cut(kept, instance)
            except (DataError, ModelError) as error:
                yield instance, _located(error, instance)
                continue
            yield instance, Continuation(instance, shared.setdefault(tuple(kept.ids), kept), ids)

    def _scored(self, runtime: Runtime, rows: list[Continuation]) -> Answers:
        for row, answer in runtime.answered(rows, partial(score, runtime)):
            if isinstance(answer, MMEvalError):
                yield row.instance, _located(answer, row.instance)
            else:
                tokens = {"prompt_tokens": len(row.prompt.ids), "completion_tokens": len(row.ids)}
                usage = {**tokens, "image_tokens": row.prompt.image_tokens}
                yield row.instance, Answer(answer, usage=usage, cut=row.prompt.dropped > 0)

    def _check_cut(self, prompt: Prompt, instance: Instance) -> None:
        """Warns of the first prompt that was cut. ModelError for each one under `--on_long_prompt fail`."""
        whole, kept = prompt.dropped + len(prompt.ids), len(prompt.ids)
        if prompt.dropped and not self.cuts:
            raise ModelError(
                f"The prompt has {whole} tokens; beside the answer only {kept} fit (max_length is {self.max_length}).",
                hint="Use fewer few-shot examples, raise max_length, or ask with --on_long_prompt cut.",
            )
        if prompt.dropped and not self._warned:
            self._warned = True
            logger.warning(
                "The prompt of %s, doc %s has %d tokens; only its last %d are used. Further cuts are not logged, but counted.",
                *(instance.task, instance.doc_id, whole, kept),
            )

    def runs(self, tokens: int) -> Runtime:
        """What runs a sequence of so many tokens."""
        return self.alone[1] if self.alone and tokens > self.alone[0] else self.runtime


def _has_pictures(instance: Instance) -> bool:
    return instance.images is not None


def _sharing_a_prompt(instances: Iterable[Instance]) -> Iterator[list[Instance]]:
    """Consecutive instances with equal context and pictures, together."""
    group: list[Instance] = []
    for instance in instances:
        if group and not _same_prompt(group[0], instance):
            yield group
            group = []
        group.append(instance)
    if group:
        yield group


def _same_prompt(one: Instance, other: Instance) -> bool:
    if one.context != other.context or one.image_digests != other.image_digests:
        return False
    return bool(one.image_digests) or one.images is other.images


def _batches(rows: list[Continuation], runtime: Runtime) -> Iterator[list[Continuation]]:
    """Rows in batches as large as the runtime takes."""
    batch: list[Continuation] = []
    for row in rows:
        batch.append(row)
        if runtime.is_full(len(batch), max(one.length for one in batch)):
            yield batch
            batch = []
    if batch:
        yield batch


def _located(answer: Any, instance: Instance) -> Any:
    """An error with the question it belongs to; anything else as it is."""
    return answer.located(f"{instance.task}, doc {instance.doc_id}") if isinstance(answer, MMEvalError) else answer


Item = TypeVar("Item")
Written = TypeVar("Written")

AHEAD = 16
"""Prompts with pictures that are ready or being written: two batches of eight."""


def written_ahead(
    items: Iterable[Item],
    write: Callable[[Item], Written],
    has_pictures: Callable[[Item], bool],
    most: int = AHEAD,
) -> Iterator[tuple[Item, Written | DataError | ModelError]]:
    """Each item with what `write` makes of it, in order; an error of the item's own in its place."""
    waiting: deque[tuple[Item, Future[Written | DataError | ModelError]]] = deque()

    def attempt(item: Item) -> Written | DataError | ModelError:
        try:
            return write(item)
        except (DataError, ModelError) as error:
            return error

    workers = max(1, min(4, (os.cpu_count() or 2) // 2))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pictures")
    try:
        for item in items:
            if has_pictures(item):
                waiting.append((item, pool.submit(attempt, item)))
                while len(waiting) > most:
                    first, made = waiting.popleft()
                    yield first, made.result()
                continue
            while waiting:
                first, made = waiting.popleft()
                yield first, made.result()
            yield item, attempt(item)
        while waiting:
            first, made = waiting.popleft()
            yield first, made.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
