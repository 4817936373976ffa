"""Compares runs with a first one, doc by doc: first how their requests differ, then how their numbers differ.

    compared = compare([RecordedRun.read("runs/a"), RecordedRun.read("runs/b")])

Only docs that both runs scored, and that are equal in both, are paired. Numbers of two judges are not compared unless asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from mm_eval.results.changes import Change, are_proportional, change_of, differences_in_spec, number_and_ends
from mm_eval.results.estimates import Triple, group_differences
from mm_eval.results.judged import judges_behind, judges_differ
from mm_eval.results.number_text import EXACT, Unit, p_text, rounded
from mm_eval.results.recorded import RecordedRun, RecordedTask, headline_keys
from mm_eval.results.sample_rows import KINDS
from mm_eval.values.distributions import holm
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.types import MetricKey, Number
from mm_eval.values.words import counted, listed
from mm_eval.verbs.study.gains import Gain, Pair, said_of
from mm_eval.verbs.study.task_variants import VariantRun, first_of, with_variants

Kinds: TypeAlias = Mapping[int, tuple[str, ...]]
"""{doc id: filtered, refused, truncated, as far as they hold}."""
UNKNOWN = (
    "its aggregation is code of the task's own, which --include_path did not name, it fails on these documents, or samples/ do "
    "not give the number of results.json (`mm-eval score RUN` writes both)"
)


LEVEL = 0.05
"""Below which a p-value is significant."""


@dataclass
class Comparison:
    """One run against the first.

    differs: how the requests differ, in sentences; to be read before the numbers. answers: for each task (docs whose raw
    answers differ in more than the white space around them, docs with an answer in both runs). kinds: for each task, of each
    of the two runs, the docs in both whose answer was filtered, refused or truncated, with which of these holds; empty where
    none was.
    two_judges: (task, key) to how the judges of a number differ that was not compared.
    two_golds: {task: how its golds differ}, of tasks that were not compared, since only one was scored by the data's golds.
    said: what variants of tasks gained and lost. gains: the same as numbers, of two runs of one model.
    same_as: {task or group: the place among the compared runs of an earlier one that asked the same; None for the first run}.
    unknown: the numbers whose aggregation is not available, in sentences.
    """

    run: RecordedRun
    changes: list[Change] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    two_judges: dict[tuple[str, MetricKey], str] = field(default_factory=dict)
    two_golds: dict[str, str] = field(default_factory=dict)
    answers: dict[str, tuple[int, int]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    kinds: dict[str, tuple[Kinds, Kinds]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    same_as: Mapping[str, int | None] = field(default_factory=dict)
    gains: list[Gain] = field(default_factory=list)


def compare(
    runs: Sequence[RecordedRun],
    only: Sequence[str] | None = None,
    family: Callable[[Change], Hashable] | None = None,
    categories: bool = False,
    mix_judges: bool = False,
    same_as: Sequence[Mapping[str, int | None]] = (),
) -> list[Comparison]:
    """Compares every run after the first with the first; p-values are corrected for their number.

    only: the tasks to compare. family: changes with an equal value are corrected together; by default the main numbers of all
        runs, and on their own all others, which are read less. Another form of the same number, and one without a direction, is
        in neither. categories: also the main number of each task by category; these are corrected on their own, so that they
        change no other p-value. mix_judges: also numbers that two different judges gave. same_as: of each run after the first,
        as in `Comparison`; runs that asked the same are one hypothesis.
    Errors: ConfigError for an unknown task, and where two runs share no task.
    """
    first, compared = first_of(runs), list[Comparison]()
    for name in only or ():
        if name not in first.spec["tasks"]:
            raise ConfigError(
                f"{name!r} is not a task of {first.folder}.", hint=did_you_mean(name, first.spec["tasks"])
            )
    for place, run in enumerate(with_variants(first, each) for each in runs[1:]):
        renamed = {name for each in (first, run) if isinstance(each, VariantRun) for name in each.own.values()}
        if first.folder == run.folder:  # tasks beside the pairs are not compared
            renamed |= first.spec["tasks"].keys()
        known = same_as[place] if same_as else {}
        comparison = Comparison(run, differs=list(differences_in_spec(first, run, renamed)), same_as=known)
        own = Pair(first, run).own
        shared = [
            name
            for name in first.tasks
            if name in run.tasks and (only is None or name in only or own.get(name) in only)
        ]
        if not shared:
            raise ConfigError(f"{first.folder} and {run.folder} have no task in common.")
        for name in shared:
            if said := _golds_differ(first, run, name):
                comparison.two_golds[name] = said
                continue
            keys = list(_keys_of_one_judge(first, name, comparison, mix_judges))
            comparison.changes += _changes((first, run), name, keys, comparison, categories)
        comparison.changes = _with_groups(first, comparison)
        comparison.said = list(_said_of_variants(first, run, comparison.changes))
        compared.append(comparison)
    _correct(compared, family or _family)
    for comparison in compared:
        pair = Pair(first, comparison.run)
        comparison.gains = list(pair.gains(comparison.changes)) if pair.is_of_one_model else []
    return compared


def _golds_differ(first: RecordedRun, second: RecordedRun, name: str) -> str:
    """How the golds differ by which two runs scored a task; empty where they are the same."""
    mine, other = (run.results.fixed_golds(name) for run in (first, second))
    return "" if mine == other else f"{mine or 'the golds of the data'}, and {other or 'the golds of the data'}"


def _said_of_variants(first: RecordedRun, run: RecordedRun, changes: Sequence[Change]) -> Iterator[str]:
    """What variants gained and lost: once for each task, and where it has several main numbers for each of them by its name.

    What `--repeats` adds to a number is not another one.
    """
    found = defaultdict[str, dict[str, Change]](dict)
    for change in changes:
        if change.better is None and not change.main:  # such as the calls of a task that had tools before
            continue
        if not change.headline or change.copy_of is not None or is_of_repeats(change, changes):
            continue
        of_repeats = [each for each in changes if each.headline and _is_made_of(each, change)]
        key = next((each.key for each in (change, *of_repeats) if each.flips), change.key)
        if said := said_of(first, run, change.task, key, key.label if of_repeats else ""):
            found[change.task].setdefault(said, change)
    for of_task in found.values():
        for said, change in of_task.items():
            yield f"{change.key.label}: {said}" if len(of_task) > 1 else said


def is_of_repeats(change: Change, changes: Iterable[Change]) -> bool:
    """Whether a number is made of the answers of another one among the changes, as the avg@3 and pass@3 of its metric are."""
    return any(_is_made_of(change, each) for each in changes)


def _is_made_of(change: Change, other: Change) -> bool:
    places = ((each.task, each.category, each.key.scorer) for each in (change, other))
    return change.key.parent_metric == other.key.metric and len(set(places)) == 1


def _family(change: Change) -> Hashable:
    """The changes that are corrected together; None for one that is in no family."""
    return None if change.better is None or change.copy_of else "main" if change.main else "others"


def _keys_of_one_judge(first: RecordedRun, name: str, comparison: Comparison, mix_judges: bool) -> Iterator[MetricKey]:
    """The numbers of a task that both runs have, without those that two different judges gave."""
    second = comparison.run
    refused: dict[str, list[MetricKey]] = {}
    for key in first.tasks[name].values:
        if key not in second.tasks[name].values:
            continue
        mine, theirs = (judges_behind(run.results, name, key) for run in (first, second))
        if said := judges_differ(mine, theirs):
            refused.setdefault(said, []).append(key)
            if not mix_judges:
                comparison.two_judges[name, key] = said
                continue
        yield key
    for said, keys in refused.items():
        named = ", ".join(key.label for key in keys)
        end = "compared all the same (--mix_judges)" if mix_judges else "not compared"
        comparison.differs.append(f"{name}: two judges gave {named}: {said}; {end}")


def _changes(
    pair: tuple[RecordedRun, RecordedRun],
    name: str,
    keys: Sequence[MetricKey],
    comparison: Comparison,
    categories: bool,
) -> Iterator[Change]:
    mine, other = (run.recorded_docs(name) for run in pair)
    same = [i for i in mine if i in other and mine[i].doc == other[i].doc]
    if left_out := len(mine.keys() | other.keys()) - len(same):
        are = counted(left_out, "document is", "documents are")
        comparison.differs.append(f"{name}: {are} not the same in both runs, or in one only: left out")
    data = [run.spec["tasks"].get(name, {}).get("data") for run in pair]
    shown = [(mine[i], other[i]) for i in same if mine[i].pictures and other[i].pictures] if data[0] != data[1] else []
    shown = [each for each in shown if each[0].by_files == each[1].by_files]  # digests of two kinds say nothing
    if others := sum(one.pictures != two.pictures for one, two in shown):
        what = "sent other picture files" if shown[0][0].by_files else "showed other pictures"
        comparison.differs.append(f"{name}: {counted(others, 'document')} of {len(same):,} {what}")
    both = [i for i in same if mine[i].answered and other[i].answered]
    comparison.answers[name] = (sum(mine[i].answers != other[i].answers for i in both), len(both))
    kinds = tuple({i: docs[i].kinds for i in same if docs[i].kinds} for docs in (mine, other))
    if any(kinds):
        comparison.kinds[name] = kinds[0], kinds[1]
    first, second = (run.tasks[name] for run in pair)
    headlines = set(headline_keys(first))
    main = pair[0].results.headline(name)
    answered = [set().union(*task.values.values()) for task in (first, second)]
    failed = answered[0].symmetric_difference(answered[1]).intersection(same)
    waiting = {i for i in same if mine[i].requested != other[i].requested}
    if waiting:
        are = counted(len(waiting), "document has", "documents have")
        comparison.differs.append(f"{name}: {are} no answer yet in one of the runs: left out of both")
    if broken := len(failed - waiting):
        comparison.differs.append(f"{name}: {counted(broken, 'document')} failed in one of the runs: left out of both")
    in_one: dict[frozenset[int], list[str]] = {}
    unknown = list[str]()
    known: list[tuple[list[int], Change]] = []
    for key in sorted(
        keys, key=lambda key: main is None or key != main.key
    ):  # other forms of the main number are the copies
        scored = [i for i in same if i in first.values[key]]
        shared = sorted(i for i in scored if i in second.values[key])
        if (
            lacking := frozenset(scored).symmetric_difference(i for i in same if i in second.values[key])
            - failed
            - waiting
        ):
            in_one.setdefault(lacking, []).append(key.label)
        change = change_of(first, second, key, shared)
        if change is not None:
            same_docs = (earlier for docs, earlier in known if docs == shared)
            copied = next((earlier.key for earlier in same_docs if _is_copy(earlier, change)), None)
            known.append((shared, change))
            is_main = main is not None and main.key == key
            yield replace(change, headline=key in headlines, main=is_main, copy_of=copied)
            if categories and is_main:
                yield from _by_category(first, second, key, shared)
        elif shared:
            unknown.append(key.label)
    if unknown:
        comparison.unknown.append(f"{name}: {', '.join(unknown)} can't be compared: {UNKNOWN}")
        comparison.differs.append(comparison.unknown[-1])
    for docs, labels in in_one.items():  # such as those that one of several judges gave
        have = counted(len(docs), "document has", "documents have")
        comparison.differs.append(f"{name}: {have} {listed(labels, 3)} in one of the runs only: left out of it")


def _is_copy(a: Change, b: Change) -> bool:
    """Whether two numbers over the same docs are one, in other units: a count of hits and their share."""
    if a.difference.interval is None:
        return False  # equal values alone may be chance
    return are_proportional(
        *([n for each in (c.first, c.second, c.difference) for n in number_and_ends(each)] for c in (a, b))
    )


def _by_category(first: RecordedTask, second: RecordedTask, key: MetricKey, shared: list[int]) -> Iterator[Change]:
    """The change of a number in each category of the first run, in the order of its results.json."""
    both = set(shared)
    for level, found in first.categories.items():
        for category, doc_ids in found.items():
            change = change_of(first, second, key, sorted(both.intersection(doc_ids)))
            if change is not None:
                yield replace(change, headline=False, category=(level, category))


def _with_groups(run: RecordedRun, comparison: Comparison) -> list[Change]:
    """All changes, those of groups first; changes of a group's tasks are not headlines.

    A group with a task that two judges or two sets of golds scored has no number: it would be over the other tasks only.
    """
    changes, refused = comparison.changes, {task for task, _ in comparison.two_judges} | comparison.two_golds.keys()
    by_task: dict[str, dict[MetricKey, Triple]] = {}
    for change in (change for change in changes if change.category is None):
        by_task.setdefault(change.task, {})[change.key] = (change.first, change.second, change.difference)
    ahead: list[Change] = []
    inside: set[str] = set()
    for group in run.results.groups:
        below = run.results.leaves(group)
        if refused.intersection(below):
            continue
        for key, first, second, difference in group_differences(run, group, by_task):
            outermost = group not in inside
            up = run.results.better(group, key.metric)
            headline = run.results.headline(group)
            main = outermost and headline is not None and headline.key == key
            ahead.append(Change(group, key, first, second, difference, None, up, headline=outermost, main=main))
            inside.update(below, run.results.members[group])
    ahead = [replace(each, main=each.main and each.task not in inside) for each in ahead]
    outside = {change.task for change in changes} - inside
    return ahead + [
        replace(
            change, headline=change.headline and change.task in outside, main=change.main and change.task in outside
        )
        for change in changes
    ]


def count_kinds(kinds: Kinds) -> dict[str, int]:
    """How many docs are of each kind, in the order of the table's columns.

    >>> count_kinds({3: ("filtered", "truncated"), 7: ("truncated",)})
    {'filtered': 1, 'truncated': 2}
    """
    found = {kind: sum(kind in of_doc for of_doc in kinds.values()) for kind in KINDS}
    return {kind: count for kind, count in found.items() if count}


def _correct(compared: Sequence[Comparison], family: Callable[[Change], Hashable]) -> None:
    """Holm's correction over the changes of each family. Those of a run that asked what an earlier one did are not counted."""
    families: dict[Hashable, list[tuple[Comparison, int, float]]] = {}
    for comparison in compared:
        for place, change in enumerate(comparison.changes):
            if change.task in comparison.same_as:
                continue
            of = (family(change), change.category is not None)
            if (p := change.difference.p_value) is not None and of[0] is not None:
                families.setdefault(of, []).append((comparison, place, p))
    for found in families.values():
        for (comparison, place, _), p in zip(found, holm([p for *_, p in found]), strict=True):
            comparison.changes[place] = replace(comparison.changes[place], corrected=p, comparisons=len(found))
    for comparison in compared:
        if comparison.same_as:
            comparison.changes = [_of_the_same(comparison, change, compared) for change in comparison.changes]


