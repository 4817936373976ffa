"""Greedy decoding: prompts come in, each row gets its likeliest token a step, and a finished row leaves its batch at once.

    Ending      what ends an answer
    Decoding    the rows of one batch, written in place: `admit`, `step`
    decoded     the tokens of a given list of prompts
    Continuous  prompts that come one by one: a waiting one takes the place of a row that has left

A row's tokens don't depend on the rows beside it, so neither does an answer depend on when its prompt came in.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mm_eval.values.types import Instance

from ...reasoning import TokenReader
from ..prompts.prompt import Prompt
from .beginnings import sharing
from .cache import ROOM, Rows, root_of
from .prefixes import beginnings, grown, prefixes
from .runtime import Runtime

BROKEN = -1
"""In place of a token if the logits are not finite."""
ALTERNATIVES = 5
"""The likeliest tokens that are kept of a place, as many as servers give."""


@dataclass(frozen=True)
class Ending:
    """What ends an answer besides its cap: end tokens, once there are `least` tokens, and stop strings."""

    tokens: tuple[int, ...]
    stops: StopText
    least: int = 0


@dataclass
class Places:
    """The likeliest tokens at the first places of an answer. most: places that are kept. found: (token, log-probability)."""

    most: int
    found: list[list[tuple[int, float]]] = field(default_factory=list)

    def add(self, place: int, logits: Tensor) -> None:
        """Keeps those of a place. What an attempt that failed had kept from there on is dropped."""
        if place >= self.most:
            return
        top = logits.float().log_softmax(-1).topk(min(ALTERNATIVES, logits.shape[-1]))
        self.found[place:] = [list(zip(top.indices.tolist(), top.values.tolist(), strict=True))]


@dataclass(frozen=True)
class GenerationRow:
    """A prompt to answer with at most `cap` tokens.

    seed: for sampling. ending: of a greedy answer. opened: the opening mark of a reasoning that the prompt ends with.
    places: gets the likeliest tokens of a greedy answer's first places; None if they are not kept.
    """

    instance: Instance
    prompt: Prompt
    cap: int
    seed: int
    ending: Ending | None = None
    opened: str = ""
    places: Places | None = None

    @property
    def length(self) -> int:
        """Tokens of the prompt and its longest possible answer."""
        return len(self.prompt.ids) + self.cap


@dataclass(eq=False)
class Row:
    """An answer that is being decoded. broken: its logits were not finite."""

    question: GenerationRow
    tokens: list[int] = field(default_factory=list)
    broken: bool = False

    @property
    def ending(self) -> Ending:
        assert self.question.ending is not None
        return self.question.ending

    @property
    def result(self) -> list[int] | None:
        """The tokens, including the one that ended the answer; None if logits were not finite."""
        return None if self.broken else self.tokens


@dataclass(frozen=True)
class Plan:
    """tokens: that a batch would hold. whole: the longest prompt that becomes a row of its own; a longer one is a root."""

    tokens: int
    whole: int


class Decoding:
    """Rows that are decoded in one batch. rows[i] of the cache belongs to active[i]."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, self.rows = runtime, Rows(runtime)
        self.active: list[Row] = []

    def admit(self, coming: Sequence[Row]) -> list[Row]:
        """Runs the prompts of more rows. Returns those that ended with their first token."""
        with torch.inference_mode():
            finished = self._on_held_roots([row for row in coming if self.rows.root_of(row.question.prompt)])
            fresh = [row for row in coming if row not in finished and row not in self.active]
            whole = self.planned([row.question.prompt for row in fresh]).whole
            for part, prefix in beginnings(self.runtime, [row.question.prompt for row in fresh]):
                lines = [
                    (line, beginning, [fresh[place] for place in places])
                    for line, (beginning, places) in enumerate(part)
                ]
                alone = [(line, beginning, rows[0]) for line, beginning, rows in lines if len(rows) == 1]
                for line, beginning, row in alone:
                    if len(beginning.ids) <= whole:
                        self.rows.add_whole(prefix, line)
                    else:
                        self.rows.add(root_of(prefix, line, beginning), prefix.shift[line])
                    self.active.append(row)
                if alone:
                    finished += self._chosen(prefix.logits[[line for line, _, _ in alone]], len(alone))
                together = [(line, beginning, rows) for line, beginning, rows in lines if len(rows) > 1]
                for line, beginning, rows in together:
                    self.rows.add(root_of(prefix, line, beginning), prefix.shift[line], len(rows))
                finished += self._go_on([row for _, _, rows in together for row in rows])
        return finished

    def planned(self, prompts: Sequence[Prompt], more: int = 0) -> Plan:
        """What the batch holds once these prompts are admitted, and `more` like the last one.

        A prompt that shares nothing is a row of its own, unless it would make much shorter rows as long as itself.
        """
        groups = [
            (length, places, self.rows.root_of(prompts[places[0]])) for length, places in sharing(self.runtime, prompts)
        ]
        roots, own, alone = self.rows.held_by_roots, [ROOM, *self.rows.lengths], []
        for length, places, held in groups:
            lengths = [len(prompts[place].ids) for place in places]
            if held is None and length == 0:
                alone += lengths
                continue
            roots += length if held is None else 0
            own.append(max(lengths) - (length if held is None else held[0].length))
        rooted = any(self.rows.roots) or len(alone) < len(prompts)
        if more and alone and len(groups[-1][1]) == 1:  # the next one may share it
            roots, rooted = roots + alone.pop(), True
        whole = max(own) if rooted else max([*own, *alone])
        roots += sum(length for length in alone if length > whole)
        longest = max([*own[1:], *(length for length in alone if length <= whole)], default=0)
        return Plan(roots + (len(self.active) + len(prompts) + more) * longest, whole)

    def step(self) -> list[Row]:
        """One more token for every row. Returns those that ended."""
        with torch.inference_mode():
            return self._chosen(self.rows.run([row.tokens[-1:] for row in self.active])[:, -1], len(self.active))

    def release(self) -> list[Row]:
        """Gives all rows up, with what they have so far, and frees their memory."""
        given_up, self.active, self.rows = self.active, [], Rows(self.runtime)
        return given_up

    def put_off(self) -> GenerationRow:
        """Gives the row up that came last."""
        order = self.rows.drop([len(self.active) - 1])
        last = self.active.pop()
        assert len(order) == len(self.active)
        return last.question

    def _on_held_roots(self, coming: list[Row]) -> list[Row]:
        for row in coming:
            found = self.rows.root_of(row.question.prompt)
            assert found is not None
            self.rows.add(*found)
        return self._go_on(coming)

    def _go_on(self, rows: list[Row]) -> list[Row]:
        """Runs the rest of prompts on the roots of the last rows."""
        if not rows:
            return []
        first = len(self.active)
        self.active += rows
        tails = [row.question.prompt.ids[self.rows.start(first + n) :] for n, row in enumerate(rows)]
        return self._chosen(self.rows.run(tails)[:, -1], len(rows))

    def _chosen(self, logits: Tensor, count: int) -> list[Row]:
        """Gives the last `count` rows their next token, and removes and returns those that ended."""
        first = len(self.active) - count
        ended = choose(self.active[first:], logits)
        if not ended:
            return []
        leaving = [first + place for place in ended]
        finished = [self.active[place] for place in leaving]
        self.active = [self.active[place] for place in self.rows.drop(leaving)]
        return finished


