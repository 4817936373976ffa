"""What a run came to: its results, the exit code, and what a reader should know."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from mm_eval.scoring.run_results import Results


@dataclass
class Report:
    """What a run came to.

    results: None where nothing was scored. order: the rows of the table with their depth.
    exit_code: 0 everything was answered and scored, 3 some requests failed, 130 interrupted.
    notes: what a reader of the table should know. problems: what failed.
    silent: this process is one of several and not the one that reports.
    categories: the table shows every category, however many there are.
    waiting: for what the run waits, where it has no results because the same command has to go on.
    """

    results: Results | None
    folder: Path
    exit_code: int
    order: list[tuple[str, int]]
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    silent: bool = False
    categories: bool = False
    waiting: str = ""
