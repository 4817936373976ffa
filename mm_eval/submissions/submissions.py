"""The submission files of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mm_eval.config.manager import Loaded
from mm_eval.config.submission import SubmissionConfig
from mm_eval.engine.folder import RunFolder
from mm_eval.first_checks import check_columns
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prompt.task import Task
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.submissions.files import Submission, check_files, record_of
from mm_eval.values.types import Doc


@dataclass
class Submissions:
    """The submission files of a run. files: of each task that has one. folder: where the last ones were written."""

    files: dict[str, Submission] = field(default_factory=dict)
    folder: Path = Path()

    @classmethod
    def of(cls, loaded: Loaded) -> Submissions | None:
        """Those of the configs of a run; None where no task has one. ConfigError where two write one file."""
        check_files(loaded.tasks)
        return cls() if any(config.submission is not None for config in loaded.tasks.values()) else None

    def check(self, opened: OpenedTasks) -> None:
        """ConfigError if the function of a task's records reads a column that the data lacks."""
        for name, task in opened.tasks.items():
            if task.config.submission is not None and not opened.request.predict_only:
                check_record(task, task.config.submission, opened.doc_ids[name])

    def reading(self, name: str, task: Task, rows: Iterable[SampleRow]) -> Iterable[SampleRow]:
        """The rows of a task, unchanged, as they are written to samples/: their records are collected."""
        if (stated := task.config.submission) is None:
            return rows
        self.files[name] = Submission(name, stated)
        return self.files[name].reading(rows)

    def write(self, folder: RunFolder) -> dict[str, dict[str, object]]:
        """Writes the files. Returns what results.json says of them."""
        self.folder = folder.path
        for each in self.files.values():
            folder.write_lines(each.file, each.lines())
        return {name: each.to_json() for name, each in self.files.items()}

    def notes(self) -> list[str]:
        """Where each file is."""
        return [each.note(self.folder) for each in self.files.values()]

    def problems(self) -> list[str]:
        """The docs that each file lacks."""
        return [problem for each in self.files.values() for problem in each.problems()]


def check_records(task: Task, stated: SubmissionConfig, doc_ids: Sequence[int]) -> str:
    """Makes the record of each doc. Returns what was checked, in words."""
    check_record(task, stated, doc_ids)
    for _, doc in task.docs.texts(list(doc_ids)):
        record_of(stated.record, doc, "answer")
    return f"a run writes {stated.file}"


def check_record(task: Task, stated: SubmissionConfig, doc_ids: Sequence[int]) -> None:
    """ConfigError if the function of the records reads a column that the data lacks."""

    def use(doc: Doc) -> tuple[()]:
        record_of(stated.record, doc, "")
        return ()

    for doc_id in doc_ids[:1]:
        check_columns(task, task.docs.text(doc_id), "submission", use)
