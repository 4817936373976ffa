"""How much effort a model needs: its number at several efforts against the tokens of its answers.

An effort is not worse than the best within a margin if its loss to each other effort is surely below the margin: the upper end of
a one-sided interval of the paired difference, at 5% divided by the number of efforts that are tried beside the best. Each other
effort may be the best in truth, so the largest of these ends counts; the chance that an effort which loses more is called not
worse is then at most 5%, however many are tried. The cheapest of those that hold is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from mm_eval.results.number_text import Unit, rounded
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import estimate
from mm_eval.values.types import NO_SHARE, MetricKey, Number
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.effort_file import MARGIN
from mm_eval.verbs.study.one_sided import negative, upper_end
from mm_eval.verbs.study.variants import Variants

ALPHA = 0.05
"""The chance that any effort that loses more than the margin is called not worse."""


@dataclass(frozen=True)
class Point:
    """One effort on a task or group.

    tokens: the mean of a document's output tokens, None where they were not counted. loss: the best number less this one, paired;
    None for the best. at_most: the upper end of its loss to whichever effort is best in truth; None where it can't be computed.
    """

    effort: str
    number: Number
    tokens: Number | None
    loss: Number | None
    at_most: float | None


@dataclass
class Efforts(Variants):
    """A model's runs by the name of the effort.

    margin: the loss that does not matter, in the unit of the table. said: what each effort is.
    """

    noun: ClassVar[str] = "effort"
    title: ClassVar[str] = "How much effort does {models} need?"

    margin: float = MARGIN
    said: Mapping[str, str] = field(default_factory=dict)
    _losses: dict[tuple[str, str], dict[tuple[str, MetricKey], Number]] = field(default_factory=dict, repr=False)
    _points: dict[str, list[Point]] = field(default_factory=dict, repr=False)

    @property
    def alpha(self) -> float:
        """Of one effort."""
        return ALPHA / max(1, len(self.runs) - 1)

    def key(self, name: str) -> MetricKey | None:
        """The number by which efforts are compared: the main one of the row, of all answers where each question has several."""
        results = self.runs[self.baseline].results
        if (headline := results.headline(name)) is None:
            return None
        metric = headline.key.parent_metric or headline.metric
        numbers = [each for each in results.rows[name].numbers if each.filter == headline.filter]
        of_all = (each.key for each in numbers if each.metric.startswith("avg@") and each.key.parent_metric == metric)
        return headline.key if headline.metric.startswith("pass@") else next(of_all, headline.key)

    def unit_of(self, name: str) -> Unit | None:
        """The unit of the number of a row."""
        key = self.key(name)
        return None if key is None else self.unit(name, key)

    def loss(self, effort: str, other: str, name: str, key: MetricKey) -> Number | None:
        """How much better another effort's number is than this one's, paired by document."""
        order = list(self.runs)
        if order.index(effort) > order.index(other):
            found = self.loss(other, effort, name, key)
            return None if found is None else negative(found)
        if (effort, other) not in self._losses:
            [compared] = compare([self.runs[effort], self.runs[other]])
            self._losses[effort, other] = {
                (each.task, each.key): each.difference if each.better else negative(each.difference)
                for each in compared.changes
                if each.category is None and each.better is not None
            }
        return self._losses[effort, other].get((name, key))

    def tokens(self, effort: str, name: str) -> Number | None:
        """The mean of `RecordedRun.output_tokens`, reasoning included; None where none were counted."""
        run, counts, clusters = self.runs[effort], list[float](), list[tuple[str, object]]()
        for task in self.members(name):
            known = run.output_tokens.get(task, {})
            asked = run.tasks[task].clusters if task in run.tasks else {}
            counts += [known[doc_id] for doc_id in asked if doc_id in known]
            clusters += [(task, asked[doc_id]) for doc_id in asked if doc_id in known]
        if not counts:
            return None
        return replace(estimate(mean, counts, clusters), scale=NO_SHARE)

    def points(self, name: str) -> list[Point]:
        """Each effort that has a number, in the order of the file."""
        if name not in self._points:
            self._points[name] = list(self._made(name))
        return self._points[name]

    def _made(self, name: str) -> Iterator[Point]:
        if (key := self.key(name)) is None:
            return
        numbers = {effort: found for effort in self.runs if (found := self.estimate(effort, name, key)) is not None}
        better = self.runs[self.baseline].results.better(name, key.metric)
        best = max(numbers, key=lambda effort: numbers[effort].value * (1 if better else -1), default=None)
        for effort, number in numbers.items():
            losses = {other: self.loss(effort, other, name, key) for other in numbers if other != effort}
            ends = [None if loss is None else upper_end(loss, self.alpha) for loss in losses.values()]
            known = [end for end in ends if end is not None]
            at_most = max(known) if known and len(known) == len(ends) and better is not None else None
            loss = losses.get(best) if best is not None else None
            yield Point(effort, number, self.tokens(effort, name), loss if better is not None else None, at_most)

    def best_point(self, name: str) -> Point | None:
        """The effort with the best number; of equal ones the one of fewest tokens."""
        points = [point for point in self.points(name) if point.loss is None]
        if len(points) != 1:
            return None
        equal = [point for point in self.points(name) if point.number.value == points[0].number.value]
        return min(equal, key=cost)

    def not_worse(self, name: str) -> list[Point]:
        """The efforts that surely lose less than the margin, the cheapest first."""
        unit = self.unit_of(name)
        factor = unit.factor if unit else 1.0
        found = [point for point in self.points(name) if point.at_most is not None]
        return sorted((p for p in found if factor * (p.at_most or 0.0) < self.margin), key=cost)

    def chosen(self, name: str) -> Point | None:
        """The cheapest effort that is not worse than the best within the margin, or the best; None where tokens are unknown."""
        best, points = self.best_point(name), self.points(name)
        if best is None or any(point.tokens is None for point in points):
            return None
        return min([best, *self.not_worse(name)], key=cost)

    def verdicts(self, name: str) -> Iterator[str]:
        """Which effort is the cheapest that is enough, or why none can be named."""
        points, unit = self.points(name), self.unit_of(name)
        if not points or unit is None:
            yield f"{name}: there is no number to compare efforts by."
            return
        if without := [point.effort for point in points if point.tokens is None]:
            yield f"{name}: no tokens were counted at {', '.join(without)}, so no effort can be called the cheapest."
            return
        best, chosen = self.best_point(name), self.chosen(name)
        if best is None or chosen is None:
            yield f"{name}: the number has no direction, so no effort is the best."
            return
        within = f"{self.margin:g} {'point' if self.margin == 1 else 'points'}"
        cheaper = [point for point in points if cost(point) < cost(chosen)]
        if chosen is not best and chosen.loss is not None and chosen.at_most is not None:
            how = f"it loses {unit.text(chosen.loss.value)} to {best.effort}, at most {unit.text(chosen.at_most)}"
            share = f"{cost(chosen) / cost(best):.0%} of its tokens" if cost(best) else "no tokens"
            yield f"{name}: {chosen.effort} is the cheapest effort that is not worse within {within}: {how}, at {share}."
        elif cheaper:
            yield (
                f"{name}: {best.effort} has the best number, and no cheaper effort surely loses less than {within}"
                f"{self._docs_needed(cheaper, unit)}."
            )
        else:
            yield f"{name}: {best.effort} has the best number and the fewest tokens."

    def _docs_needed(self, cheaper: list[Point], unit: Unit) -> str:
        """About how many documents would show it of the cheapest effort whose loss is below the margin here."""
        margin = self.margin / unit.factor
        for point in sorted(cheaper, key=cost):
            loss = point.loss
            if loss is None or loss.value >= margin or point.at_most is None or not loss.n:
                continue
            factor = (point.at_most - loss.value) / (margin - loss.value)
            return f" ({point.effort} would take about {rounded(math.ceil(loss.n * factor * factor)):,} documents)"
        return ""

    def warnings(self) -> Iterator[str]:
        """A sentence for each effort that changed nothing: neither an answer nor the tokens of one."""
        first = self.runs[self.baseline]
        for effort, comparison in self.compared.items():
            found = comparison.answers.values()
            if not any(changed for changed, _ in found) and first.output_tokens == self.runs[effort].output_tokens:
                what = f"every answer at {effort} is the one at {self.baseline}, with as many tokens"
                yield f"{what}: the model, its template or its server does not read {self.said.get(effort) or 'it'}"

    def texts(self) -> dict[str, str]:
        return {effort: self.said.get(effort, "") for effort in self.runs}


def cost(point: Point) -> float:
    """The mean of its output tokens; infinite where they are unknown."""
    return float(point.tokens.value) if point.tokens is not None else math.inf