def choose(rows: Sequence[Row], logits: Tensor) -> list[int]:
    """Gives each row its likeliest token; returns the places of the rows that ended. logits: (rows, vocabulary)."""
    early = [n for n, row in enumerate(rows) if len(row.tokens) < row.ending.least and row.ending.tokens]
    if early:
        logits = logits.clone()
        for place in early:
            logits[place, list(rows[place].ending.tokens)] = -float("inf")
    for row, numbers in zip(rows, logits, strict=True):
        if row.question.places is not None:
            row.question.places.add(len(row.tokens), numbers)
    for row, token in zip(rows, likeliest(logits).tolist(), strict=True):
        row.broken = token == BROKEN
        row.tokens.append(token)
    by_ending: dict[int, list[int]] = {}
    for place, row in enumerate(rows):
        if not row.broken:
            by_ending.setdefault(id(row.ending.stops), []).append(place)
    stopped = {
        place
        for places in by_ending.values()
        for place, stop in zip(places, _stopped([rows[n] for n in places]), strict=True)
        if stop
    }
    return [
        place
        for place, row in enumerate(rows)
        if row.broken or place in stopped or row.tokens[-1] in row.ending.tokens or len(row.tokens) >= row.question.cap
    ]


def _stopped(rows: Sequence[Row]) -> list[bool]:
    """Which rows with one ending a stop string ends."""
    return rows[0].ending.stops([row.tokens for row in rows], [row.question for row in rows])


def decoded(runtime: Runtime, questions: Sequence[GenerationRow]) -> list[list[int] | None]:
    """The likeliest tokens after each question, including the one that ended it; None if logits are not finite."""
    rows = [Row(question) for question in questions]
    if runtime.in_place:
        decoding = Decoding(runtime)
        decoding.admit(rows)
        while decoding.active:
            decoding.step()
    else:
        with torch.inference_mode():
            _on_transformers_cache(runtime, rows)
    return [row.result for row in rows]


def _on_transformers_cache(runtime: Runtime, rows: Sequence[Row]) -> None:
    """The same for a model whose cache holds more than keys and values, or whose attention is of another kind."""
    for places, prefix in prefixes(runtime, [row.question.prompt for row in rows]):
        active = [rows[place] for place in places]
        while True:
            ended = set(choose(active, prefix.logits))
            going = [place for place in range(len(active)) if place not in ended]
            if not going:
                break
            active = [active[place] for place in going]
            prefix = grown(runtime, prefix, going, [row.tokens[-1:] for row in active], last_use=True)


