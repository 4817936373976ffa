"""Judges in the release table: numbers of two judges are not ranked together, and the notes say who judged what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mm_eval.runs.judged_by import RecordedJudge, judges_differ

if TYPE_CHECKING:
    from mm_eval.runs.recorded import RecordedRun
    from mm_eval.runs.release import ReleaseNumber, ReleaseTable


def by_another_judge(judges: Mapping[str, RecordedJudge], stated: str) -> str:
    """How the judge of a reported number differs from ours, in words; empty where it is the same or nothing is judged."""
    for judge in judges.values():
        name = stated or judge.official or ""
        if not judge.known_as(name):
            theirs = f"judged by {name}" if name else "by a judge that is not named"
            return f"{theirs}, ours by {judge.described()}"
    return ""


def notes_on_judges(table: ReleaseTable, mix_judges: bool) -> list[str]:
    """Sets numbers apart that another judge gave than the rest of their row, and says who judged what."""
    notes = []
    for row, numbers in table.rows.items():
        if not any(found.judges for found in numbers.values()):
            continue
        of_row = _judges_of_most(numbers)
        told = ", ".join(dict.fromkeys(judge.described() for judge in of_row.values())) or "no judge"
        others = {column: said for column, found in numbers.items() if (said := _differs(found, of_row))}
        notes.append(f"{table.label(row)}: judged by {told}{_unlike_official(of_row)}.")
        for column, said in others.items():
            end = "ranked together all the same (--mix_judges)" if mix_judges else "not ranked with the others"
            notes.append(f"{column}, {table.label(row)}: {said}: {end}.")
            for cells in (numbers, *table.categories.get(row, {}).values()):
                if column in cells:
                    cells[column].set_apart = not mix_judges
    return notes


def _judges_of_most(numbers: Mapping[str, ReleaseNumber]) -> Mapping[str, RecordedJudge]:
    """The judges of most of a row's measured numbers; of the first where several have as many."""
    measured = [found.judges for found in numbers.values() if found.ours]
    return max(measured, key=lambda mine: sum(not judges_differ(mine, other) for other in measured))


def _differs(found: ReleaseNumber, of_row: Mapping[str, RecordedJudge]) -> str:
    if not found.ours:
        return by_another_judge(of_row, found.judge)
    if not judges_differ(of_row, found.judges):
        return ""
    return "judged by " + (", ".join(judge.described() for judge in found.judges.values()) or "no judge")


def _unlike_official(judges: Mapping[str, RecordedJudge]) -> str:
    named = dict.fromkeys(str(judge.official) for judge in judges.values() if judge.is_official is False)
    return f", official {', '.join(named)}: not comparable with published numbers" if named else ""


def notes_on_holes(column: str, run: RecordedRun) -> Iterator[str]:
    """Why a judged task has no number in a column: nobody judged it, or no verdict could be read."""
    for task, judges in run.results.get("judges", {}).items():
        row = run.results["results"].get(task, {})
        name = row.get("alias", task)
        if not judges:
            yield f"{column}, {name}: not judged."
        elif row.get("judge_failed") and row["judge_failed"] == row["n"] - row["failed"] - row.get("not_requested", 0):
            yield f"{column}, {name}: no doc has a verdict that could be read."
