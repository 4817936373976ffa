"""Whether a run loses less than a policy allows, against a reference: GO, NO-GO or UNDECIDED.

A clause holds if the upper bound of the loss is below what it allows, and is broken if the lower bound is above it. Both are
one-sided bounds of the paired difference, clustered by picture, at alpha divided by the number of clauses that decide. So a GO
for a model that loses too much somewhere, and a NO-GO for one that does not, each have a chance of at most alpha.

Documents that failed in one of the runs, or that one did not ask, are not left out as if nothing had happened: the bounds hold
whatever their scores are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from mm_eval.deciding.policy import GO, NO_GO, UNDECIDED, Clause, Policy
from mm_eval.deciding.trial import AllowedLoss
from mm_eval.results.changes import Change
from mm_eval.results.number_text import rounded
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.metrics.paired import scale_of
from mm_eval.scoring.metrics.traits import traits_of
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.types import JsonObject, MetricKey, Number
from mm_eval.values.words import counted
from mm_eval.verbs.study.compare import Comparison, compare
from mm_eval.verbs.study.one_sided import lower_end, negative, upper_end

HOLDS, BROKEN, OPEN = "holds", "broken", "undecided"


@dataclass(frozen=True)
class Checked:
    """One clause on one number.

    change: None where there is no number to compare. loss: of the run against the reference, positive where it is worse.
    margin: what is allowed. low, high: the bounds of the loss; None where there is none. All three are differences of numbers,
    not yet in the table's unit. missing: documents that have no score in one of the runs. why: what keeps the clause from
    being decided.
    """

    name: str
    clause: Clause
    change: Change | None = None
    loss: Number | None = None
    margin: float = 0.0
    low: float | None = None
    high: float | None = None
    missing: int = 0
    why: str = ""

    @property
    def state(self) -> str:
        if self.high is not None and self.high < self.margin:
            return HOLDS
        return BROKEN if self.low is not None and self.low > self.margin else OPEN

    @property
    def needed(self) -> int | None:
        """About how many documents would decide an open clause if the loss is as seen; None where that can't be said."""
        loss, low, high = self.loss, self.low, self.high
        if self.state != OPEN or self.missing or loss is None or not loss.n or low is None or high is None:
            return None
        room = self.margin - loss.value
        reach = high - loss.value if room > 0 else loss.value - low
        return None if abs(room) < 1e-12 or not reach else math.ceil(loss.n * (reach / room) ** 2)

    @property
    def needed_without_loss(self) -> int | None:
        """About how many documents show that nothing is lost, where these could not; None where they can."""
        loss, high = self.loss, self.high
        if loss is None or high is None or not loss.n or not self.margin or self.missing:
            return None
        reach = high - loss.value
        return None if reach < self.margin else math.ceil(loss.n * (reach / self.margin) ** 2)


@dataclass(frozen=True)
class Gate:
    """The clauses of a policy on a run and its reference. level: the alpha of each bound."""

    policy: Policy
    run: RecordedRun
    reference: RecordedRun
    comparison: Comparison
    checked: Sequence[Checked]
    level: float
    differs: Sequence[str] = field(default=())

    @property
    def deciding(self) -> list[Checked]:
        return [each for each in self.checked if not each.clause.advisory]

    @property
    def found(self) -> str:
        """What the documents say, whatever the policy makes of an undecided clause."""
        states = {each.state for each in self.deciding}
        return NO_GO if BROKEN in states else UNDECIDED if OPEN in states else GO

    @property
    def verdict(self) -> str:
        return self.policy.undecided if self.found == UNDECIDED else self.found


