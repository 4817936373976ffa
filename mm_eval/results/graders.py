"""Who gave numbers of a run beside the rules of its tasks, as far as the features that ask such graders say (`GRADERS`).

    graders_behind(run.results, "mmvet", run.results.headline("mmvet").key)

Numbers of two graders are never compared unless the user asks for it: a table of models ranks them apart, and its notes say who
graded what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow, added_to
from mm_eval.values.features import brought
from mm_eval.values.types import MetricKey


class Grader(Protocol):
    """A grader of one task, as results.json records it.

    noun, verb: what such a grader is called in sentences, and what it has done to a number. mixing: the option of a command,
    which its feature brings, under which numbers of different graders are compared all the same. advice: how two runs get the
    same grader. absence: a question about a run that lacks such numbers.
    """

    noun: ClassVar[str]
    verb: ClassVar[str]
    mixing: ClassVar[str]
    advice: ClassVar[str]
    absence: ClassVar[str]

    @property
    def name(self) -> str: ...

    @property
    def official(self) -> str | None:
        """The grader of the benchmark's authors; None where the task states none."""

    @property
    def is_official(self) -> bool | None: ...

    @property
    def versions(self) -> tuple[str, ...]:
        """The names under which it replied."""

    def known_as(self, name: str) -> bool:
        """Whether a name that somebody states is this grader's."""

    def described(self) -> str:
        """Its name, and what replied where that is another one."""

    def sentence(self) -> str:
        """Who graded, in one line."""

    def difference(self, other: Any) -> str:
        """How another grader differs, in words; empty for the same one. other: None for no grader."""

    def difference_to_reported(self, name: str) -> str:
        """How the grader of a published number differs, in words; empty for the same one. name: "" where none is named."""


class Graders(Protocol):
    """What a feature brings: a module with these names. A name of `GRADERS` is the key that the feature adds to results.json."""

    KIND: type[Grader]

    def name_numbers(self, results: Results) -> None:
        """Says of each number who gave it."""

    def graders_of(self, results: Results, task: str) -> Sequence[Grader]:
        """The graders of a task; the metrics of the first one have plain names."""

    def grader_of(self, results: Results, task: str, metric: str) -> Grader | None:
        """The grader that gave a metric of a task; None for one that needs none."""

    def lines(self, results: Results) -> Iterator[str]:
        """Lines below the table of a run: who graded which tasks."""

    def oddities(self, results: Results) -> Iterator[str]:
        """What is odd about who replied."""

    def ends(self, results: Results, task: str) -> tuple[float, float] | None:
        """The lowest and the highest grade of a task; None where they are not known."""

    def further(self, row: SampleRow) -> tuple[str, ...]:
        """How the metrics of further graders end in a row."""

    def page_cells(self, row: SampleRow) -> dict[str, Any]:
        """What a row says of its grades, in the short keys of the page."""


def kinds() -> list[type[Grader]]:
    """The kinds of graders that there are."""
    return [each.KIND for each in brought("GRADERS").values()]


def are_mixed(options: object) -> bool:
    """Whether the options of a command ask to compare numbers of different graders."""
    return any(getattr(options, kind.mixing) for kind in kinds())


def graded_by(graders: Iterable[Grader], kind: type[Grader] | Grader) -> str:
    """Who gave a number, in words: the verb of the kind, and the names. kind: of the graders, of which a number may have none."""
    names = dict.fromkeys(grader.described() for grader in graders)
    return f"{kind.verb} by {', '.join(names) or f'no {kind.noun}'}"


def grading(results: Results) -> Iterator[Graders]:
    """What features bring for the graders of these results."""
    yield from brought("GRADERS").for_results(results.added).values()


def grading_of_row(row: SampleRow) -> list[Graders]:
    """The same for a row of samples/; nothing for one to which no feature added something."""
    return list(brought("GRADERS").values()) if added_to(row) else []


def name_graders(results: Results) -> None:
    """Says of each number who gave it."""
    for each in grading(results):
        each.name_numbers(results)


def graders_of(results: Results, task: str) -> tuple[Grader, ...]:
    """The graders of a task, the first one's metric has its plain name; none for a task without."""
    return tuple(grader for each in grading(results) for grader in each.graders_of(results, task))


def graders_by_task(results: Results) -> dict[str, tuple[Grader, ...]]:
    """{task: its graders} of the tasks that need one; empty of a task that nobody graded."""
    needed = (task for key in brought("GRADERS") for task in results.added.get(key, {}))
    return {task: graders_of(results, task) for task in needed}


def graders_behind(results: Results, name: str, key: MetricKey) -> dict[str, Grader]:
    """{task: grader} behind a number of a task or a group; empty where none is."""
    found = {}
    for leaf in results.leaves(name):
        grader = next((g for each in grading(results) if (g := each.grader_of(results, leaf, key.metric))), None)
        row = results.rows.get(leaf)
        if grader is None and (row is None or row.number(key) is None):  # a group's mean of unlike metrics
            grader = next(iter(graders_of(results, leaf)), None)
        if grader is not None:
            found[leaf] = grader
    return found


def graders_differ(first: Mapping[str, Grader], second: Mapping[str, Grader]) -> str:
    """How the graders behind two numbers differ, in words; empty where they don't."""
    for task in first.keys() | second.keys():
        known, other = (first[task], second.get(task)) if task in first else (second[task], None)
        if said := known.difference(other):
            return said
    return ""
