"""Documents whose gold answer is probably wrong, by the answers of several runs.

    found = doubt([RecordedRun.read(folder) for folder in folders])
    found.documents[0].probability

The tasks of a group are fitted together, since many subtasks are small. The model and what it assumes: `dawid_skene`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import value_digest
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import JsonObject
from mm_eval.values.words import counted, listed
from mm_eval.verbs.doubt.answers import Reader, Said, family_name, in_form_of, joined, options_of
from mm_eval.verbs.doubt.dawid_skene import GOLD, MISSING, RARE, SLOTS, Fitted, fit

PRIOR = 0.03
"""The share of golds that are taken to be wrong before the answers are looked at."""
LEAST_RUNS = 2


@dataclass(frozen=True)
class Doubted:
    """A document. probability: that its gold is wrong. instead: the most probable other answer, as it is shown; its own
    probability is `of_instead`. target: `instead` in the form of the gold, None where it has none. said: the answer of each run,
    None where it has none that can be compared. for_it, against: the runs that gave `instead`, and the gold.
    """

    task: str
    doc_id: int
    probability: float
    instead: str
    of_instead: float
    gold: object
    target: object
    said: Sequence[Said | None]
    option: str
    data: str
    row: SampleRow = field(repr=False)

    @property
    def for_it(self) -> list[int]:
        return [place for place, each in enumerate(self.said) if each and not each.right and each.option == self.option]

    @property
    def against(self) -> list[int]:
        return [place for place, each in enumerate(self.said) if each and each.right]

    def line(self) -> JsonObject:
        """The document as a line of a file of decisions has it, without a decision."""
        return {"task": self.task, "doc_id": self.doc_id, "gold": self.gold, "data": self.data}


@dataclass(frozen=True)
class Doubts:
    """The documents in doubt, the most probable first, and what was estimated of each group of tasks.

    families: of each run, a number. why_family: {number: why its runs are one family}. docs: how many were compared.
    more: documents in doubt that `most` left out.
    """

    runs: Sequence[RecordedRun]
    documents: Sequence[Doubted]
    families: Sequence[int]
    why_family: Mapping[int, str]
    fitted: Mapping[str, Fitted]
    docs: Mapping[str, int]
    prior: float
    notes: Sequence[str] = ()
    more: int = 0

    @property
    def expected(self) -> float:
        """The expected number of wrong golds among all documents that were compared."""
        return float(sum(each.probabilities.sum() for each in self.fitted.values()))


@dataclass
class _Answered:
    """The answers to one document, by the place of the run. digest: of the document, which equal ones share."""

    digest: bytes
    said: dict[int, Said | None] = field(default_factory=dict)
    options: int = 0


def doubt(
    runs: Sequence[RecordedRun],
    prior: float = PRIOR,
    only: Collection[str] | None = None,
    at_least: float = 0.0,
    most: int | None = None,
    together: Sequence[Sequence[int]] = (),
) -> Doubts:
    """The documents whose gold is wrong with at least some probability.

    only: these tasks. together: places of runs that the user takes for one family, beside those with names of one.
    Errors: ConfigError for fewer than two runs, and where they share no document that can be compared.
    """
    if len(runs) < LEAST_RUNS:
        hint = "Five runs of several families are better: mm-eval doubt RUN RUN ..."
        raise ConfigError("at least two runs are needed.", hint=hint)
    if fixed := next((run for run in runs if run.results.gold_fixes is not None), None):
        hint = f"`mm-eval score {fixed.folder}` scores it by the data's golds again."
        raise ConfigError("the run was scored by golds that are fixed already.", where=str(fixed.folder), hint=hint)
    by_task, notes, few = dict[str, dict[int, _Answered]](), list[str](), dict[str, int]()
    for name in dict.fromkeys(name for run in runs for name in run.spec["tasks"]):
        having = [place for place, run in enumerate(runs) if name in run.spec["tasks"]]
        if (only is not None and name not in only) or len(having) < LEAST_RUNS:
            continue
        if docs_of_task := _read(runs, name, having, notes, few):
            by_task[name] = docs_of_task
    if few:
        said = listed([f"{name} {count:,}" for name, count in few.items()], 6)
        notes.append(f"documents with fewer than two answers that can be compared: {said}")
    if not by_task:
        what = "the runs share no document with answers that can be compared."
        hint = "Two runs need a common task. Its main metric must say which answers are right, and be better if it is higher."
        raise ConfigError(what, where=", ".join(str(run.folder) for run in runs), hint=hint)
    families, why = _families(runs, by_task, together)
    fitted, docs, chosen = dict[str, Fitted](), dict[str, int](), list[_Chosen]()
    for title, names in _fitted_together(runs, by_task).items():
        places = [(name, doc_id) for name in names for doc_id in by_task[name]]
        coded = [_coded(by_task[name][doc_id], len(runs)) for name, doc_id in places]
        answers, options = np.array([codes for codes, _, _ in coded]), np.array([count for _, count, _ in coded])
        found = fitted[title] = fit(answers, options, families, prior)
        docs[title] = len(places)
        for place, (name, doc_id) in enumerate(places):
            order, truth = coded[place][2], int(found.truths[place])
            if 0 < truth <= len(order) and found.probabilities[place] >= at_least:
                of_instead = float(found.of_truth[place])
                chosen.append(_Chosen(float(found.probabilities[place]), of_instead, name, doc_id, order[truth - 1]))
    chosen.sort(key=lambda each: (-each.probability, each.task, each.doc_id))
    listed_docs = _with_rows(runs, by_task, chosen[:most])
    if (count := len(set(families))) < 3:
        several = counted(count, "family", "families")
        notes.append(f"the runs are of {several}: the agreement of fewer than three says little")
    return Doubts(runs, listed_docs, families, why, fitted, docs, prior, notes, len(chosen) - len(listed_docs))


class _Chosen(NamedTuple):
    """A document to be listed, before its row is read."""

    probability: float
    of_instead: float
    task: str
    doc_id: int
    option: str


def _read(
    runs: Sequence[RecordedRun], name: str, having: Sequence[int], notes: list[str], few: dict[str, int]
) -> dict[int, _Answered]:
    """The answers to the documents of a task that at least two of the runs have alike; the first run's document counts.

    few: gets how many documents of the task have fewer than two answers that can be compared.
    """
    found, others, unread = dict[int, _Answered](), 0, list[str]()
    for place in having:
        reader = Reader.of(runs[place], name)
        if reader is None:
            unread.append(str(runs[place].folder))
            continue
        for row in runs[place].rows(name):
            digest = value_digest([row["doc"], row["target"]])
            known = found.setdefault(row["doc_id"], _Answered(digest))
            if known.digest != digest:
                others += 1
                continue
            known.said[place] = reader.said(row)
            known.options = max(known.options, options_of(row))
    if unread:
        what = "has no main number that says which answers are right and is better if it is higher"
        notes.append(f"{name}: {what} in {listed(unread, 3)}: left out")
    if others:
        notes.append(
            f"{name}: {counted(others, 'document is', 'documents are')} not the same as in an earlier run: left out there"
        )
    compared = {doc_id: each for doc_id, each in found.items() if sum(map(bool, each.said.values())) >= LEAST_RUNS}
    shared = sum(len(each.said) >= LEAST_RUNS for each in found.values())
    if lacking := shared - len(compared):
        few[name] = lacking
    return compared


def _coded(answered: _Answered, runs: int) -> tuple[list[int], int, list[str]]:
    """The codes of a document's answers, the count of its options, and the wrong answers that have a code of their own."""
    wrong = Counter(said.option for said in answered.said.values() if said and not said.right)
    order = [option for option, _ in wrong.most_common(SLOTS - 1)]
    codes = {option: number for number, option in enumerate(order, 1)}

    def code(said: Said | None) -> int:
        return MISSING if said is None else GOLD if said.right else codes.get(said.option, RARE)

    return [code(answered.said.get(place)) for place in range(runs)], max(answered.options, len(wrong) + 1, 2), order