def _of_the_same(comparison: Comparison, change: Change, compared: Sequence[Comparison]) -> Change:
    """A change with the corrected p-value of the run that asked the same; that of the first run has no difference at all."""
    if change.task not in comparison.same_as:
        return change
    if (place := comparison.same_as[change.task]) is None:
        return replace(change, corrected=change.difference.p_value)
    known = (each for each in compared[place].changes if (each.task, each.key) == (change.task, change.key))
    found = next((each for each in known if each.category == change.category), None)
    return (
        replace(change, corrected=found.corrected, comparisons=found.comparisons)
        if found
        else replace(change, corrected=None)
    )


def verdict(change: Change, name: str, baseline: str) -> str:
    """A sentence on one number: which run is better and by how much, or how many docs would show a difference.

    A second one where McNemar's test of the docs that flipped says otherwise.
    """
    return _verdict(change, name, baseline) + otherwise(change)


def otherwise(change: Change) -> str:
    """What McNemar's test finds, where it and the test of the difference are on two sides of 5%. Neither is corrected here."""
    p, flips = change.difference.p_value, change.flips
    if p is None or flips is None or (p < LEVEL) is (flips.p_value < LEVEL):
        return ""
    return f" McNemar's exact test, which takes documents as independent, gives p {p_text(flips.p_value, '= ')}."


