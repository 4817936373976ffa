"""Published numbers held against those of a run: value at the printed digits, metric, task, and number of documents."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from mm_eval.results.number_text import unit_of
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.table import Column, Row, Table, to_broken_text
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.safe import in_line, json_safe
from mm_eval.values.types import Number
from mm_eval.values.words import counted, listed
from mm_eval.verbs.exports.hub import REGISTERED, flaws_of
from mm_eval.verbs.published.cards import Card, Published

EXACT_DIGITS = 12
"""Digits up to which two ways of computing one number agree."""


AVERAGES = ("average", "avg", "mean", "overall")
"""Rows of tables that are made of other rows; which they are of a file does not say."""


@dataclass(frozen=True)
class Held:
    """A published number. row: the run's row, "" for none. ours: its number as it would be printed. faults: where they differ."""

    published: Published
    row: str = ""
    metric: str = ""
    ours: str = ""
    faults: Sequence[str] = field(default=())


@dataclass(frozen=True)
class Checked:
    """A file held against a run. lacking: rows of the run that the file does not have, which is no difference."""

    card: Card
    run: RecordedRun
    held: Sequence[Held]
    lacking: Sequence[str]

    @property
    def differ(self) -> list[Held]:
        return [each for each in self.held if each.faults]


def check(card: Card, run: RecordedRun) -> Checked:
    """Each number of a file, held against the run's."""
    averages = [each for each in card.rows if _plain(each.task) in AVERAGES and _row_of(each, run)[0] is None]
    held = [_held(each, run) for each in card.rows if each not in averages]
    card.notes += [f"{each.where}: {each.task} is of several rows and was not checked" for each in averages]
    found = {each.row for each in held}
    inside = {leaf for name in run.results.groups if name in found for leaf in run.results.leaves(name)}
    lacking = [name for name, row in run.results.rows.items() if row.numbers and name not in found | inside]
    return Checked(card, run, held, lacking)


def _held(published: Published, run: RecordedRun) -> Held:
    name, metric = _row_of(published, run)
    if name is None and (found := _category_of(published, run)) is not None:
        name, published = found[0], replace(published, category=found[1])
    if name is None:
        said = published.task or "a row without a name"
        return Held(published, faults=[f"the run has no {said!r}"])
    row, faults = run.results.rows[name], list[str]()
    if published.category is not None:
        level, category = published.category
        of_category = run.results.categories.get(name, {}).get(level, {}).get(category)
        if of_category is None:
            return Held(published, name, metric, faults=[f"the run has no {level} {category!r}"])
        row = of_category
    number = _number_of(run, name, row, metric)
    if number is None:
        labels = ", ".join(dict.fromkeys(each.key.label for each in row.numbers)) or "none"
        said = f"the run has no {metric!r} of it; it has {labels}" if metric else "the run has no number of it"
        return Held(published, name, metric, faults=[said])
    percent = unit_of(number).is_percent
    ours = f"{number.value!r}" if not percent else f"{100 * float(number.value):.6g}%"
    if not published.text:
        faults.append("no number is printed")
    elif (stated := _decimal(published.text)) is None:
        faults.append(f"{published.text!r} is no number")
    elif not any(_agree(stated, each) for each in _readings(published, float(number.value), percent)):
        faults.append("the value differs")
    docs = number.n if number.n is not None else row.n
    if published.n is not None and published.n != docs:
        faults.append(f"it is of {published.n:,} documents, the run's of {docs:,}")
    faults += _flaws(published, run, name)
    return Held(published, name, number.key.label, ours, faults)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _row_of(published: Published, run: RecordedRun) -> tuple[str | None, str]:
    """The run's row that a published one is, and the metric; names are compared without case, space and punctuation.

    "mme (mme_perception_score)" and "mme / acc" name row and metric.
    """
    rows, metric = run.results.rows, published.metric or ""
    if published.hub is not None:
        named = [
            name for name in rows if (task := REGISTERED.get(name)) and (task.dataset, task.task_id) == published.hub
        ]
        paths = {name: str(run.results.configs.get(name, {}).get("dataset_path")) for name in rows}
        named += [name for name in rows if paths[name] == published.hub[0] and _plain(name) == _plain(published.hub[1])]
        return (named[0] if named else None), metric
    known = {_plain(each): name for name, row in reversed(rows.items()) for each in (row.alias, name) if each}
    if (found := known.get(_plain(published.task))) is not None:
        return found, metric
    for pattern in (
        r"(?P<task>.+?)\s*\((?P<metric>[^()]*)\)",
        r"(?P<task>.+?)\s*[/,:]\s*(?P<metric>.+)",
        r"(?P<task>\S+)\s+(?P<metric>\S+)",
    ):
        parts = re.fullmatch(pattern, published.task)
        if parts and (found := known.get(_plain(parts["task"]))) is not None:
            labels = {_plain(label) for number in rows[found].numbers for label in (number.key.label, number.metric)}
            if _plain(parts["metric"]) in labels:
                return found, metric or parts["metric"]
    return None, metric


