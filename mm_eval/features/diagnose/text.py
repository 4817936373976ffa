"""A diagnosis in text for the terminal, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from mm_eval.features.diagnose.findings import Diagnosis, Fault
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.safe import in_line, json_safe

LONGEST = 160
"""Characters of an answer that are shown."""
MOST_ON_PAGE = 50
"""Findings on the page of a run, so that a run of many tasks in which everything failed still opens."""


def render(run: RecordedRun, findings: Sequence[Fault]) -> str:
    """Each fault with its count, likely cause, command and examples; one sentence where there is none."""
    lines = [f"{run.folder} ({run.model})"]
    if not findings:
        lines.append("Nothing odd was found: every doc has an answer that the task's rules could read.")
    for task, found in groupby(findings, key=lambda finding: finding.task):
        lines += ["", task]
        for finding in found:
            lines += [
                f"  {finding.said}",
                *(
                    f"    doc {each.doc_id}: {_quoted(each.answer)}  right: {_quoted(each.right)}"
                    for each in finding.examples
                ),
                f"    likely: {finding.cause}",
                *([f"    try:    {finding.mend}"] if finding.mend else []),
            ]
    return "\n".join(map(in_line, lines))


def as_json(run: RecordedRun, findings: Sequence[Fault]) -> str:
    """The findings as a JSON document."""
    document = {"run": str(run.folder), "model": run.model, "findings": [asdict(each) for each in findings]}
    return json_safe(json.dumps(document, indent=2, ensure_ascii=False))


class Findings:
    """The findings of a run as a part of its page."""

    def __init__(self, run: RecordedRun) -> None:
        diagnosis = Diagnosis(run)
        self.look = diagnosis.add
        self._findings = diagnosis.findings

    def about(self) -> dict[str, Any]:
        """The findings on all samples."""
        return as_values(self._findings())


def as_values(findings: Sequence[Fault]) -> dict[str, Any]:
    """The findings for a page: at most `MOST_ON_PAGE`, the rest as a count; long texts are cut."""
    shown = [
        {
            **{name: getattr(each, name) for name in ("task", "kind", "said", "cause", "mend")},
            "examples": [
                {"doc": one.doc_id, "answer": _quoted(one.answer), "right": _quoted(one.right)} for one in each.examples
            ],
        }
        for each in findings[:MOST_ON_PAGE]
    ]
    return {"shown": shown, "more": len(findings) - len(shown)}


def _quoted(text: str) -> str:
    return repr(text[:LONGEST]) + ("..." if len(text) > LONGEST else "")