def _fitted_together(runs: Sequence[RecordedRun], by_task: Collection[str]) -> dict[str, list[str]]:
    """{title: tasks that are fitted together}: those of an outermost group, and each other task alone."""
    found, left = dict[str, list[str]](), dict.fromkeys(by_task)
    results = runs[0].results
    inside = {member for group in results.groups for member in results.members[group]}
    for group in results.groups:
        names = [name for name in dict.fromkeys(results.leaves(group)) if name in left]
        if group not in inside and names:
            found[group] = names
            for name in names:
                del left[name]
    return {**found, **{name: [name] for name in left}}


MORE_ALIKE, Z = 0.15, 4.0
"""Two models whose wrong answers agree more often than those of other pairs by this share, and by so many standard errors, are
of one family."""


def _families(
    runs: Sequence[RecordedRun],
    by_task: Mapping[str, Mapping[int, _Answered]],
    together: Sequence[Sequence[int]],
) -> tuple[list[int], dict[int, str]]:
    """The family of each run, and why: by its name, by what the user says, and by mistakes that are alike far too often."""
    names = [family_name(run) for run in runs]
    sets: dict[str, list[set[int]]] = {
        "names": [{place for place, own in enumerate(names) if own == name} for name in dict.fromkeys(names)],
        "--family": [set(each) for each in together],
    }
    known = joined([*sets["names"], *sets["--family"]], len(runs))
    alike, both = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for docs in by_task.values():
        for answered in docs.values():
            wrong = [(place, said.option) for place, said in answered.said.items() if said and not said.right]
            for (a, first), (b, second) in combinations(wrong, 2):
                both[a, b] += 1
                alike[a, b] += first == second
    pairs = [pair for pair in both if known[pair[0]] != known[pair[1]]]
    similar = list[set[int]]()
    for pair in pairs:
        others = [other for other in pairs if other != pair]
        seen = sum(both[other] for other in others)
        if not seen:
            continue
        usual = sum(alike[other] for other in others) / seen
        excess = alike[pair] / both[pair] - usual
        error = math.sqrt(max(usual * (1 - usual), 0.01) / both[pair])
        if excess > MORE_ALIKE and excess > Z * error:
            similar.append(set(pair))
    sets["mistakes alike"] = similar
    families = joined([each for found in sets.values() for each in found], len(runs))
    why = {}
    for number in dict.fromkeys(families):
        members = {place for place, own in enumerate(families) if own == number}
        if len(members) > 1:
            said = [how for how, found in sets.items() if any(len(each & members) > 1 for each in found)]
            why[number] = " and ".join(said)
    return families, why


