"""What a reader should know of a row, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.words import of_all


def unanswered_words(row: Scores) -> str:
    """How many docs of a row have a missing answer, by kind: "5 of 20 docs (3 filtered, 2 refused)". Empty for none."""
    if not row.unanswered:
        return ""
    cut = row.unanswered - row.filtered - row.refused
    kinds = [
        *([f"{row.filtered:,} filtered"] if row.filtered else []),
        *([f"{row.refused:,} refused"] if row.refused else []),
        *([f"{cut:,} cut before an answer"] if cut > 0 else []),
    ]
    return f"{of_all(row.unanswered, row.n, 'doc')} ({', '.join(kinds)})"


def incomplete(row: Scores) -> list[str]:
    """What a row's numbers lack, in words: docs that failed, were not requested or have no grade, prompts that were cut."""
    flaws = {
        "failed": ("doc", "failed", "failed"),
        "not_requested": ("doc", "was not requested", "were not requested"),
        "cut": ("prompt", "was cut", "were cut"),
    }
    stopped = [row.stopped] if row.stopped else []
    found = [of_all(count, row.n, *said) for name, said in flaws.items() if (count := getattr(row, name))]
    ungraded = (row.ungraded[grader].docs for grader in row.graders)
    return (
        stopped + found + [of_all(docs, row.n, "doc", "has no verdict", "have no verdict") for docs in ungraded if docs]
    )


_SILENT = re.compile(r"([\d,]+ of [\d,]+) answers? (?:is|are) empty or unparsed, such as ")


def brief_warnings(results: Results) -> Iterator[str]:
    """The warnings of a run beside other runs: one line for the answers that say nothing, and what else is odd."""
    yield from results.oddities
    silent = []
    for name, row in results.rows.items():
        for said in row.warnings:
            if found := _SILENT.match(said):
                silent.append(f"{name} {found[1]}")
            else:
                yield f"{name}: {said}"
    if silent:
        yield f"answers are empty or unparsed: {', '.join(silent)} (`mm-eval diagnose` says why)"