def _category_of(published: Published, run: RecordedRun) -> tuple[str, tuple[str, str]] | None:
    """The row and the category that "mmstar / instance reasoning" names, as our tables print it."""
    task, _, category = (part.strip() for part in published.task.partition(" / "))
    for name, levels in run.results.categories.items():
        if _plain(name) != _plain(task):
            continue
        for level, rows in levels.items():
            for known in rows:
                if _plain(known) == _plain(category):
                    return name, (level, known)
    return None


def _number_of(run: RecordedRun, name: str, row: Scores, metric: str) -> Number | None:
    """The number of a row by its metric; without one the main number."""
    numbers = [
        each for each in row.numbers if isinstance(each.value, (int, float)) and not isinstance(each.value, bool)
    ]
    if not metric:
        main = run.results.headline(name)
        return next((each for each in numbers if main is not None and each.key == main.key), None)
    wanted = _plain(metric)
    exact = [each for each in numbers if metric in (str(each.key), each.key.label)]
    loose = [each for each in numbers if wanted in (_plain(str(each.key)), _plain(each.key.label), _plain(each.metric))]
    return next(iter(exact or loose), None)


def _decimal(text: str) -> Decimal | None:
    try:
        found = Decimal(text.replace(",", "").replace("−", "-"))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _readings(published: Published, value: float, percent: bool) -> Iterator[Decimal]:
    """The run's number in the units that the printed one may be in. A whole number is no share, unless it is 0 or 1 exactly."""
    exact = Decimal(repr(value))
    has_digits = "." in published.text or "e" in published.text.lower()
    if published.unit != "percent" and (not percent or has_digits or exact in (0, 1)):
        yield exact
    if percent and published.unit != "share":
        yield exact * 100


def _agree(stated: Decimal, ours: Decimal) -> bool:
    """Whether a number is printed as ours would be with as many digits. A half may be rounded up or to the even digit."""
    exponent = stated.as_tuple().exponent
    assert isinstance(exponent, int)
    digit = Decimal(1).scaleb(max(exponent, -EXACT_DIGITS))
    try:
        rounded = {ours.quantize(digit, rounding=how) for how in (ROUND_HALF_UP, ROUND_HALF_EVEN)}
        return stated.quantize(digit) in rounded
    except InvalidOperation:  # more digits than numbers have here
        return stated == ours


def _flaws(published: Published, run: RecordedRun, name: str) -> Iterator[str]:
    """What keeps the run's number from being a result on the benchmark, and the file does not say."""
    leaves = dict.fromkeys(run.results.leaves(name))
    flaws = dict.fromkeys(flaw for leaf in leaves for flaw in flaws_of(run, leaf))
    if published.stated is None:
        flaws = dict.fromkeys([fixed] if (fixed := run.results.fixed_golds(name)) else [])
    if unsaid := [flaw for flaw in flaws if flaw not in (published.stated or "")]:
        yield f"it does not say: {', '.join(unsaid)}"


def render(checked: Checked, width: int = 80) -> str:
    """The numbers that differ, and what was compared. width: of the terminal."""
    run, card = checked.run, checked.card
    same = len(checked.held) - len(checked.differ)
    parts = [_verdict(checked), ""]
    if checked.differ:
        columns = [
            Column("published", "text"),
            Column("task", "text"),
            Column("metric", "text"),
            Column("there"),
            Column("run"),
            Column("difference", "text"),
        ]
        rows = [Row(_cells(each)) for each in checked.differ]
        parts += [*to_broken_text(Table(columns, rows), width).split("\n"), ""]
    parts.append(
        f"run: {run.folder} ({run.model}); {counted(len(checked.held), 'number')} of the {card.kind}, {same} equal"
    )
    if card.models:
        parts.append(f"not checked: numbers of {listed(card.models, 5)}")
    parts += card.notes
    if checked.lacking:
        parts.append(f"in the run only: {listed(checked.lacking, 6)}")
    return "\n".join(map(in_line, parts))


def _verdict(checked: Checked) -> str:
    number, many = len(checked.differ), len(checked.held)
    are, of = "is" if (number or many) == 1 else "are", f"{counted(many, 'number')} of the {checked.card.kind}"
    return f"DIFFERENT: {number} of {of} {are} not the run's." if number else f"EQUAL: {of} {are} the run's."


def _cells(each: Held) -> dict[str, str]:
    part = f" ({each.published.category[1]})" if each.published.category else ""
    return {
        "published": each.published.where,
        "task": f"{each.row or each.published.task}{part}",
        "metric": each.metric or each.published.metric or "",
        "there": each.published.text or "-",
        "run": each.ours or "-",
        "difference": "; ".join(each.faults),
    }


def as_json(checked: Checked) -> str:
    """All numbers with where they differ, as a JSON document."""
    found: dict[str, Any] = {
        "equal": not checked.differ,
        "said": _verdict(checked),
        "run": str(checked.run.folder),
        "kind": checked.card.kind,
        "numbers": [
            {
                **_cells(each),
                "row": each.row or None,
                "n": each.published.n,
                "equal": not each.faults,
                "faults": list(each.faults),
            }
            for each in checked.held
        ],
        "in_the_run_only": list(checked.lacking),
        "not_checked": list(checked.card.models),
        "notes": list(checked.card.notes),
    }
    return json_safe(json.dumps(found, indent=2, ensure_ascii=False))
