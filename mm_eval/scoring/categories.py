"""The numbers of a task by category: each metric's own aggregation over the docs of the category.

They are read off the scores of the whole task, and change none of its numbers.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mm_eval.config.categories import CategoryLevel
from mm_eval.config.foreign_code import NoStream, Stream
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.metrics.aggregation import bypass_agg
from mm_eval.scoring.metrics.stderr import MOST_VALUES
from mm_eval.values.errors import DataError, kind_and_text
from mm_eval.values.types import Doc, Number, ReducedDoc
from mm_eval.values.words import counted

MOST_CATEGORIES = 1000
"""A level with more is left out: its column is an id."""
MOST_DRAWS, LEAST_CALLS = 2000, 50
"""Standard errors of categories cost together what that of the whole task costs: fewer draws (within 2%), and fewer groups of a
jackknife in a task of more than 25,000 docs (within 10%)."""

Categories = Mapping[str, Sequence[str]]
"""{level: the categories of a doc}"""


@dataclass
class OfCategory:
    """The docs of one category and their counts, such as "failed"."""

    doc_ids: array[int] = field(default_factory=lambda: array("q"))
    counts: Counter[str] = field(default_factory=Counter)


@dataclass
class CategoryDocs:
    """The docs of a task by level and category."""

    levels: Sequence[CategoryLevel]
    draws: Stream = field(default_factory=NoStream)
    found: dict[str, dict[str, OfCategory]] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    failed_scorers: dict[str, str] = field(default_factory=dict)

    def of_docs(self, docs: Mapping[int, Doc]) -> dict[int, dict[str, list[str]]]:
        """{doc id: {level: its categories}}; a doc that a level fails on is in none of that level."""
        shown: dict[int, dict[str, list[str]]] = {doc_id: {} for doc_id in docs}
        if not self.levels:
            return shown
        with self.draws.used():
            for doc_id, doc in docs.items():
                for level in self.levels:
                    try:
                        shown[doc_id][level.name] = level.of(doc)
                    except DataError as error:
                        shown[doc_id][level.name] = []
                        self.faults.setdefault(level.name, []).append(f"doc {doc_id}: {error.what}")
        return shown

    def add(self, doc_id: int, categories: Categories, counts: Sequence[str]) -> None:
        """Counts a doc in each of its categories. counts: what it is counted as."""
        for level, names in categories.items():
            for name in names:
                known = self.found.setdefault(level, {}).setdefault(name, OfCategory())
                known.doc_ids.append(doc_id)
                known.counts.update(counts)

    @property
    def notes(self) -> list[str]:
        """What a reader should know: levels that are left out, and docs that a level failed on."""
        said = [
            f"categories by {name!r} are left out: there are {len(found):,} of them, more than {MOST_CATEGORIES:,}."
            for name, found in self.found.items()
            if len(found) > MOST_CATEGORIES
        ]
        said += [
            f"no document has a value that `names` of the categories {level.name!r} has, such as {next(iter(level.names))!r}."
            for level in self.levels
            if level.names and (found := self.found.get(level.name)) and not found.keys() & set(level.names.values())
        ]
        said += self.failed_scorers.values()
        return said + [
            f"{counted(len(faults), 'document is', 'documents are')} in no category of {name!r}, the first is {faults[0]}"
            for name, faults in self.faults.items()
        ]

    def numbers(
        self,
        scorers: Sequence[Scorer],
        reduced: Mapping[str, Mapping[int, ReducedDoc]],
        bootstrap_iters: int,
    ) -> dict[str, dict[str, list[Number]]]:
        """{level: {category: its numbers}}, in the order of the levels and of each level's categories.

        reduced: {pipeline: {doc id: values}}.
        """
        found: dict[str, dict[str, list[Number]]] = {}
        for level in self.levels:
            members = self.found.get(level.name, {})
            if not members or len(members) > MOST_CATEGORIES:
                continue
            docs = sum(len(of.doc_ids) for of in members.values())
            calls, draws = max(LEAST_CALLS, MOST_VALUES // docs), min(bootstrap_iters, MOST_DRAWS)
            of_level = found.setdefault(level.name, {})
            for name in level.in_order(members):
                of_level[name] = []
                for scorer in scorers:
                    values = reduced.get(scorer.key, {})
                    own = {doc_id: values[doc_id] for doc_id in members[name].doc_ids if doc_id in values}
                    of_level[name] += self._numbers(scorer, own, draws, calls) if own else []
        return found

    def _numbers(self, scorer: Scorer, docs: Mapping[int, ReducedDoc], draws: int, calls: int) -> list[Number]:
        try:
            found = scorer.results(docs, draws, calls)
        except Exception as error:  # a user's own scorer, on a part of the docs
            self.failed_scorers[scorer.name] = f"{scorer.name}: no scores by category: {kind_and_text(error)}"
            return []
        return [number for number in found if scorer.aggregation_of(number.metric) is not bypass_agg]