def _with_rows(
    runs: Sequence[RecordedRun], by_task: Mapping[str, Mapping[int, _Answered]], chosen: Sequence[_Chosen]
) -> list[Doubted]:
    """The chosen documents with their rows, each of the first run that has it."""
    rows = dict[tuple[str, int], tuple[int, SampleRow]]()
    wanted = {(each.task, each.doc_id): min(by_task[each.task][each.doc_id].said) for each in chosen}
    for task, place in dict.fromkeys((task, place) for (task, _), place in wanted.items()):
        for row in runs[place].rows(task):
            if wanted.get((task, row["doc_id"])) == place:
                rows[task, row["doc_id"]] = place, row
    found = []
    for each in chosen:
        place, row = rows[each.task, each.doc_id]
        said = [by_task[each.task][each.doc_id].said.get(number) for number in range(len(runs))]
        instead = next(other for other in said if other and not other.right and other.option == each.option)
        data = str(runs[place].spec["tasks"][each.task].get("data"))[:16]
        target = in_form_of(row["target"], instead, row.get("choices"))
        gold, text = row["target"], instead.text
        found.append(
            Doubted(
                each.task,
                each.doc_id,
                each.probability,
                text,
                each.of_instead,
                gold,
                target,
                said,
                each.option,
                data,
                row,
            )
        )
    return found
