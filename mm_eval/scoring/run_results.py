"""What a run came to: a row of numbers for each task, group and category, and what was measured.

results.rows["mme"].numbers[0].stderr
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NotRequired, TypedDict, TypeVar, cast

from mm_eval.prompt.blind import joined_media, said_of
from mm_eval.scoring.answered_by import oddities_of_judges, oddity
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.types import Fields, JsonObject, Number, main_metrics
from mm_eval.values.words import counted

T = TypeVar("T")


class _Fact(Generic[T]):
    """An entry of `RunFacts`, by the name of the attribute or by `key`; the default where the file has none of its type.

    None is the default of an entry of any type.
    """

    def __init__(self, default: T, key: str = "") -> None:
        self.default, self.key = default, key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    def __get__(self, of: RunFacts | None, owner: type) -> T:
        found = of.facts.get(self.key) if of is not None else None
        if found is None:
            return self.default
        kind = (int, float) if isinstance(self.default, float) else type(self.default)
        return cast(T, found) if self.default is None or isinstance(found, kind) else self.default


@dataclass(frozen=True)
class RunFacts:
    """What was measured, with which versions, and when: the part `run`, which may differ between equal runs.

    facts: as they stand in the file. What readers use has a name:

    model_name: the adapter, or the name of a bundled model. model: what the adapter says of itself. version: of mm-eval.
    sample: the data sets of which bundled samples were taken. limit: `--limit`. in_part: {task: (docs of the run, docs of the
        task)} where docs were left out. prompts: the prompt block of each task: its key, its kwargs, its rule of frames.
    most: {task: calls of tools and rounds that a document may have at most}, of tasks that have several turns.
    blind: how pictures and sounds were left out; "" where they were not. blind_to: {task: which of them it has}.
    system_instruction: "" for none.
    started, seconds: when the run that scored began, in seconds since 1970, and how long it took, with scoring.
    usage: tokens by kind. cost: what the answers have cost, with the prices. answered_by: {name of a model as replies state it:
        how many do}. scored_by: digests of the tasks' rules that made the numbers; empty where unknown.
    """

    facts: JsonObject = field(default_factory=dict)
    model_name = _Fact("")
    model = _Fact[Mapping[str, Any]]({})
    version = _Fact("", "mm_eval")
    sample = _Fact(list[str]())
    seed = _Fact[Any](None)
    limit = _Fact[Any](None)
    in_part = _Fact[Mapping[str, Sequence[int]]]({})
    prompts = _Fact[Mapping[str, Mapping[str, Any]]]({})
    most = _Fact[Mapping[str, Mapping[str, int]]]({})
    blind = _Fact("")
    blind_to = _Fact[Mapping[str, str]]({})
    chat_template = _Fact(False)
    system_instruction = _Fact("")
    started = _Fact(0.0)
    seconds = _Fact(0.0)
    usage = _Fact[Mapping[str, int]]({})
    cost = _Fact[Mapping[str, Any]]({})
    answered_by = _Fact[Mapping[str, int]]({})
    scored_by = _Fact[Mapping[str, str]]({})

    @property
    def blind_said(self) -> str:
        """How a blind run is marked in tables; "" for others."""
        return said_of(self.blind, joined_media(self.blind_to.values())) if self.blind else ""

    @property
    def answering(self) -> Fields:
        """When the requests began and how many seconds they took, over all launches; of the run where that is not known."""
        found = self.facts.get("answering")
        return found if isinstance(found, Mapping) and found else self.facts


class ProtocolVerdicts(TypedDict):
    """What a run under a named protocol came to. rows: a verdict for each reported number. missing: benchmarks without a task.

    model: of the report, None where the run's is not known to be one. file: a digest of the protocol.
    """

    name: str
    title: str
    report: str
    file: str
    model: str | None
    rows: list[JsonObject]
    missing: list[str]


class Looks(TypedDict):
    """Where a run stopped before all docs were asked. rows: {row: where it ended}. comparisons: with the other models.

    wide: rows whose interval stayed wide. options: those that the run was stopped by.
    """

    rows: dict[str, JsonObject]
    comparisons: list[JsonObject]
    wide: NotRequired[list[JsonObject]]
    options: NotRequired[JsonObject]


class GoldFixes(TypedDict):
    """Golds that were fixed. file: its name. sha256: of its bytes. tasks: {task: {"fixed": docs with another gold, "dropped":
    docs that were left out}}, of the tasks with any."""

    file: str
    sha256: str
    tasks: dict[str, dict[str, int]]


@dataclass
class Results:
    """The results of a run.

    rows: every task and group by name, in the table's order. members: of each group, tasks and inner groups.
    configs: of each task as it was written. versions, shots: of each row; shots is a range such as "0-5" where tasks differ.
    group_metrics: how each group's numbers are made.
    sizes: of each task, docs of the data set and of the run. categories: {task: {level: {category: its row}}}.
    judges: {task: an entry for each judge} of judged tasks. protocol: verdicts of a run under one. looks: of one that stopped.
    gold_fixes: golds that the numbers were scored by in place of the data's; see `fixed_golds`.
    submissions: {task: its file and what is in it}. imported: {task: the other suite's own scores} of logs of another suite.
    others: entries of a file that stand for none of these; they are written again.
    """

    rows: dict[str, Scores] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    configs: dict[str, JsonObject] = field(default_factory=dict)
    versions: dict[str, object] = field(default_factory=dict)
    shots: dict[str, int | str] = field(default_factory=dict)
    group_metrics: dict[str, list[Any]] = field(default_factory=dict)
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    categories: dict[str, dict[str, dict[str, Scores]]] = field(default_factory=dict)
    run: RunFacts = field(default_factory=RunFacts)
    judges: dict[str, list[JsonObject]] = field(default_factory=dict)
    imported: dict[str, JsonObject] | None = None
    protocol: ProtocolVerdicts | None = None
    looks: Looks | None = None
    submissions: dict[str, JsonObject] = field(default_factory=dict)
    gold_fixes: GoldFixes | None = None
    others: JsonObject = field(default_factory=dict)

    @property
    def groups(self) -> list[str]:
        return [name for name in self.rows if name in self.members]

    def leaves(self, name: str) -> list[str]:
        """The tasks below a group, once for each place where they stand; a task is its own leaf."""
        if name not in self.members:
            return [name] if name in self.configs else []
        return [leaf for member in self.members[name] for leaf in self.leaves(member)]

    def better(self, name: str, metric: str) -> bool | None:
        """Whether higher is better; None for a number without a direction."""
        row = self.rows.get(name)
        return row.better.get(metric, True) if row else True

    def fixed_golds(self, name: str) -> str:
        """What was fixed of the golds of a row, in words; empty where the data's own golds scored it."""
        if self.gold_fixes is None:
            return ""
        found = [of for leaf in dict.fromkeys(self.leaves(name)) if (of := self.gold_fixes["tasks"].get(leaf))]
        fixed, dropped = (sum(each.get(kind, 0) for each in found) for kind in ("fixed", "dropped"))
        parts = [f"{counted(fixed, 'gold')} fixed"] if fixed else []
        parts += [f"{counted(dropped, 'document')} dropped"] if dropped else []
        by = f"{self.gold_fixes['file']} ({self.gold_fixes['sha256'][:12]})"
        return f"{' and '.join(parts)} by {by}" if parts else ""

    def main_numbers(self, name: str) -> list[Number]:
        """The numbers of `metadata.metric`: of each name the first, in the order stated. Empty where the row has none of them."""
        numbers = self.rows[name].numbers
        stated = main_metrics(self.configs.get(name, {}).get("metadata"))
        first = (next((each for each in numbers if each.key.is_named(metric)), None) for metric in stated)
        return list({number.key: number for number in first if number is not None}.values())

    def headline(self, name: str) -> Number | None:
        """The number by which a row is compared: its first main number, else its first. None if it has no scores."""
        return next(iter(self.main_numbers(name) or self.rows[name].numbers), None)

    @property
    def warnings(self) -> list[str]:
        """What a reader should know before the numbers, a sentence a task; empty where nothing is odd."""
        of_tasks = [f"{name}: {said}" for name, row in self.rows.items() for said in row.warnings]
        return [*self.oddities, *of_tasks]

    @property
    def oddities(self) -> Iterator[str]:
        """What is odd about the models that answered, and about those that judged."""
        if said := oddity(str(self.run.model.get("model") or ""), self.run.answered_by):
            yield f"{said}."
        yield from oddities_of_judges(self.judges)


PARTIAL, INTERRUPTED = 3, 130
"""Exit codes of a command: some requests failed, so that results are partial; and the user has stopped it."""


@dataclass
class Report:
    """What a run came to.

    results: None where nothing was scored. order: the rows of the table with their depth.
    exit_code: 0 everything was answered and scored, 3 some requests failed, 130 interrupted.
    notes: what a reader of the table should know. problems: what failed.
    silent: this process is one of several and not the one that reports.
    categories: the table shows every category, however many there are.
    waiting: for what the run waits, where it has no results because the same command has to go on.
    requested: answers that this command asked a model for; None where that is not known.
    """

    results: Results | None
    folder: Path
    exit_code: int
    order: list[tuple[str, int]]
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    silent: bool = False
    categories: bool = False
    waiting: str = ""
    requested: int | None = None