def _verdict(change: Change, name: str, baseline: str) -> str:
    found, metric = change.difference, change.key.metric
    docs = found.n or 0
    where = f"{change.task} ({metric})"
    if found.p_value is None:
        return f"{name} and {baseline} on {where}: no interval: {found.note}".removesuffix(": ")
    if change.told_apart:
        up = found.value > 0
        word = ("higher" if up else "lower") if change.better is None else "better" if up == change.better else "worse"
        amount = _amount(found, change.unit)
        return f"{name} is {word} than {baseline} on {where} by {amount} (p {p_text(change.corrected, '= ')})."
    if found.value == 0:
        return f"{name} and {baseline} score the same on {where} with {counted(docs, 'document')}."
    needed = more_docs(change)
    if needed is None:
        between = f"On {where} {name} and {baseline} show no significant difference"
        ps = f"p is {p_text(found.p_value)} alone and {p_text(change.corrected)}"
        return f"{between}: {ps} after correction for {counted(change.comparisons, 'comparison')}."
    return (
        f"On {where} {name} and {baseline} show no significant difference with {counted(docs, 'document')}; "
        f"about {needed:,} would be needed if it is as large as seen ({change.unit.signed(found.value)})."
    )


def more_docs(change: Change) -> int | None:
    """About how many docs would show a difference as large as seen; None where there are as many, or none was seen."""
    found = change.difference
    if found.p_value is None or found.p_value < LEVEL or not found.value:
        return None
    needed = found.docs_needed
    return rounded(needed) if needed is not None and needed > (found.n or 0) else None


def _amount(found: Number, unit: Unit) -> str:
    """The size of a difference with its interval, without the sign that the words around it have."""
    if found.interval is None or found.margin is not None or found.interval[0] < 0 < found.interval[1]:
        return f"{unit.signless(found.value)} {unit.spread(found)}".rstrip()
    low, high = sorted(map(abs, found.interval))
    return f"{unit.signless(found.value)} [{unit.ends((low, high))}]{f' {EXACT}' if found.exact else ''}"
