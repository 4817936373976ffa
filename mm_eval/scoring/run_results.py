"""What a run came to: a row of numbers for each task, group and category, and what was measured.

results.rows["mme"].numbers[0].stderr
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.scoring.answered_by import oddity
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.features import brought
from mm_eval.values.types import Number, main_metrics


@dataclass(frozen=True)
class RunFacts:
    """What was measured, with which versions, and when: the part `run`, which may differ between equal runs.

    facts: as they stand in the file. What readers use has a name here.
    """

    facts: dict[str, Any] = field(default_factory=dict)

    def _mapping(self, name: str) -> Mapping[str, Any]:
        found = self.facts.get(name)
        return found if isinstance(found, Mapping) else {}

    @property
    def model_name(self) -> str:
        """The adapter, or the name of a bundled model."""
        return str(self.facts.get("model_name"))

    @property
    def model(self) -> Mapping[str, Any]:
        """What the adapter says of itself."""
        return self._mapping("model")

    @property
    def sample(self) -> list[str]:
        """The data sets of which bundled samples were taken."""
        found = self.facts.get("sample")
        return found if isinstance(found, list) else []

    @property
    def blind(self) -> str:
        """How the pictures were left out; "" where they were shown."""
        return str(self.facts.get("blind") or "")

    @property
    def prompts(self) -> Mapping[str, Mapping[str, Any]]:
        """The prompt block of each task: its key, its kwargs, its rule of frames."""
        return self._mapping("prompts")

    @property
    def in_part(self) -> Mapping[str, Sequence[int]]:
        """{task: (docs of the run, docs of the task)} where docs were left out."""
        return self._mapping("in_part")

    @property
    def chat_template(self) -> bool:
        return bool(self.facts.get("chat_template"))

    @property
    def system_instruction(self) -> str | None:
        return self.facts.get("system_instruction")

    @property
    def seed(self) -> Any:
        return self.facts.get("seed")

    @property
    def limit(self) -> Any:
        return self.facts.get("limit")

    @property
    def version(self) -> Any:
        """Of mm-eval."""
        return self.facts.get("mm_eval")

    @property
    def started(self) -> float:
        """When the run that scored began, in seconds since 1970."""
        return float(self.facts["started"])

    @property
    def seconds(self) -> float:
        """How long that run took, with scoring."""
        return float(self.facts["seconds"])

    @property
    def answering(self) -> Mapping[str, Any]:
        """When the requests began and how many seconds they took, over all launches; of the run where that is not known."""
        return self._mapping("answering") or self.facts

    @property
    def usage(self) -> Mapping[str, int]:
        """Tokens by kind."""
        return self._mapping("usage")

    @property
    def cost(self) -> Mapping[str, Any]:
        """What the answers have cost, with the prices."""
        return self._mapping("cost")

    @property
    def scored_by(self) -> Any:
        """Digests of the tasks' rules that made the numbers."""
        return self.facts.get("scored_by")

    @property
    def answered_by(self) -> Mapping[str, int]:
        """{name of a model as replies state it: how many do}"""
        return self._mapping("answered_by")


@dataclass
class Results:
    """The results of a run.

    rows: every task and group by name, in the table's order. members: of each group, tasks and inner groups.
    configs: of each task as it was written. versions, shots: of each row; shots is a range such as "0-5" where tasks differ.
    group_metrics: how each group's numbers are made; None in a folder of an older version. sizes: of each task, docs of the data
    set and of the run. categories: {task: {level: {category: its row}}}. added: what features add.
    """

    rows: dict[str, Scores] = field(default_factory=dict)
    members: dict[str, list[str]] = field(default_factory=dict)
    configs: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)
    shots: dict[str, int | str] = field(default_factory=dict)
    group_metrics: dict[str, list[Any]] | None = None
    sizes: dict[str, dict[str, int]] = field(default_factory=dict)
    categories: dict[str, dict[str, dict[str, Scores]]] = field(default_factory=dict)
    added: dict[str, Any] = field(default_factory=dict)
    run: RunFacts = field(default_factory=RunFacts)

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

    def main_numbers(self, name: str) -> list[Number]:
        """The numbers of `metadata.metric`: of each name the first, in the order stated. Empty where the row has none of them."""
        numbers = self.rows[name].numbers
        stated = main_metrics(self.configs.get(name, {}).get("metadata"))
        first = (next((each for each in numbers if each.key.is_named(metric)), None) for metric in stated)
        return list({number.key: number for number in first if number is not None}.values())

    def headline(self, name: str) -> Number | None:
        """The number by which a row is compared: its first main number, else its first. None if it has no numbers."""
        return next(iter(self.main_numbers(name) or self.rows[name].numbers), None)

    @property
    def warnings(self) -> list[str]:
        """What a reader should know before the numbers, a sentence a task; empty where nothing is odd."""
        of_tasks = [f"{name}: {said}" for name, row in self.rows.items() for said in row.warnings]
        return [*self.oddities, *of_tasks]

    @property
    def oddities(self) -> Iterator[str]:
        """What is odd about the models that answered, and about those that graded."""
        if said := oddity(str(self.run.model.get("model") or ""), self.run.answered_by):
            yield f"{said}."
        for graders in brought("GRADERS").for_results(self.added).values():
            yield from graders.oddities(self)


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
