"""The tasks of a request, opened: functions imported, scorers built, data read, prompt blocks chosen, nothing requested."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Protocol

from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.data.dataset import lacks_sample
from mm_eval.data.docs import FileState
from mm_eval.data.source import DataId, DataSource
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import Journal, JournalState
from mm_eval.engine.outcome import Outcome, StopSignal
from mm_eval.engine.progress import Progress
from mm_eval.first_checks import check_first_doc, check_repeats, check_scoring, group_faults
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.question import Room
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.request import RunRequest
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.metrics.traits import traits_of
from mm_eval.scoring.of_task import scorers_of
from mm_eval.values.errors import ConfigError, NotHereError, raise_all
from mm_eval.values.types import Instance
from mm_eval.values.words import counted

BARE = "code that the model wrote was run without a sandbox (--sandbox none)"


@dataclass(kw_only=True)
class OpenedTasks:
    """The tasks of a request with their data open and their prompts checked: all that scoring and validation need.

    tasks: by row name, in the order of the table. styles, scorers, doc_ids: by the same names.
    dropped: how many docs of a task are not scored, since no answer to them is right.
    notes: what the reader of the table should know (sample data, members left out, prompt keys not found).
    """

    request: RunRequest
    loaded: Loaded
    tasks: dict[str, Task]
    styles: dict[str, PromptStyle]
    scorers: dict[str, list[Scorer]]
    doc_ids: dict[str, list[int]]
    notes: list[str] = field(default_factory=list)
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def configs(self) -> dict[str, TaskConfig]:
        """The config of each task."""
        return {name: task.config for name, task in self.tasks.items()}

    @property
    def conversations(self) -> frozenset[str]:
        """The paths of the tasks whose docs are conversations."""
        return frozenset(task.path for name, task in self.tasks.items() if self.styles[name].turns is not None)

    def check_first_docs(self) -> None:
        """ConfigError if the prompt of a task's first doc can't be built, or scoring reads a column that the data lacks."""
        for name, task in self.tasks.items():
            if requests := check_first_doc(task, self.styles[name], self.doc_ids[name]):
                self._first_requests[name] = requests
            if self.request.predict_only:
                continue
            if task.config.process_results is not None:
                check_scoring(task, self.first_requests(name))
            check_repeats(task, self.scorers[name], partial(self.first_requests, name))

    def first_requests(self, name: str) -> list[Instance]:
        """The requests of a task's first doc, without its pictures: made once for all that looks at them before the run."""
        if name not in self._first_requests:
            first = self.tasks[name].instances(self.doc_ids[name][:1], self.styles[name], lambda doc_id: None)
            self._first_requests[name] = list(first)
        return self._first_requests[name]

    @cached_property
    def _first_requests(self) -> dict[str, list[Instance]]:
        """Those that have been made; a copy with other styles makes its own."""
        return {}

    @property
    def sampled(self) -> list[str]:
        """The names of the data sets of which there is only the bundled sample."""
        paths = {task.config.dataset_path for task in self.tasks.values() if task.docs.bundled}
        return sorted(str(path).rsplit("/", 1)[-1] for path in paths)

    @property
    def in_part(self) -> dict[str, list[int]]:
        """{task: [docs requested, all its docs]} of the tasks of which `--limit` or `--samples` leaves docs out."""
        requested = {name: len(ids) + self.dropped.get(name, 0) for name, ids in self.doc_ids.items()}
        sizes = {name: [requested[name], len(task.docs)] for name, task in self.tasks.items()}
        return {name: size for name, size in sizes.items() if size[0] < size[1]}

    def picture_files(self, known: Mapping[str, Mapping[str, FileState]]) -> dict[str, dict[str, FileState]]:
        """{task: {name: its state}} of the picture files that the rows name; embedded pictures are in the data's fingerprint.

        known: the same from an earlier launch, so that only changed files are read.
        """
        found = {name: task.picture_files(self.doc_ids[name], known.get(name, {})) for name, task in self.tasks.items()}
        return {name: states for name, states in found.items() if states}


@dataclass(frozen=True)
class Asking:
    """What asking further questions needs: those of the judges after the answers, and those of a run that may stop.

    elsewhere: the failed requests of the launch's other processes, of which there are `processes` with this one.
    """

    folder: RunFolder
    state: JournalState
    journal: Journal
    outcome: Outcome
    stop: StopSignal
    progress: Progress
    elsewhere: Callable[[], int] = lambda: 0
    processes: int = 1


@dataclass(frozen=True)
class Pass:
    """Requests that are made together, and the docs about whose answers the judges are asked after them, {task: docs}."""

    requests: Iterable[Instance]
    doc_ids: Mapping[str, list[int]]


class PendingDocs(Protocol):
    """What a run still has to request. doc_ids: {task: docs with a slot that has no answer}."""

    @property
    def doc_ids(self) -> Mapping[str, Sequence[int]]: ...

    def requests(self, name: str, doc_ids: Sequence[int]) -> Iterator[Instance]:
        """The requests of those of some docs of a task that are pending, in this order."""
        ...


def _needs_whole_clusters(scorers: Sequence[Scorer]) -> bool:
    """Whether a number of the task is undefined on a part of a cluster."""
    stated = [metric.aggregation for scorer in scorers for metric in scorer.metrics or () if metric.aggregation]
    return any(traits_of(aggregation).whole_clusters for aggregation in stated)


