"""The report of `mm-eval judge`: a table for each task in plain words, or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from mm_eval.judge.recorded_quality import Finding, JudgedTask
from mm_eval.results.table import Column, Row, Table, terminal_width, to_broken_text
from mm_eval.values.safe import in_line, json_safe

LISTED = 10
"""Doc ids that a line names."""


def render(
    tasks: Sequence[JudgedTask], findings: Mapping[str, Sequence[Finding]], left_out: Sequence[str], asked: str
) -> str:
    """A table for each task, what is left out, and how many questions were asked."""
    parts: list[str] = []
    for task in tasks:
        judges = [judge.sentence() for judge in task.judges] or ["no recorded judge"]
        parts += [f"{task.name}, judged by {judges[0]}", *(f"  and by {said}" for said in judges[1:])]
        parts += [*_table(findings.get(task.name, ())), ""]
    parts += [f"left out: {said}" for said in left_out]
    return "\n".join(map(in_line, [*parts, asked] if asked else parts))


def as_json(tasks: Sequence[JudgedTask], findings: Mapping[str, Sequence[Finding]], left_out: Sequence[str]) -> str:
    """The findings as a JSON document."""
    found = {
        task.name: {
            "judges": [judge.sentence() for judge in task.judges],
            "findings": [_finding_json(each) for each in findings.get(task.name, ())],
        }
        for task in tasks
    }
    text = json.dumps({"tasks": found, "left_out": list(left_out)}, indent=2, ensure_ascii=False, allow_nan=False)
    return json_safe(text)


def _finding_json(found: Finding) -> dict[str, object]:
    return {key: value for key, value in asdict(found).items() if key != "is_share"} | {"check": found.check.strip()}


def _table(findings: Sequence[Finding]) -> Iterator[str]:
    columns = [Column("check", "text"), Column("result", "text"), Column("95% interval"), Column("docs")]
    rows = []
    for each in findings:
        form = ".1%" if each.is_share else ".3f"
        interval = " to ".join(format(end, form) for end in each.interval or ())
        docs = str(each.docs) if each.docs else ""
        rows.append(Row({"check": each.check, "result": each.result, "95% interval": interval, "docs": docs}))
    yield from to_broken_text(Table(columns, rows), terminal_width()).split("\n")
    remarks = [(each, _remark(each)) for each in findings]
    if any(said for _, said in remarks):
        yield ""
    yield from (f"- {each.check.strip()}: {said}" for each, said in remarks if said)


def _remark(found: Finding) -> str:
    """What stands below the table about a line: its note, and the docs to look at."""
    more = f", ... ({len(found.doc_ids)})" if len(found.doc_ids) > LISTED else ""
    listed = f"see docs {', '.join(map(str, found.doc_ids[:LISTED]))}{more}" if found.doc_ids else ""
    return "; ".join(filter(None, (found.note.removesuffix("."), listed)))