def gate(policy: Policy, run: RecordedRun, reference: RecordedRun, mix_judges: bool = False) -> Gate:
    """The clauses of a policy, checked.

    Errors: ConfigError for a clause on a benchmark that neither run has, and where no clause applies.
    """
    known = dict.fromkeys([*run.results.rows, *reference.results.rows])
    for name, clause in policy.clauses.items():
        if name not in known:
            what = f"neither run has a benchmark {name!r}."
            raise ConfigError(what, where=clause.where, hint=did_you_mean(name, known))
    [comparison] = compare([reference, run], mix_judges=mix_judges)
    pairs = list(_clauses(policy, reference))
    if not any(not clause.advisory for _, clause in pairs):
        what = f"no clause of the policy that decides is on a benchmark of {run.folder} and {reference.folder}."
        raise ConfigError(what, where=policy.path, hint="State `default: {loss: 0.5}`, or one of their benchmarks.")
    level = policy.alpha / sum(not clause.advisory for _, clause in pairs)
    checked = [_checked(name, clause, comparison, run, reference, level) for name, clause in pairs]
    return Gate(policy, run, reference, comparison, checked, level, tuple(comparison.differs))


def _clauses(policy: Policy, reference: RecordedRun) -> Iterator[tuple[str, Clause]]:
    """Each benchmark with its clause, in the order of the policy; the default is on each that the reference has beside them."""
    yield from policy.clauses.items()
    if policy.default is None:
        return
    inside = {leaf for name in reference.results.groups for leaf in reference.results.members[name]}
    for name in reference.results.rows:
        if name not in policy.clauses and name not in inside and reference.results.headline(name) is not None:
            yield name, policy.default


def _checked(
    name: str, clause: Clause, comparison: Comparison, run: RecordedRun, reference: RecordedRun, level: float
) -> Checked:
    open_ = Checked(name, clause)
    for side, where in ((run, run.folder), (reference, reference.folder)):
        if name not in side.results.rows or side.results.headline(name) is None:
            return replace(open_, why=f"{where} has no score for it")
    key = _key(name, clause, reference)
    change = next(
        (each for each in comparison.changes if (each.task, each.key, each.category) == (name, key, None)), None
    )
    if change is None:
        two_judges = [
            said
            for (task, of_key), said in comparison.two_judges.items()
            if of_key == key and task in reference.results.leaves(name)
        ]
        two_golds = [said for task, said in comparison.two_golds.items() if task in reference.results.leaves(name)]
        if two_golds:
            return replace(open_, why=f"two sets of golds scored it: {two_golds[0]}")
        unknown = [said for said in comparison.unknown if said.split(":")[0] in reference.results.leaves(name)]
        why = f"two judges gave it: {two_judges[0]}" if two_judges else unknown[0] if unknown else ""
        return replace(open_, why=why or "the runs share no scored document of it")
    if change.better is None:
        return replace(open_, change=change, why=f"{key.label} has no direction, so no change is a loss")
    if why := _stopped_otherwise(name, run, reference, level):
        return replace(open_, change=change, why=why)
    loss = negative(change.difference) if change.better else change.difference
    margin = clause.margin(change.unit, float(change.first.value))
    low, high = lower_end(loss, level), upper_end(loss, level)
    if (looked := _after_looking(name, run, reference)) is not None and looked.get("interval"):
        loss = replace(loss, value=-looked["difference"] if change.better else looked["difference"], n=looked["docs"])
        low, high = AllowedLoss(margin, change.better).ends((looked["interval"][0], looked["interval"][1]))
    found = replace(open_, change=change, loss=loss, margin=margin, low=low, high=high)
    if high is None:
        return replace(found, why=loss.note.rstrip(".") or "the difference has no interval")
    missing = {
        leaf: _missing(run, reference, leaf, key, everything=looked is None) for leaf in reference.results.leaves(name)
    }
    return _with_missing(found, missing, reference) if any(count for count, _ in missing.values()) else found


def _after_looking(name: str, run: RecordedRun, reference: RecordedRun) -> JsonObject | None:
    """How the comparison of the two on a row ended, where a run stopped by a policy; its interval holds at all looks.

    Both runs have recorded it alike. One with the reference as the other model, or with another run of its name, is none.
    """
    pair = {"row": name, "first": str(reference.request.get("name")), "second": str(run.request.get("name"))}
    of_sides = []
    for side in (reference, run):
        recorded = side.results.looks["comparisons"] if side.results.looks else ()
        of_sides += [each for each in recorded if "allowed" in each and pair.items() <= each.items()]
    if len(of_sides) != 2 or of_sides[0].get("docs") != of_sides[1].get("docs"):
        return None
    alike = math.isclose(of_sides[0]["difference"], of_sides[1]["difference"], abs_tol=1e-9)
    return of_sides[1] if alike and "interval" in of_sides[1] else None


