"""Submission files: what a benchmark's server takes for splits whose answers are not published.

A task states `submission: {file, record, form}`; `record(doc, answer)` gives one record, in the order of the docs.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.config.submission import SubmissionConfig
from mm_eval.config.task_config import TaskConfig
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.errors import ConfigError, DocError, ScoringError, kind_and_text, raise_all
from mm_eval.values.types import Doc, plain
from mm_eval.values.words import counted, of_all

FOLDER = "submissions"


@dataclass
class Submission:
    """The file of one task. n: docs of the run; failed: docs without a record. errors: the first few reasons, in words."""

    name: str
    stated: SubmissionConfig
    n: int = 0
    failed: int = 0
    errors: list[str] = field(default_factory=list)
    records: list[dict[str, object]] = field(default_factory=list)

    @property
    def file(self) -> str:
        """Its path in the run folder."""
        return file_of(self.name, self.stated)

    def reading(self, rows: Iterable[SampleRow]) -> Iterator[SampleRow]:
        """The rows of samples/<task>.jsonl, unchanged; each answered one adds a record."""
        for row in rows:
            yield row
            self.n += 1
            if row["status"] in ("answered", "filtered", "refused", "truncated"):
                answers = next(iter(row["filtered_resps"].values()), None) or [""]
                try:
                    record = record_of(self.stated.record, row["doc"], "" if answers[0] is None else str(answers[0]))
                    json.dumps(record, allow_nan=False)
                    self.records.append(record)
                    continue
                except Exception as error:  # the task's own code
                    if len(self.errors) < 5:
                        self.errors.append(f"doc {row['doc_id']}: {error}")
            self.failed += 1

    def lines(self) -> Iterator[str]:
        """The lines of the file."""
        if self.stated.form == "csv":
            columns = list(dict.fromkeys(key for record in self.records for key in record))
            yield _csv_line(columns)
            yield from (_csv_line([record.get(key, "") for key in columns]) for record in self.records)
        elif self.stated.form == "jsonl":
            yield from (json.dumps(record, ensure_ascii=False) for record in self.records)
        else:
            last = len(self.records) - 1
            yield "["
            for number, record in enumerate(self.records):
                yield json.dumps(record, ensure_ascii=False) + ("," if number < last else "")
            yield "]"

    def to_json(self) -> dict[str, object]:
        """The entry of results.json."""
        return {"file": self.file, "n": self.n, "failed": self.failed}

    def note(self, folder: Path) -> str:
        """Where the file is."""
        return f"{self.name}: {counted(len(self.records), 'record is', 'records are')} in {folder / self.file}"

    def problems(self) -> list[str]:
        """What its reader must know before it is sent."""
        if not self.failed:
            return []
        lacking = of_all(self.failed, self.n, "document", "has", "have")
        what = f"{self.name}: {self.file} is incomplete: {lacking} no record"
        return [f"{what}{':' if self.errors else ''}", *(f"  {error}" for error in self.errors)]


def file_of(name: str, stated: SubmissionConfig) -> str:
    """The path in the run folder of a task's file: answers.json of docvqa_test, answers@python.json of docvqa_test@python."""
    form = name.rpartition("::")[2].partition("#")[0].partition("@")[2]
    path = Path(stated.file)
    return f"{FOLDER}/{path.stem}@{form.replace('@', '_')}{path.suffix}" if form else f"{FOLDER}/{path.name}"


def record_of(record: Any, doc: Doc, answer: str) -> dict[str, object]:
    """The record of one doc. ScoringError if the task's function fails or gives something else than a mapping."""
    try:
        found = record(doc, answer)
    except DocError:
        raise
    except Exception as error:  # the task's own code
        raise ScoringError(f"the record function failed: {kind_and_text(error)}") from error
    if not isinstance(found, Mapping):
        raise ScoringError(f"the record function returned {found!r:.80}; expected a mapping.")
    return {str(key): plain(value) for key, value in found.items()}


def check_files(configs: Mapping[str, TaskConfig]) -> None:
    """ConfigError where two tasks of a run write the same file."""
    first: dict[str, str] = {}
    faults = []
    for name, config in configs.items():
        if config.submission is None:
            continue
        file = file_of(name, config.submission)
        if first.setdefault(file, name) != name:
            what = f"{first[file]} and {name} both write {file}."
            faults.append(ConfigError(what, where=config.where("submission"), hint="Run them one by one."))
    raise_all(faults)


def _csv_line(cells: Iterable[object]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()[:-1]