class Continuous:
    """Prompts that come one by one, answered in one batch that is kept full.

        offer(prompt)    puts a prompt into the queue
        hungry           whether another prompt would fit, so that it is worth having before the next step
        work()           admits what fits, or makes a step; returns the rows that ended

    Prompts that share their beginning are admitted together, if the batch is large enough to wait for room for all of them.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, self.decoding = runtime, Decoding(runtime)
        self.queue: list[GenerationRow] = []
        self._coming: list[GenerationRow] = []
        self._full = 0

    @property
    def busy(self) -> bool:
        return bool(self.queue or self.decoding.active)

    @property
    def hungry(self) -> bool:
        return self._fits(self.queue, more=1)

    def offer(self, question: GenerationRow) -> None:
        self.queue.append(question)

    def stop(self) -> None:
        """Admits nothing more."""
        self.queue.clear()

    def work(self) -> list[Row]:
        """Admits prompts if there is room, else makes one step. After an exception all rows must be given up."""
        self._coming = self._next()
        if self._coming:
            del self.queue[: len(self._coming)]
            finished = self.decoding.admit([Row(question) for question in self._coming])
            filled = not self.queue or not self._fits(self.queue[:1])
            self._full = len(self.decoding.active) + len(finished) if filled else sys.maxsize
            return finished
        finished = self.decoding.step()
        while self.runtime.overflows(len(self.decoding.active), self.decoding.rows.held):
            self.queue.insert(0, self.decoding.put_off())
        return finished

    def give_up(self) -> list[GenerationRow]:
        """Empties the batch after a failure. Returns its prompts, and those that were being admitted."""
        held = [row.question for row in self.decoding.release()]
        return [*held, *(question for question in self._coming if question not in held)]

    def _next(self) -> list[GenerationRow]:
        """The prompts to admit now: none before an eighth of a full batch has left."""
        active = len(self.decoding.active)
        if not self.queue or (active and active > self._full - max(1, self._full // 8)):
            return []
        coming: list[GenerationRow] = []
        units = longest = 0
        for _, places in sharing(self.runtime, [question.prompt for question in self.queue]):
            unit = [self.queue[place] for place in places]
            if self._fits([*coming, *unit]):
                longest = max(longest, len(unit[0].prompt.ids))
                if units and self.runtime.is_full(units, longest):
                    break  # enough for one forward; the rest follows before the next step
                coming, units = coming + unit, units + 1
                continue
            if self.decoding.rows.root_of(unit[0].prompt) or 2 * len(unit) > active + len(coming):
                while self._fits([*coming, unit[0]]):
                    coming.append(unit.pop(0))
            break
        return coming or ([] if active else self.queue[:1])

    def _fits(self, coming: Sequence[GenerationRow], more: int = 0) -> bool:
        """Whether prompts fit beside the rows of the batch, and `more` of the same size."""
        count = len(self.decoding.active) + len(coming) + more
        if not self.runtime.has_room(count, 0):
            return False
        planned = self.decoding.planned([question.prompt for question in coming], more)
        return self.runtime.has_room(count, planned.tokens)


def likeliest(logits: Tensor) -> Tensor:
    """The likeliest token of each row of logits (rows, vocabulary); BROKEN where a logit is NaN or +inf, or all are -inf.

    argmax treats NaN as the greatest value, so checking the logit that it picks is enough. Some logits may be -inf.
    """
    tokens = logits.argmax(-1)
    return torch.where(logits.gather(-1, tokens[:, None])[:, 0].isfinite(), tokens, BROKEN)


class StopText:
    """Which rows of new tokens contain one of the stop strings in their answer.

    Only a tail of tokens is decoded: a stop string of n bytes can't span more than n tokens. Where the tail has one, the reader
    tells whether it stands in the answer, or in the reasoning or the white space before it.
    """

    def __init__(self, reader: TokenReader, stops: Sequence[str]) -> None:
        self.reader, self.stops = reader, tuple(stops)
        self.window = max((len(stop.encode()) for stop in stops), default=0) + 4

    def __call__(self, rows: Sequence[Sequence[int]], questions: Sequence[GenerationRow]) -> list[bool]:
        if not self.stops or not rows:
            return [False] * len(rows)
        tails = [list(row[-self.window :]) for row in rows]
        texts = self.reader.tokenizer.batch_decode(tails, skip_special_tokens=True)
        return [
            any(stop in text for stop in self.stops)
            and self.reader.stops(row, question.opened, self.stops, chat=question.prompt.chat)
            for text, row, question in zip(texts, rows, questions, strict=True)
        ]
