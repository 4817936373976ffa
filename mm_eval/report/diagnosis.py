"""A diagnosis in text for the terminal, and as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from mm_eval.report.safe import in_line, json_safe
from mm_eval.runs.diagnose import Finding
from mm_eval.runs.recorded import RecordedRun

LONGEST = 160
"""Characters of an answer that are shown."""


def render(run: RecordedRun, findings: Sequence[Finding]) -> str:
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
                f"    try:    {finding.mend}",
            ]
    return "\n".join(map(in_line, lines))


def as_json(run: RecordedRun, findings: Sequence[Finding]) -> str:
    """The findings as a JSON document."""
    document = {"run": str(run.folder), "model": run.model, "findings": [asdict(each) for each in findings]}
    return json_safe(json.dumps(document, indent=2, ensure_ascii=False))


def _quoted(text: str) -> str:
    return repr(text[:LONGEST]) + ("..." if len(text) > LONGEST else "")
