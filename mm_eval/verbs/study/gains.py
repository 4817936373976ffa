"""What tools add to a task that is asked without and with them: the pair of numbers, and what the second one takes.

python adds 12.3 (9.1 to 15.4) on babyvision at 4.1 times the tokens; on ai2d it makes no significant difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mm_eval.config.schema import WITH_PYTHON, split_python
from mm_eval.config.tools import PYTHON
from mm_eval.engine.prices import Price
from mm_eval.results.changes import Change
from mm_eval.results.estimates import scaled
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import COUNTS
from mm_eval.scoring.metrics.paired import right_or_wrong
from mm_eval.values.types import MetricKey
from mm_eval.values.words import counted, of_all
from mm_eval.verbs.study.task_variants import VariantRun


@dataclass(frozen=True)
class Use:
    """What the attempts of a task or group took, without and with tools; of repeats each is an attempt.

    tokens: of an attempt, of those whose tokens are known both ways; 0 if none are. dollars: the same at the prices of the two
    runs; None where one has none. calls: of an attempt, or of `python` where it is the tool that was added; None if not counted.
    used: documents in which such a call was made. docs: those with a count.
    """

    tokens: tuple[float, float] = (0.0, 0.0)
    dollars: tuple[float, float] | None = None
    calls: float | None = None
    used: int = 0
    docs: int = 0

    @property
    def times(self) -> float:
        """The tokens with tools over those without; 0 if unknown."""
        return self.tokens[1] / self.tokens[0] if self.tokens[0] else 0.0

    def to_json(self) -> dict[str, object]:
        known = self.tokens if self.times else (None, None)
        dollars = self.dollars or (None, None)
        return {
            "tokens": {"without": known[0], "with": known[1]},
            "dollars": {"without": dollars[0], "with": dollars[1]},
            "calls": self.calls,
            "used": self.used if self.docs else None,
            "docs": self.docs or None,
        }


@dataclass(frozen=True)
class Gain:
    """The main number of a task or group without and with tools.

    name: of the task asked with them. what: the tools that were added. change: from without to with.
    flips: documents that they made right, and wrong; None where documents are neither.
    """

    name: str
    what: str
    change: Change
    use: Use
    flips: tuple[int, int] | None = None

    @property
    def task(self) -> str:
        """The task without tools."""
        return self.change.task

    @property
    def is_better(self) -> bool | None:
        """Whether tools make the number better; None where that can't be told."""
        up = self.change.difference.value > 0
        return up == self.change.better if self.change.told_apart else None

    def to_json(self) -> dict[str, object]:
        found = self.change
        return {
            "task": self.task,
            "with": self.name,
            "tools": self.what,
            "metric": str(found.key),
            "value": {"without": found.first.value, "with": found.second.value},
            "gain": found.difference.value,
            "interval": list(found.difference.interval) if found.difference.interval else None,
            "p_holm": found.corrected,
            **({"gained": self.flips[0], "lost": self.flips[1]} if self.flips else {}),
            **self.use.to_json(),
        }


