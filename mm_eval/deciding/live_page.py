"""Runs that go on, compared as their answers come in: a page of `mm-eval view`.

    compared([Path("runs/a"), Path("runs/b")]).about()

The intervals hold at every moment at once, so that somebody may watch and stop when one excludes 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from mm_eval.deciding.live import LiveRun, LookedAt, looked_at
from mm_eval.results.page import page
from mm_eval.results.table import Column, Drawing, Row, Table, to_page
from mm_eval.values.errors import MMEvalError, kind_and_text
from mm_eval.values.run_files import UNREADABLE, journal_files
from mm_eval.values.types import MetricKey, Number
from mm_eval.values.words import of_all

COLUMNS = (
    Column("task", "text"),
    *map(Column, ("A", "B", "B − A")),
    Column("at any time", "text"),
    Column("", "text", "drawing"),
    Column("docs", "text"),
    Column("", "text", "verdict"),
)
HINT = (
    "The documents that both runs have answered so far. The intervals hold at every moment at once (95% for all metrics of a "
    "comparison together): look as often as you like, and stop when one excludes 0. A run asks in the order of the data, whose "
    "beginning may not stand for the whole, unless --stop_when or --until_interval drew a random order."
)
WAIT = 4000
"""Milliseconds between two looks."""


class Comparison:
    """The first run against each of the others."""

    title, leads = "Comparison so far", False

    def __init__(self, folders: Sequence[Path], include_path: str | None = None) -> None:
        self._folders, self._include_path = list(folders), include_path
        self._runs: dict[Path, LiveRun] = {}
        self._shown: tuple[str, dict[str, object]] | None = None
        self._lock = Lock()

    def state(self) -> str:
        """Changes with each answer."""
        return "-".join(str(_size(folder)) for folder in self._folders)

    def said(self) -> str:
        first, *others = self._folders
        return f"{', '.join(each.name for each in others)} against {first.name}, on the documents that both runs have answered"

    def about(self) -> dict[str, object]:
        with self._lock:
            state = self.state()
            if self._shown is None or self._shown[0] != state:
                self._shown = state, self._about(state)
            return self._shown[1]

    def page(self) -> Iterator[str]:
        return page(self.title, "differences.js", [], lambda: [], self.about, live=True)

    def _about(self, state: str) -> dict[str, object]:
        problems, runs = list[str](), list[LiveRun]()
        for folder in self._folders:
            try:
                known = self._runs.get(folder)
                self._runs[folder] = known.refreshed() if known else LiveRun.read(str(folder), self._include_path)
                runs.append(self._runs[folder])
            except MMEvalError as error:
                problems.append(f"{folder}: {error}")
            except UNREADABLE as error:
                problems.append(f"{folder}: {kind_and_text(error)}")
        sections = [self._section(runs[0], each, problems) for each in runs[1:]]
        names = ["A", *("B" for _ in runs[1:])]
        facts = [
            {
                "name": name,
                "text": f"{run.name}{', unfinished' if run.goes_on else ''}",
                "link": None,
                "at": str(run.folder),
            }
            for name, run in zip(names, runs, strict=True)
        ]
        sample = any(run.opened.request.sample for run in runs)
        return {
            "kind": "live_comparison",
            "title": self.title,
            "datasets": sorted({name for run in runs for name in run.opened.tasks}) if sample else [],
            "sample": sample,
            "facts": facts,
            "beside": [],
            "differs": [{"title": "Not compared", "said": problems}] if problems else [],
            "sections": sections,
            "hint": HINT,
            "live": {"address": "anytime.js", "state": state, "wait": WAIT},
        }

    def _section(self, first: LiveRun, second: LiveRun, problems: list[str]) -> dict[str, object]:
        found = list[LookedAt]()
        try:
            found = list(looked_at(first, second))
        except MMEvalError as error:
            problems.append(str(error))
        reach = max((abs(end) for each in found for end in each.interval or ()), default=0.0) or 1.0
        said = [] if found else ["No document has been answered by both runs yet."]
        rows = [Row(_cells(each, reach), marked=each.verdict.startswith("B is")) for each in found]
        return {
            "title": f"B: {second.name} against A: {first.name}",
            "tables": [to_page(Table(list(COLUMNS), rows))],
            "said": said,
        }


def _cells(each: LookedAt, reach: float) -> dict[str, Any]:
    unit, drawing = each.shown_in, None
    if each.interval is not None:
        drawn = Number(MetricKey(each.unit.name, ""), each.difference.value, exact=each.interval)
        drawing = Drawing(drawn, reach)
    return {
        "task": each.unit.name,
        "A": unit.text(each.first.value),
        "B": unit.text(each.second.value),
        "B − A": unit.signed(each.difference.value),
        "at any time": "" if each.interval is None else " to ".join(map(unit.signed, each.interval)),
        "drawing": drawing or "",
        "docs": f"{each.docs:,} of about {each.total:,} documents"
        if each.estimated
        else of_all(each.docs, each.total, "document"),
        "verdict": each.verdict,
    }


def _size(folder: Path) -> int:
    """Bytes of a run's journal; one less when it has results, so that its end is a change, too."""
    try:
        return sum(path.stat().st_size for path in journal_files(folder)) - (folder / "results.json").exists()
    except (OSError, MMEvalError):
        return 0


def compared(folders: Sequence[Path], include_path: str | None = None) -> Comparison | None:
    """The page on runs of which one goes on; None where all have ended, since their own pages say more."""
    if all((folder / "results.json").is_file() for folder in folders):
        return None
    return Comparison(folders, include_path)