def _stopped_otherwise(name: str, run: RecordedRun, reference: RecordedRun, level: float) -> str:
    """Why the numbers of a run that stopped early give no bounds here; empty where they do, or where it did not stop."""
    stopped = [side for side in (run, reference) if (row := side.results.rows.get(name)) is not None and row.stopped]
    looked = _after_looking(name, run, reference)
    if looked is not None and float(looked.get("alpha", 1.0)) / 2 > level * (1 + 1e-9):
        return f"{run.folder} stopped by a policy with a larger alpha, or with fewer clauses"
    if stopped and looked is None:
        return f"{stopped[0].folder} stopped when another comparison was decided, so that its bounds would not hold"
    return ""


def _key(name: str, clause: Clause, reference: RecordedRun) -> MetricKey:
    """The number that a clause is on. ConfigError for a metric that the benchmark does not have."""
    headline = reference.results.headline(name)
    assert headline is not None
    if clause.metric is None:
        return headline.key
    keys = [number.key for number in reference.results.rows[name].numbers]
    found = next((key for key in keys if clause.metric in (str(key), key.label) or key.is_named(clause.metric)), None)
    if found is None:
        names = dict.fromkeys(key.label for key in keys)
        what = f"{name} has no metric {clause.metric!r}."
        raise ConfigError(what, where=clause.where, hint=did_you_mean(clause.metric, names))
    return found


def _missing(run: RecordedRun, reference: RecordedRun, task: str, key: MetricKey, everything: bool) -> tuple[int, int]:
    """How many documents of a task one run has no score of, and how many both have.

    One has failed, is not answered yet, or was not asked, as under --limit.
    everything: False where both stopped by the policy, whose bounds hold at any number of documents: only those that both asked
    count then.
    """
    if task not in run.tasks or task not in reference.tasks:
        return 0, 0
    docs = [side.recorded_docs(task) for side in (run, reference)]
    scores = [side.tasks[task].values.get(key, {}) for side in (run, reference)]
    both = {i for i in docs[0].keys() & docs[1].keys() if docs[0][i].doc == docs[1][i].doc}
    found = sum((i in scores[0]) != (i in scores[1]) or not all(side[i].answered for side in docs) for i in both)
    if everything:
        of_one = [(i, side, own) for side, own in zip(docs, scores, strict=True) for i in side.keys() - both]
        found += len({i for i, side, own in of_one if i in own or not side[i].answered})
    return found, sum(i in scores[0] and i in scores[1] for i in both)


def _with_missing(found: Checked, missing: Mapping[str, tuple[int, int]], reference: RecordedRun) -> Checked:
    """The bounds as they hold whatever the missing documents score: each may be lost wholly, or gained wholly.

    Only of means of shares, and of groups of them; another number has no known worst case, and so no bounds.
    """
    total = sum(count for count, _ in missing.values())
    why = f"{counted(total, 'document has', 'documents have')} no score in one of the runs"
    found, low, high = replace(found, low=None, high=None, missing=total, why=why), found.low, found.high
    if low is None or high is None or found.change is None:
        return found
    key, shares = found.change.key, list[float]()
    for leaf, (count, compared) in missing.items():
        task = reference.tasks[leaf]
        function = task.aggregation(key)
        whole = (
            function is not None and traits_of(function).is_mean and scale_of(function, list(task.values[key].values()))
        )
        if whole != (0.0, 1.0) or not compared:
            return found
        shares.append(count / (count + compared))
    if len(shares) == 1:
        [share] = shares
        return replace(found, low=(1 - share) * low - share, high=(1 - share) * high + share)
    worst = 2 * max(shares)  # whatever each member counts in the group
    return replace(found, low=low - worst, high=high + worst)


def docs_text(count: int) -> str:
    """ "about 8,300 documents" """
    return f"about {rounded(count):,} documents"
