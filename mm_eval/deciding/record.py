"""The record of a run that stopped: `looks.json` in its folder, `looks` in results.json, and the mark on its numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mm_eval.deciding.looks import RECORD, Schedule
from mm_eval.deciding.rules import DECIDED, Rule
from mm_eval.deciding.sequences import as_t
from mm_eval.deciding.trial import BEYOND, BROKEN, WITHIN, AllowedLoss
from mm_eval.engine.folder import RunFolder
from mm_eval.open_tasks import OpenedTasks
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.run_results import Looks, Results
from mm_eval.values.errors import ConfigError
from mm_eval.values.run_files import UNREADABLE
from mm_eval.values.types import MetricKey, Number


@dataclass(frozen=True)
class Record:
    """docs: {task: the docs that its numbers are of}, of the tasks that ended early. found: what results.json says of it."""

    docs: dict[str, list[int]]
    found: Looks

    @classmethod
    def of(cls, rule: Rule, schedule: Schedule, opened: OpenedTasks, options: Mapping[str, object]) -> Record:
        docs, rows = {}, {}
        for name in opened.tasks:
            look = rule.ended_at(name)
            if look and look < schedule.count and schedule.size(name, look) < schedule.size(name, schedule.count):
                docs[name] = schedule.until(name, look)
        outcome = rule.outcome()
        for name, row in outcome["rows"].items():
            leaves = [leaf for leaf in opened.loaded.leaves(name) if leaf in opened.tasks]
            asked, every = (sum(schedule.size(leaf, look) for leaf in leaves) for look in (row["look"], schedule.count))
            if asked < every:
                rows[name] = {**row, "docs": asked, "of": every, "share": round(asked / every, 6)}
        return cls(docs, {**outcome, "options": dict(options), "rows": rows})

    @classmethod
    def read(cls, folder: RunFolder, opened: OpenedTasks) -> Record | None:
        """The record that a launch left. None without one. ConfigError where it names docs that the run does not have."""
        stored = folder.read(RECORD)
        if stored is None:
            return None
        try:
            docs = {str(name): [int(doc_id) for doc_id in ids] for name, ids in stored["docs"].items()}
            known = all(name in opened.tasks and set(ids) <= set(opened.doc_ids[name]) for name, ids in docs.items())
            rows, comparisons = stored["looks"]["rows"], stored["looks"]["comparisons"]
            if not known or not isinstance(rows, dict) or not isinstance(comparisons, list):
                raise ValueError("other documents")
        except UNREADABLE as error:
            hint = "Repeat the command of the run to write it again."
            raise ConfigError(
                "it is not the record of this run's looks.", where=str(folder.path / RECORD), hint=hint
            ) from error
        return cls(docs, stored["looks"])

    def write(self, folder: RunFolder) -> None:
        folder.write(RECORD, json.dumps({"v": 1, "docs": self.docs, "looks": self.found}, ensure_ascii=False))

    def mark(self, results: Results) -> None:
        """Marks the rows that ended early, and adds the record of the looks."""
        results.looks = self.found
        for name, row in self.found["rows"].items():
            if name not in results.rows:
                continue
            of_row, number = results.rows[name], results.headline(name)
            wide = {each.key: found for each in of_row.numbers if (found := _widened(each, row["factor"]))}
            if row.get("interval") and number is not None:
                wide[number.key] = (row["interval"][0], row["interval"][1])
            of_row.stopped, of_row.after_looking = stopped(row), wide
            of_row.warnings.append(said(row))

    def notes(self) -> list[str]:
        """A sentence for each comparison, as far as this model took part, and for each interval that stayed wide."""
        goal = self.found.get("options", {}).get("until_interval")
        wide = [_still_wide(each, goal) for each in self.found.get("wide", ())]
        return [*map(sentence, self.found["comparisons"]), *wide]


def said(row: Mapping[str, object]) -> str:
    """What a reader should know of a row that ended early."""
    option = "--stop_when" if row["why"] in (DECIDED, BROKEN) else "--until_interval"
    of = f"{row['docs']:,} of {row['of']:,}"
    more = f"the command without {option} continues to all documents"
    return f"{stopped(row)} ({of}). It is not a score of the whole benchmark; {more}."


def stopped(row: Mapping[str, Any]) -> str:
    """ "stopped after 41% of the docs: decided" """
    why = "a compared model failed" if row["why"] == BROKEN else row["why"]
    return f"stopped after {max(1, round(100 * row['share']))}% of the documents: {why}"


def cell_mark(run: RecordedRun, name: str, key: MetricKey) -> tuple[str, str]:
    """A mark and a verdict on a number of a table of models: which share of the docs it is of."""
    row = run.results.rows.get(name)
    return "", row.stopped if row else ""


def _still_wide(each: Mapping[str, object], goal: object) -> str:
    """What a reader should know of a number whose interval did not become as narrow as was asked for."""
    if each["half"] is None:
        return f"{each['row']}: all documents were asked, too few for the interval of --until_interval {goal}"
    return f"{each['row']}: all documents were asked, and half its interval is {each['half']:.2f}, above --until_interval {goal}"


def _widened(number: Number, factor: float) -> tuple[float, float] | None:
    """The interval of so many standard errors; None where there is none."""
    if not number.stderr or not isinstance(number.value, (int, float)):
        return None
    half = as_t(round(factor, 9), max(1, (number.n or 2) - 1)) * number.stderr
    return number.value - half, number.value + half


def _bounds(each: Mapping[str, Any], unit: float) -> str:
    """ " (1.2 to 3.4)": the bounds of a loss in the table's unit."""
    if not each.get("interval"):
        return ""
    ends = AllowedLoss(each["allowed"], each["better"]).ends((each["interval"][0], each["interval"][1]))
    return f" ({' to '.join(f'{end * unit:.2f}' for end in ends)})"


def sentence(each: Mapping[str, Any]) -> str:
    """How one comparison ended, with its interval."""
    pair = f"{each['second']} and {each['first']} on {each['row']}"
    if not each.get("looks"):
        return f"{pair}: nothing was tested ({each['ended']})"
    share, unit = round(100 * each["share"]), float(each.get("unit", 1.0))
    ends = f" [{', '.join(f'{end * unit:+.2f}' for end in each['interval'])}]" if each.get("interval") else ""
    if each["ended"] == "differs":
        corrected = each.get("corrected")
        word = "higher" if each["difference"] > 0 else "lower"
        shown = corrected["difference"] if corrected else each["difference"]
        around = f" [{', '.join(f'{end * unit:+.2f}' for end in corrected['interval'])}]" if corrected else ends
        return (
            f"{each['second']} is {word} than {each['first']} on {each['row']} by {abs(shown * unit):.2f}{around} "
            f"(corrected for stopping; measured {each['difference'] * unit:+.2f}), decided after {share}% of the documents"
        )
    if "allowed" in each:
        ends_of_loss = _bounds(each, unit)
        allowed = f"{each['second']} may lose {each['allowed'] * unit:g} against {each['first']} on {each['row']}"
        if each["ended"] in (WITHIN, BEYOND):
            surely = "less" if each["ended"] == WITHIN else "more"
            return f"{allowed} and surely loses {surely}{ends_of_loss}, decided after {share}% of the documents"
        return f"{allowed}: not decided after {share}% of the documents{ends_of_loss}"
    if each["ended"] == "equivalent":
        return f"{pair} are within the margin{ends}, decided after {share}% of the documents"
    if each["ended"] == BROKEN:
        return f"{pair}: ended early after {share}% of the documents{ends}"
    return f"{pair}: no difference after all documents{ends}"
