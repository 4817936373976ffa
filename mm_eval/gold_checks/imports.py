"""`mm-eval validate --imports`: which tasks of a tree load, and whose functions import, without their data.

All files are imported in one child process, each in limited time: a file that ends it, or that takes too long, is the fault of
the tasks that need it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mm_eval.config.foreign_code import ForeignCode
from mm_eval.config.manager import TaskManager
from mm_eval.config.packages import MissingPackages, install_command
from mm_eval.config.schema import functions_in
from mm_eval.config.task_config import TaskConfig
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.values.errors import ConfigError, MMEvalError, all_faults
from mm_eval.values.words import listed, of_all

SECONDS_OF_IMPORT = 60.0
NAMED = 4
"""How many tasks are named with a reason."""


@dataclass
class Reason:
    """Why tasks don't load or import. said: a sentence for all of them, or that of the first."""

    said: str
    tasks: list[str] = field(default_factory=list)


@dataclass
class ImportReport:
    """What came of all tasks. ok: those that load and import. reasons: by sentence, of each other task its first.

    packages: what tasks of `ok` need before they can run.
    """

    ok: list[str] = field(default_factory=list)
    reasons: dict[str, Reason] = field(default_factory=dict)
    packages: dict[str, Reason] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.ok) + sum(len(reason.tasks) for reason in self.reasons.values())

    def lines(self) -> Iterator[str]:
        yield f"{of_all(len(self.ok), self.count, 'task', 'loads and imports', 'load and import')}"
        yield from _listed(self.reasons)
        if self.packages:
            count = len({task for reason in self.packages.values() for task in reason.tasks})
            yield f"{count:,} of these need packages that are not installed, and can't run without:"
            yield from _listed(self.packages)


def _listed(reasons: dict[str, Reason]) -> Iterator[str]:
    for reason in sorted(reasons.values(), key=lambda reason: -len(reason.tasks)):
        yield f"  {len(reason.tasks):5}  {reason.said} ({listed(reason.tasks, NAMED)})"


def check_imports(names: Sequence[str], include_path: str | None) -> ImportReport:
    """The report on these tasks and groups; without names on all tasks of the folder, or on all shipped ones."""
    manager = TaskManager(include_path=include_path)
    report = ImportReport()
    configs = _load(manager, list(names) or _names_in(manager, include_path), report)
    known: dict[str, MMEvalError | None] = {}
    with FOREIGN_CODE.together(SECONDS_OF_IMPORT) as code:
        for name, config in configs.items():
            faults = list(_faults(config, code, known)) or list(_faults_of_scoring(config, code))
            needs = [fault for fault in faults if isinstance(fault, MissingPackages) and not fault.at_import]
            others = [fault for fault in faults if fault not in needs]
            if others:
                _add(report, name, others[0])
                continue
            report.ok.append(name)
            for package in dict.fromkeys(package for fault in needs for package in fault.packages):
                said = f"{package}: {install_command(package)}"
                report.packages.setdefault(package, Reason(said)).tasks.append(name)
    return report


def _names_in(manager: TaskManager, include_path: str | None) -> list[str]:
    """All tasks that are declared in a folder, unreadable ones too; without a folder all there are."""
    if include_path is None:
        return manager.all_tasks
    folder = Path(os.path.abspath(os.path.expanduser(include_path)))
    entries = manager.entries.values()
    own = [entry.name for entry in entries if entry.file is not None and entry.file.is_relative_to(folder)]
    inside = {path.rpartition("::")[0] for path in own}
    tasks = set(manager.all_tasks)
    found = [entry.name for entry in entries if entry.name in own and entry.kind in ("task", "broken")]
    groups = {entry.name for entry in entries if entry.name in own and entry.kind == "group"} | inside
    return found + [name for name in tasks - set(found) if name.partition("::")[0] in groups]


def _load(manager: TaskManager, names: Sequence[str], report: ImportReport) -> dict[str, TaskConfig]:
    """The configs that load, by name; the others are in the report."""
    found: dict[str, TaskConfig] = {}
    for name in names:
        try:
            found |= manager.load([name]).tasks
        except ConfigError as error:
            _add(report, name, all_faults(error)[0])
    return found


def _faults(config: TaskConfig, code: ForeignCode, known: dict[str, MMEvalError | None]) -> Iterator[MMEvalError]:
    """The faults of the functions of a config. known: those of functions that were imported for another one."""
    for reference in functions_in(config.source):
        try:
            key = f"{reference.source()}:{reference.function}"
            if key not in known:
                known[key] = None
                reference.resolve(code)
        except MMEvalError as error:
            known[key] = error
        if (fault := known[key]) is not None:
            yield fault


def _faults_of_scoring(config: TaskConfig, code: ForeignCode) -> Iterator[MMEvalError]:
    """The fault of its filters, metrics and scorers, which a run would end with before its first request."""
    from mm_eval.scoring.of_task import scorers_of

    try:
        scorers_of(config.resolved(code))
    except MMEvalError as error:
        yield all_faults(error)[0]


def _add(report: ImportReport, task: str, fault: MMEvalError) -> None:
    if isinstance(fault, MissingPackages):
        key = said = f"{fault.what.partition(' failed: ')[2] or fault.what} {fault.hint}"
    else:
        said = str(fault)
        key = _MASKED.sub("*", fault.what)
    report.reasons.setdefault(key, Reason(said)).tasks.append(task)


_MASKED = re.compile(
    r"(?:/[^\s:,'\"]+)+|!function \S+|(?<=function )'\w+'|^'[^']+'|(?<=task )'[^']+'|\d+|Did you mean.*"
)
"""What differs between tasks in sentences of one reason: files, functions, the task itself, numbers."""