def open_tasks(
    request: RunRequest,
    loaded: Loaded,
    sample: bool,
    styles_of: Callable[[Mapping[str, TaskConfig]], dict[str, PromptStyle]],
    check_scorers: Callable[[TaskConfig, Sequence[Scorer]], None],
    progress: Callable[[str], None] = lambda phase: None,
    missing: Sequence[NotHereError] = (),
) -> OpenedTasks:
    """Imports the functions of all tasks, builds their scorers and opens their data.

    styles_of: the prompt style of each task, from the resolved configs.
    check_scorers: raises ConfigError where the scorers of a task do not go with what else scores it.
    missing: what else is not on this machine; with `--offline` this and all missing data are one error.
    """
    configs = {name: config.resolved(FOREIGN_CODE) for name, config in loaded.tasks.items()}
    loaded = replace(loaded, groups={name: group.resolved(FOREIGN_CODE) for name, group in loaded.groups.items()})
    scorers = {name: scorers_of(config) for name, config in configs.items()}
    for name, config in configs.items():
        check_scorers(config, scorers[name])
    raise_all(fault for _, fault in group_faults(loaded, scorers))
    progress("data")
    left_out = without_sample(loaded, request) if sample else set()
    configs = {name: config for name, config in configs.items() if name not in left_out}
    tasks = _load_tasks(request, configs, sample, missing)
    doc_ids = {
        name: task.select(request.limit, (request.samples or {}).get(name), _needs_whole_clusters(scorers[name]))
        for name, task in tasks.items()
    }
    notes = loaded.notes + ([_left_out_note(loaded, left_out)] if left_out else [])
    if request.tools.sandbox == "none" and any(each.tools and each.tools.runs_code for each in configs.values()):
        notes.append(BARE)
    notes += [
        f"{name}: the data lacks the column {task.lacking[0]!r} of cluster_key; standard errors go by pictures instead"
        for name, task in tasks.items()
        if task.lacking
    ]
    return OpenedTasks(
        request=request,
        loaded=loaded,
        tasks=tasks,
        styles=styles_of(configs),
        scorers=scorers,
        doc_ids=doc_ids,
        notes=notes + missing_key_notes(request, configs),
    )


def _load_tasks(
    request: RunRequest, configs: Mapping[str, TaskConfig], sample: bool, also_missing: Sequence[NotHereError]
) -> dict[str, Task]:
    source, tasks, missing = data_source(request, sample), dict[str, Task](), list(also_missing)
    room = Room()
    for name, config in configs.items():
        try:
            tasks[name] = Task.load(config, source, request.seed)
            tasks[name].keep_questions_in(room)
        except NotHereError as error:
            if not request.offline:
                raise
            if error.what not in [known.what for known in missing]:
                missing.append(error)
    if missing:
        raise NotHereError.joined(missing)
    return tasks


def _left_out_note(loaded: Loaded, left_out: set[str]) -> str:
    """Which groups are measured in part, by their outermost names."""
    below = {name: set(loaded.leaves(name)) for name in loaded.roots}
    parts = [
        f"{len(tasks - left_out)} of the {counted(len(tasks), 'task')} of {name}"
        for name, tasks in below.items()
        if tasks & left_out
    ]
    return f"the sample data has {', '.join(parts)}; the others are left out"


def without_sample(loaded: Loaded, request: RunRequest) -> set[str]:
    """The members of groups whose subset the bundled sample does not have; a task requested by name is never left out."""
    source = data_source(request, sample=True)
    missing = set()
    for name, config in loaded.tasks.items():
        if name in loaded.roots or config.dataset_name is None or config.dataset_path is None:
            continue
        if lacks_sample(DataId.all_of(config.dataset_path, config.dataset_name, config.dataset_mirrors), source):
            missing.add(name)
    return missing if len(missing) < len(loaded.tasks) else set()


def data_source(request: RunRequest, sample: bool) -> DataSource:
    if request.data_root is not None and not os.path.isdir(request.data_root):
        raise ConfigError(f"there is no folder {request.data_root!r}.", where="--data_root")
    if request.allow_url_media and request.offline:
        raise ConfigError("--allow_url_media fetches pictures, and --offline forbids it.", where="--offline")
    root = Path(request.data_root) if request.data_root else None
    return DataSource(root, sample, request.offline, request.allow_url_media, FOREIGN_CODE)


def prompt_blocks(request: RunRequest, configs: Mapping[str, TaskConfig]) -> dict[str, dict[str, object]]:
    """{task: {key: block}}: the prompt blocks of each task's YAML, the user's own over them."""
    own = request.prompt_blocks or {}
    common = {key: block for key, block in own.items() if key not in configs}
    return {name: {**config.prompt_kwargs, **common, **(own.get(name) or {})} for name, config in configs.items()}


def missing_key_notes(request: RunRequest, configs: Mapping[str, TaskConfig]) -> list[str]:
    """The tasks that have other prompt keys, and not the requested one."""
    key, blocks = request.prompt_key, prompt_blocks(request, configs)
    without = [name for name, own in blocks.items() if key and own and key not in own]
    return [f"{name} has no prompt key {key!r}: 'default' was used" for name in without]
