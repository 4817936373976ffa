"""Submission files as a part of a run (`RunPart`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.config.submission import SubmissionConfig
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import JournalState
from mm_eval.engine.outcome import Outcome
from mm_eval.features.submissions.files import Submission, check_files, record_of
from mm_eval.opening import OpenedTasks, RunPart, Validated
from mm_eval.preflight import check_columns
from mm_eval.prompt.task import Task
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.scoring.task_scores import TaskScores
from mm_eval.values.types import Doc


@dataclass
class SubmissionsPart(RunPart):
    """Writes the submission files of a run. files: of each task that has one. folder: where the last ones were written."""

    files: dict[str, Submission] = field(default_factory=dict)
    folder: Path = Path()

    @classmethod
    def begin(
        cls, request: RunRequest, loaded: Loaded, options: Mapping[str, Any] | None = None
    ) -> SubmissionsPart | None:
        check_files(loaded.tasks)
        return cls() if any(config.submission is not None for config in loaded.tasks.values()) else None

    def describe(self, opened: OpenedTasks) -> list[str]:
        for name, task in opened.tasks.items():
            if task.config.submission is not None and not opened.request.predict_only:
                check_record(task, task.config.submission, opened.doc_ids[name])
        return []

    def rows(self, name: str, task: Task, rows: Iterable[SampleRow]) -> Iterable[SampleRow]:
        if (stated := task.config.submission) is None:
            return rows
        self.files[name] = Submission(name, stated)
        return self.files[name].reading(rows)

    def complete(self, opened: OpenedTasks, folder: RunFolder, results: Results, state: JournalState) -> None:
        self.folder = folder.path
        if self.files:
            results.submissions = {name: each.to_json() for name, each in self.files.items()}
        for each in self.files.values():
            folder.write_lines(each.file, each.lines())

    def notes(self, state: JournalState, outcome: Outcome) -> list[str]:
        return [each.note(self.folder) for each in self.files.values()]

    def problems(self, outcome: Outcome, scores: Mapping[str, TaskScores]) -> list[str]:
        return [problem for each in self.files.values() for problem in each.problems()]


def validated(task: Task, stated: SubmissionConfig, doc_ids: Sequence[int]) -> Validated:
    """Makes the record of each doc."""
    check_record(task, stated, doc_ids)
    for _, doc in task.docs.texts(list(doc_ids)):
        record_of(stated.record, doc, "answer")
    return Validated(f"a run writes {stated.file}")


def check_record(task: Task, stated: SubmissionConfig, doc_ids: Sequence[int]) -> None:
    """ConfigError if the function of the records reads a column that the data lacks."""

    def use(doc: Doc) -> tuple[()]:
        record_of(stated.record, doc, "")
        return ()

    for doc_id in doc_ids[:1]:
        check_columns(task, task.docs.text(doc_id), "submission", use)
