"""Few-shot examples: which docs are shown before a question.

They depend on the seed and the doc id alone, not on `--limit`, `--samples` or the number of processes, and a doc is never its own
example. lm-eval draws from one generator in the order of the requests, so its default sampler shows other docs; `first_n` shows
the same ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.data.docs import Docs, FileState, picture_files, sample_files
from mm_eval.data.places import Places
from mm_eval.values.errors import ConfigError, DataError, did_you_mean
from mm_eval.values.types import Doc
from mm_eval.values.words import counted, of_all

SAMPLERS = ("default", "first_n")


@dataclass(frozen=True)
class Example:
    """A doc that is shown with its answer.

    index: its position in the pool. full: returns the whole doc, with its pictures decoded.
    """

    index: int
    doc: Doc
    full: Callable[[], Doc]


@dataclass(frozen=True)
class ExamplePool:
    """The docs that examples are drawn from.

    same_split: examples and questions come from one split, so a question's own doc is left out by its id.
    indices: the docs that may be drawn, in this order (`fewshot_indices`); None for all.
    asked: the docs of the questions, where they may have pictures.
    keeps: how many docs are kept once they are read. Reading one alone takes longer than asking a question about it.
    """

    docs: Docs | Sequence[Doc]
    sampler: str = "default"
    seed: int = 0
    same_split: bool = False
    indices: tuple[int, ...] | None = None
    where: str = ""
    asked: Docs | None = None
    keeps: int = 0
    _kept: dict[int, Example] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise ConfigError(
                f"unknown few-shot sampler {self.sampler!r}.",
                where=self.where,
                hint=did_you_mean(self.sampler, SAMPLERS),
            )
        if wrong := [index for index in self.indices or () if not 0 <= index < len(self.docs)]:
            raise ConfigError(f"fewshot_indices {wrong}: out of range 0 to {len(self.docs) - 1}.", where=self.where)

    def draw(self, count: int, doc_id: int, doc: Doc) -> list[Example]:
        """The examples for one question, in the order in which they are shown.

        Errors: ConfigError if the pool has fewer than `count` other docs.
        """
        chosen: list[Example] = []
        for index in self._order(doc_id, count):
            if len(chosen) == count:
                break
            if self.same_split and index == doc_id:
                continue
            example = self._example(index)
            if not self._is_copy(example, doc_id, doc):
                chosen.append(example)
        if len(chosen) < count:
            raise ConfigError(
                f"{counted(count, 'few-shot example is', 'few-shot examples are')} requested, "
                f"but only {of_all(len(chosen), len(self.docs), 'document')} can be used.",
                where=self.where,
            )
        return chosen

    def _is_copy(self, example: Example, doc_id: int, doc: Doc) -> bool:
        """Whether an example is the question itself, whose answer it would give away.

        Equal texts alone say nothing where pictures are shown: with one question for all pictures, the docs that have the same
        answer would never be drawn.
        """
        if example.doc != doc:
            return False
        if self.asked is None or not isinstance(self.docs, Docs):
            return True
        own = self.asked.stored_media([doc_id]).get(doc_id)
        other = self.docs.stored_media([example.index]).get(example.index)
        return own is None or other is None or own == other

    def picture_files(
        self, count: int, docs: Iterable[tuple[int, Doc]], known: Mapping[str, FileState], places: Places
    ) -> dict[str, FileState]:
        """{name: state} of the picture files that the examples of some docs, (doc id, doc), name. known: as in `Task`."""
        drawn = sorted({example.index for doc_id, doc in docs for example in self.draw(count, doc_id, doc)})
        if isinstance(self.docs, Docs):
            return picture_files(self.docs, drawn, known, places=places)
        return sample_files((self.docs[index] for index in drawn), places, known)

    def _order(self, doc_id: int, count: int) -> Iterator[int]:
        """All candidates in order of preference, since any of them may be the question itself."""
        candidates: Sequence[int] = self.indices if self.indices is not None else range(len(self.docs))
        if self.sampler == "first_n":
            yield from candidates
            return
        draw = random.Random(f"fewshot {self.seed} {doc_id}")
        first = draw.sample(candidates, min(len(candidates), count + 1))
        yield from first
        if len(first) < len(candidates):  # rarely needed: copies of the question are among the first
            seen = set(first)
            yield from (index for index in draw.sample(candidates, len(candidates)) if index not in seen)

    def _example(self, index: int) -> Example:
        docs: Any = self.docs
        if (found := self._kept.get(index)) is not None:
            return found
        if isinstance(docs, Docs):
            read = Example(index, docs.text(index), lambda: docs.full(index))
            if len(self._kept) < self.keeps:
                self._kept[index] = read
            return read
        if not isinstance(docs[index], dict):
            raise DataError(f"few-shot sample {index} is not a mapping: {docs[index]!r}.", where=self.where)
        return Example(index, docs[index], lambda: docs[index])
