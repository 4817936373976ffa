"""The file of `mm-eval gate`: what each benchmark may lose.

alpha: 0.05                           # the chance of a wrong GO, and of a wrong NO-GO, over all clauses
undecided: undecided                  # or go, or no-go: what an undecided clause means in the end
default: {loss: 0.5}                  # each benchmark that has no clause of its own; without it these are ignored
mme: {loss: 20}                       # in what the table prints: percentage points, points of MME
mathvista_testmini: {loss: 2, unit: percent}   # percent of the reference's number
ai2d: {loss: 1, advisory: true}       # printed, and never decides
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mm_eval.config.arguments import NUMBER_FROM_0, SWITCH, TEXT, Rule, faults, shortly
from mm_eval.options import ALPHA
from mm_eval.results.number_text import Unit
from mm_eval.values.errors import ConfigError, raise_all

POINTS, PERCENT = "points", "percent"
GO, NO_GO, UNDECIDED = "GO", "NO-GO", "UNDECIDED"
OUTCOMES = {"go": GO, "no-go": NO_GO, "undecided": UNDECIDED}
DEFAULT = "default"
OF_POLICY: Mapping[str, Rule] = {
    "alpha": ALPHA,
    "undecided": Rule(f"one of {', '.join(OUTCOMES)}", lambda value: isinstance(value, str) and value in OUTCOMES),
}
OF_CLAUSE: Mapping[str, Rule] = {
    "loss": NUMBER_FROM_0,
    "unit": Rule(f"{POINTS} or {PERCENT}", lambda value: value in (POINTS, PERCENT)),
    "metric": TEXT,
    "advisory": SWITCH,
}


@dataclass(frozen=True)
class Clause:
    """What one benchmark may lose.

    loss: in the table's unit, or in percent of the reference's number. metric: None for the benchmark's main one.
    advisory: it is printed and never decides. where: the file and line that state it.
    """

    loss: float
    unit: str = POINTS
    metric: str | None = None
    advisory: bool = False
    where: str = ""

    def margin(self, unit: Unit, reference: float) -> float:
        """The loss as a difference of numbers. unit: of the table. reference: the number of the model that is compared with."""
        return self.loss / 100 * abs(reference) if self.unit == PERCENT else self.loss / unit.factor

    @property
    def said(self) -> str:
        return f"{self.loss:g}%" if self.unit == PERCENT else f"{self.loss:g}"


@dataclass(frozen=True)
class Policy:
    """clauses: by task or group. default: of all other benchmarks; None to ignore them. undecided: what the end is then."""

    path: str
    clauses: Mapping[str, Clause]
    default: Clause | None = None
    alpha: float = 0.05
    undecided: str = UNDECIDED


def read_policy(path: str) -> Policy:
    """The policy of a file. Errors: ConfigError with file and line for everything that is unknown, missing or invalid."""
    from mm_eval.config.yaml import load_file

    config = load_file(Path(path))
    stated = {name: value for name, value in config.items() if name in OF_POLICY}
    found = list(faults(stated, OF_POLICY, config.where, "key"))
    clauses: dict[str, Clause] = {}
    for name, value in config.items():
        if name in OF_POLICY:
            continue
        try:
            clauses[str(name)] = _clause(str(name), value, config.where(name))
        except ConfigError as error:
            found.append(error)
    if not clauses and not found:
        hint = "Such as default: {loss: 0.5}, or mme: {loss: 20}."
        found.append(ConfigError("the policy states no loss of any benchmark.", where=path, hint=hint))
    elif clauses and all(clause.advisory for clause in clauses.values()):
        found.append(ConfigError("every clause is advisory, so nothing can decide.", where=path))
    raise_all(found)
    default = clauses.pop(DEFAULT, None)
    outcome = OUTCOMES[str(stated.get("undecided") or "undecided")]
    return Policy(path, clauses, default, float(stated.get("alpha") or 0.05), outcome)


def _clause(name: str, stated: object, where: str) -> Clause:
    if not isinstance(stated, Mapping):
        what = f"the clause of {name} is {shortly(stated)}; a mapping is needed."
        raise ConfigError(what, where=where, hint=f"Such as {name}: {{loss: 0.5}}.")
    place = getattr(stated, "where", None)
    found = list(faults(dict(stated), OF_CLAUSE, lambda key: place(key) if place else where, "key"))
    if stated.get("loss") is None and not found:
        what = f"the clause of {name} states no `loss`."
        found.append(ConfigError(what, where=where, hint=f"Such as {name}: {{loss: 0.5}}."))
    raise_all(found)
    return Clause(
        float(stated["loss"]), stated.get("unit") or POINTS, stated.get("metric"), bool(stated.get("advisory")), where
    )