class Pair:
    """Two runs of one model, or one run twice, of which one has variants with tools of tasks of the other.

    Both runs are read under the names of the tasks without tools, as `compare` does.
    """

    def __init__(self, first: RecordedRun, second: RecordedRun) -> None:
        self.turned = isinstance(first, VariantRun) and not isinstance(second, VariantRun)
        self.plain, self.tooled = (second, first) if self.turned else (first, second)

    @property
    def own(self) -> Mapping[str, str]:
        """{task without tools: its name with them}."""
        return self.tooled.own if isinstance(self.tooled, VariantRun) else {}

    @property
    def is_of_one_model(self) -> bool:
        """Whether a difference is that of the tools, as far as the runs say."""
        return self.plain.model == self.tooled.model

    def tasks(self, name: str) -> list[str]:
        """The tasks of a row; empty where not all of them are variants."""
        found = self.plain.results.leaves(name) if name in self.plain.results.members else [name]
        return found if all(task in self.own for task in found) else []

    def gains(self, changes: Iterable[Change]) -> Iterator[Gain]:
        """Those of the main numbers among some changes."""
        for change in changes:
            if not change.main or change.category is not None or change.better is None or change.copy_of is not None:
                continue
            if tasks := self.tasks(change.task):
                name = self.own.get(change.task) or f"{change.task}{WITH_PYTHON}"
                made = _turned(change) if self.turned else change
                yield Gain(name, self.what(tasks[0]), made, self.use(tasks), self.flips(tasks, change.key))

    def what(self, task: str) -> str:
        """The tools that were added to a task."""
        name = self.own[task]
        if split_python(name)[1]:
            return PYTHON  # it may have tools besides, as the plain task has
        stated = self.tooled.results.configs.get(task, {}).get("tools")
        used = stated.get("use") if isinstance(stated, Mapping) else stated
        return ", ".join(map(str, used)) if isinstance(used, list) else name

    def flips(self, tasks: Sequence[str], key: MetricKey) -> tuple[int, int] | None:
        """(documents that are right with tools alone, and without them alone) by a number; None where some are neither."""
        marks = list[tuple[bool | None, bool | None]]()
        for task in tasks:
            before, after = (run.tasks[task].values.get(key, {}) for run in (self.plain, self.tooled))
            marks += [(_right(before[doc_id]), _right(after[doc_id])) for doc_id in before.keys() & after.keys()]
        if not marks or any(right is None for pair in marks for right in pair):
            return None
        return marks.count((False, True)), marks.count((True, False))

    def use(self, tasks: Sequence[str]) -> Use:
        """What tasks took."""
        pairs: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        calls: list[float] = []
        for task in tasks:
            of_runs = (run.attempts.get(run.spec["tasks"][task]["path"], {}) for run in (self.plain, self.tooled))
            without, with_tools = of_runs
            pairs += [(without[attempt], with_tools[attempt]) for attempt in without.keys() & with_tools.keys()]
            calls += self._calls(task)
        before, after = self._prices
        dollars = None
        if pairs and before is not None and after is not None:
            dollars = _dollars(before, [first for first, _ in pairs]), _dollars(after, [last for _, last in pairs])
        spent = [sum(sum(pair[n][:2]) for pair in pairs) / len(pairs) if pairs else 0.0 for n in (0, 1)]
        used = sum(value > 0 for value in calls)
        return Use((spent[0], spent[1]), dollars, sum(calls) / len(calls) if calls else None, used, len(calls))

    @cached_property
    def _prices(self) -> tuple[Price | None, Price | None]:
        before, after = (Price.of_json(run.results.run.cost.get("price")) for run in (self.plain, self.tooled))
        return before, after

    def _calls(self, task: str) -> list[float]:
        """The calls of each document of a task; of python alone where that is what was added."""
        of_tools = self.tooled.tasks[task].values
        keys = [MetricKey("calls", "tools")]
        if split_python(self.own[task])[1]:
            keys.insert(0, MetricKey(f"calls_{PYTHON}", "tools"))
        found = next((of_tools[key] for key in keys if key in of_tools), {})
        return [float(value) for value in found.values() if isinstance(value, (int, float))]


def _dollars(price: Price, attempts: Sequence[tuple[int, ...]]) -> float:
    """The mean price of some attempts, given their `COUNTS`."""
    return sum(price.dollars(dict(zip(COUNTS, counts, strict=True))) for counts in attempts) / len(attempts)


def _right(value: object) -> bool | None:
    """Whether a doc is right by its value, which may stand behind the name of its group; None for one that is neither."""
    return right_or_wrong(value[-1] if isinstance(value, (list, tuple)) and len(value) == 2 else value)


def _turned(change: Change) -> Change:
    """The change from the second run to the first."""
    return replace(change, first=change.second, second=change.first, difference=scaled(change.difference, -1.0))


