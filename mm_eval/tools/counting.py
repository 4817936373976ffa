"""How often the tools of a task were called, as numbers beside its metrics and as fields of its samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.engine.tool_records import ToolRecord
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prompt.blind import SHUFFLED
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.filters.base import FilterEnsemble
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.tools.boxes import UNITS
from mm_eval.tools.calls import Counts, counts_of
from mm_eval.tools.turns import ToolTurns
from mm_eval.values.conversation import Turns
from mm_eval.values.errors import ConfigError
from mm_eval.values.reasoning.families import Marks
from mm_eval.values.reasoning.recorded import Reading
from mm_eval.values.types import NO_SHARE, Answer, Instance, ScoredDoc, Slot

NAME = "tools"
"""The second part of the keys of its numbers, and the entry of a row."""

FIXED = ("turns", "calls", "failed", "malformed")
"""The counts of a document that are numbers of every task with tools: their means."""
SHARES = ("looked", "unanswered")
"""What holds for a share of the documents."""


@dataclass(kw_only=True)
class ToolCounts(Scorer):
    """Counts the calls of each document. Its numbers are means over the documents; none of them is better high or low.

    turns: those of the task. marks: around the reasoning. lookup: the recorded answers. recorded: calls of code by their keys.
    by_doc, code: of the documents that were scored last the counts, and the calls of code of each answer.
    """

    turns: ToolTurns
    marks: Marks
    lookup: Callable[[Slot], Answer | None]
    recorded: Mapping[str, ToolRecord] = field(default_factory=dict)
    by_doc: dict[int, Counts] = field(default_factory=dict)
    code: dict[int, list[list[dict[str, Any]]]] = field(default_factory=dict)

    @classmethod
    def of_task(
        cls,
        turns: ToolTurns,
        marks: Marks,
        lookup: Callable[[Slot], Answer | None],
        recorded: Mapping[str, ToolRecord],
    ) -> ToolCounts:
        several = [f"calls_{tool.key}" for tool in turns.tools] if len(turns.tools) > 1 else []
        metrics: list[Metric] = [
            Metric(
                name, _not_called, aggregation=mean, higher_is_better=None, range=None if name in SHARES else NO_SHARE
            )
            for name in (*FIXED, *SHARES, *several)
        ]
        filters = FilterEnsemble(NAME, [])
        return cls(
            name=NAME, filter=filters, metrics=metrics, turns=turns, marks=marks, lookup=lookup, recorded=recorded
        )

    @property
    def reads_answers(self) -> bool:
        return False

    def run_docs(self, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        self.by_doc, self.code = {}, {}
        scored = {}
        for doc_id, group in by_doc.items():
            conversations = [self._turns_of(self.lookup(instance.slot)) for instance in group]
            each = [self._counts_of(turns) for turns in conversations]
            self.by_doc[doc_id] = each[0]
            self.code[doc_id] = [
                [_code_row(answer, call) for answer, call in self.turns.code_of(instance.slot, turns, self.recorded)]
                for instance, turns in zip(group, conversations, strict=True)
            ]
            values: dict[str, list[object]] = {
                name: [float(getattr(counts, name)) for counts in each] for name in (*FIXED, *SHARES)
            }
            for key in (tool.key for tool in self.turns.tools if len(self.turns.tools) > 1):
                values[f"calls_{key}"] = [float(counts.by_tool[key]) for counts in each]
            scored[doc_id] = ScoredDoc(doc_id, group[0].target, values)
        self.set_results(scored)
        return self.raw_docs

    def _turns_of(self, answer: Answer | None) -> list[Answer]:
        """The turns of a conversation as the conversation itself has read them."""
        reading = Reading(self.marks, opened=False)
        return [reading.read(turn, ()) for turn in answer.turns] if answer else []

    def _counts_of(self, turns: Sequence[Answer]) -> Counts:
        found = counts_of(turns, self.turns.schemas, self.turns.keys, with_fences=self.turns.has_fences)
        for tool in self.turns.tools:
            found.by_tool.setdefault(tool.key, 0)  # a tool that is not called is part of the row
        return found

    def row_entries(self, doc_id: int) -> dict[str, object]:
        if doc_id not in self.by_doc:
            return {}
        entry, code = self.by_doc[doc_id].to_json(), self.code[doc_id]
        if restored := sorted({call for calls in code for made in calls for call in made.get("restored", ())}):
            entry["restored"] = restored
        return {NAME: {**entry, "ran": code} if any(code) else entry}


def _code_row(answer: int, call: ToolRecord) -> dict[str, object]:
    """A call of code in a row of samples. turn: of the answer that made it, from 0.

    restored: earlier calls, from 1, whose results were others when they were made again before it.
    """
    row: dict[str, object] = {"turn": answer, "code": call.code, "output": call.text}
    row |= {"pictures": list(map(list, call.pictures)), "ending": call.ending, "seconds": call.seconds}
    return {**row, "restored": [number + 1 for number in call.restored]} if call.restored else row


def _not_called(references: object, predictions: object, **kwargs: object) -> float:
    raise NotImplementedError("the counts of tools are made from recorded turns.")


def with_counts(
    scorers: Sequence[Scorer],
    turns: Turns | None,
    marks: Marks,
    lookup: Callable[[Slot], Answer | None],
    recorded: Mapping[str, ToolRecord],
) -> Sequence[Scorer]:
    """The scorers of a task with the counts of its calls, where its turns are those of tools. recorded: calls of code."""
    return [*scorers, ToolCounts.of_task(turns, marks, lookup, recorded)] if isinstance(turns, ToolTurns) else scorers


def _has_box(schema: Mapping[str, Any]) -> bool:
    """Whether a tool takes a box. A function of a task may name a parameter as it likes, so all others count."""
    return set(schema.get("properties", ())) != {"code"}


def check_tools(opened: OpenedTasks) -> list[str]:
    """How the tools are offered, for whoever reads the table.

    Errors: ConfigError where a tool gets the doc with its own pictures, and those of other docs are to be shown.
    """
    found = {name: turns for name, style in opened.styles.items() if isinstance(turns := style.turns, ToolTurns)}
    for name, turns in found.items():
        own = next((tool.name for tool in turns.tools if tool.sees_doc), None)
        if own and opened.request.blind == SHUFFLED:
            what = f"the tool {own!r} gets the document's own pictures and sounds, so others can't stand in for them."
            raise ConfigError(what, where=opened.tasks[name].config.where("tools"), hint="Use --blind alone.")
    notes = list[str]()
    for name, turns in found.items():
        way = "natively" if turns.native else f"as text ({turns.form})"
        if not turns.known and not turns.native:
            way += ", since the format of this model is not known"
        fits = f", of {turns.resized[1]:,} to {turns.resized[2]:,} pixels" if turns.resized else ""
        boxes = f"; boxes are {UNITS[turns.unit]}{fits}" if any(map(_has_box, turns.schemas.values())) else ""
        notes.append(f"{name}: tools are called {way}{boxes}")
    return notes
