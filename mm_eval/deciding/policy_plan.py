"""Which clauses of a policy can be decided with the documents that there are: before anything is asked.

A clause is decided for a model that loses nothing if the bound of its loss is then below what is allowed, with the stated power
and at the level that the gate will use.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mm_eval.deciding.boundaries import quantile_above
from mm_eval.deciding.design import FLIPPED, Planned, Question
from mm_eval.deciding.policy import PERCENT, Clause, Policy
from mm_eval.results.number_text import rounded
from mm_eval.results.table import Cell, Column, Row, Table, fitted, left_out, to_text
from mm_eval.values.errors import ConfigError


@dataclass(frozen=True)
class PlannedClause:
    """One clause on a planned benchmark. allowed: in the table's unit. needed: documents, for the low and the high spread."""

    row: Planned
    clause: Clause
    allowed: float
    needed: tuple[int, int] | None

    @property
    def enough(self) -> str:
        if self.needed is None or self.needed[0] > self.row.docs:
            return "no"
        return "yes" if self.needed[1] <= self.row.docs else "for like models"

    def to_json(self) -> dict[str, object]:
        return {
            "benchmark": self.row.name,
            "documents": self.row.docs,
            "spread": list(self.row.spread),
            "measured": self.row.measured,
            "allowed": self.allowed,
            "advisory": self.clause.advisory,
            "documents_needed": None if self.needed is None else list(self.needed),
            "enough": self.enough,
        }


def planned_clauses(
    rows: Sequence[Planned], policy: Policy, question: Question, numbers: Mapping[str, float]
) -> list[PlannedClause]:
    """The clauses that are on the planned rows. numbers: of a first run in the table's unit, by row, for losses in percent.

    Errors: ConfigError where none is on a row, and for a loss in percent without a run.
    """
    found = [(row, clause) for row in rows if (clause := policy.clauses.get(row.name, policy.default)) is not None]
    deciding = sum(not clause.advisory for _, clause in found)
    if not deciding:
        hint = "State `default: {loss: 0.5}`, or one of them."
        raise ConfigError("no clause that decides is on a planned benchmark.", where=policy.path, hint=hint)
    reach = quantile_above(policy.alpha / deciding) + quantile_above(1 - question.power)
    return [_planned(row, clause, reach, numbers) for row, clause in found]


def _planned(row: Planned, clause: Clause, reach: float, numbers: Mapping[str, float]) -> PlannedClause:
    if clause.unit == PERCENT and row.name not in numbers:
        what = f"the loss of {row.name} is a share of the reference's number, which is not known here."
        raise ConfigError(what, where=clause.where, hint="Give runs of two models: --from runs/a runs/b.")
    allowed = clause.loss / 100 * abs(numbers[row.name]) if clause.unit == PERCENT else clause.loss
    needed = [math.ceil((reach * spread / allowed) ** 2) for spread in row.spread] if allowed else None
    return PlannedClause(row, clause, allowed, None if needed is None else (needed[0], needed[1]))


def render(found: Sequence[PlannedClause], policy: Policy, question: Question, width: int | None = None) -> str:
    """The table, and a sentence on each clause that the documents can't decide."""
    columns = [
        Column("benchmark", "text"),
        Column("documents"),
        Column("spread", spare=1),
        Column("allowed loss"),
        Column("documents it takes"),
        Column("enough", "text"),
    ]
    table, out = fitted(Table(columns, [Row(_cells(each)) for each in found]), width)
    return "\n".join([*to_text(table).split("\n"), *left_out(out), "", *_sentences(found, policy, question)])


def _cells(each: PlannedClause) -> dict[str, Cell]:
    low, high = each.row.spread
    takes = None
    if each.needed is not None:
        least, most = (f"{rounded(count):,}" for count in each.needed)
        takes = least if least == most else f"{least} to {most}"
    return {
        "benchmark": each.row.name,
        "documents": f"{each.row.docs:,}",
        "spread": f"{low:.0f}" if low == high else f"{low:.0f} to {high:.0f}",
        "allowed loss": f"{each.allowed:g}",
        "documents it takes": takes,
        "enough": f"{each.enough}{' (advisory)' if each.clause.advisory else ''}",
    }


def _sentences(found: Sequence[PlannedClause], policy: Policy, question: Question) -> Iterator[str]:
    deciding = sum(not each.clause.advisory for each in found)
    corrected = f", corrected for {deciding} clauses" if deciding > 1 else ""
    yield (
        f"A clause on a model that loses nothing is decided in {question.power:.0%} of evaluations, with at most "
        f"{policy.alpha:.0%} wrong verdicts{corrected}."
    )
    if any(not each.row.measured for each in found) and question.spread is None:
        low, high = (f"{share:.0%}" for share in FLIPPED)
        yield f"The spread is assumed: two models differ in {low} (like models) to {high} (unlike ones) of the documents."
    for each in found:
        if each.needed is None:
            yield f"{each.row.name} may lose nothing, which only a proven gain shows."
        elif each.enough == "no":
            what = f"{each.row.name} can't be decided: a loss below {each.allowed:g} takes about {rounded(each.needed[0]):,}"
            yield f"{what} documents, and it has {each.row.docs:,}."