def said_of(first: RecordedRun, second: RecordedRun, task: str, key: MetricKey, named: str = "") -> str:
    """What a task with tools gained and lost in a number, and what it took; empty for a task that is no variant.

    named: the number's name, where each document has several answers, by which it may be right or wrong in several ways.

    For vstar_tools: "vstar and vstar_tools: zoom gained 11 documents, lost 3, at 4.2 times the tokens".
    """
    pair = Pair(first, second)
    if task not in pair.own:
        return ""
    use, name, flips = pair.use([task]), pair.own[task], pair.flips([task], key)
    by = f" by {named}" if named else ""
    parts = [f"gained {counted(flips[0], 'document')}", f"lost {flips[1]}{by}"] if flips else []
    unit = "an attempt" if named else "a document"
    is_python = split_python(name)[1]
    if use.times:
        each = f" ({use.tokens[1]:,.0f} {unit}, {use.tokens[0]:,.0f} without)" if is_python else ""
        parts.append(f"at {use.times:.1f} times the tokens{each}")
    if is_python and parts and use.calls is not None:
        parts.append(f"with {use.calls:.1f} calls {unit}")
        parts.append(f"code in {of_all(use.used, use.docs, 'document')}")
        if use.dollars is not None:
            parts.append(f"{dollars_text(use.dollars[1])} {unit} ({dollars_text(use.dollars[0])} without)")
    return f"{task} and {name}: {pair.what(task)} {', '.join(parts)}" if parts else ""


def dollars_text(dollars: float) -> str:
    """Dollars of one document, which are mostly parts of a cent: two significant digits, and two decimals at least."""
    digits = (
        2 if dollars >= 0.095 or not dollars else next(n for n in range(2, 12) if round(dollars, n) >= 10 ** (1 - n))
    )
    return f"${dollars:,.{digits}f}"


def sentences(gains: Sequence[Gain]) -> list[str]:
    """One sentence for each tool: where it adds, where it takes away, and where nothing can be told."""
    return [
        _sentence(what, [each for each in gains if each.what == what]) for what in dict.fromkeys(g.what for g in gains)
    ]


def _sentence(what: str, gains: Sequence[Gain]) -> str:
    better, worse = ([each for each in gains if each.is_better is is_better] for is_better in (True, False))
    parts = []
    if better:
        parts.append(_joined([_amount(each, "adds", "on", "lowers") for each in better]))
    if worse:
        parts.append(_joined([_amount(each, "takes", "from", "raises") for each in worse]))
    same = [each.task for each in gains if each.is_better is None]
    named = _joined(same)
    if same and parts:
        parts.append(f"on {named} it makes no significant difference")
    elif same:
        parts.append(f"makes no significant difference on {named}")
    if len(parts) > 1 and better and worse:
        parts[1] = f"it {parts[1]}"
    return f"{what[:1].upper()}{what[1:]} {'; '.join(parts)}."


def _amount(gain: Gain, adds: str, on: str, lowers: str) -> str:
    """ "adds 12.3 (9.1 to 15.4) on babyvision at 4.1 times the tokens"; of a number that is better low "lowers wer on ..."."""
    change = gain.change
    found, unit = change.difference, change.unit
    size = unit.signless(found.value) + ("" if unit.is_percent else " points" if change.better else "")
    if found.interval is not None:
        ends: Sequence[float] = found.interval if found.value > 0 else (-found.interval[1], -found.interval[0])
        size += f" ({unit.ends(ends, ' to ')})"
    times = f" at {gain.use.times:.1f} times the tokens" if gain.use.times else ""
    if change.better:
        return f"{adds} {size} {on} {gain.task}{times}"
    return f"{lowers} {change.key.label} of {gain.task}, which is better low, by {size}{times}"


def _joined(parts: Sequence[str]) -> str:
    """ "a, b and c"; a verb that all parts begin with stands once."""
    verbs = {part.partition(" ")[0] for part in parts}
    if len(parts) > 1 and len(verbs) == 1 and verbs <= {"adds", "takes", "lowers", "raises"}:
        parts = [parts[0], *(part.partition(" ")[2] for part in parts[1:])]
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), *parts[-1:]])
