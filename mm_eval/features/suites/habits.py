"""Habits of lmms-eval that its task files and functions rely on, imitated in one place.

Each section names a habit and why it is imitated: the weights of lmms-eval's groups; data loaded inside a task's own
functions; aggregation functions; answers and metric names.

Two sections, and `no_judge` in judges.py, replace a function of the process inside a `with` block
(`datasets.load.load_dataset_builder`, `subprocess.Popen`, `socket.getaddrinfo`): a task's own code calls these directly, so
there is no argument to pass.

All folders, the catalogue included, import this module inside functions, and only where a task needs it. So a task without
these habits never loads it.
"""

from __future__ import annotations

import copy
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from dataclasses import replace
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

from mm_eval.config.draws import generators_in, unchanged
from mm_eval.config.group import GroupConfig, GroupNode, TaskNode, descendants
from mm_eval.features.suites.judges import no_judge
from mm_eval.features.suites.origin import is_from_lmms_eval
from mm_eval.values.errors import ScoringError
from mm_eval.values.types import Doc

if TYPE_CHECKING:
    from mm_eval.data.source import DataSource

# ------------------------------------------------------------------ groups
# Habit: where a group's file has no `weight_by_size`, each task counts once, whatever its size. Our default, and
# lm-eval's, is that each doc counts once; published numbers of lmms-eval's groups need that suite's default.


def with_default_weights(node: GroupNode) -> GroupConfig:
    """A group's config, with lmms-eval's weights, and a note, if the group is lmms-eval's and doesn't state weights."""
    group = node.config
    unweighted = group.unweighted
    if not unweighted or not _is_group_of_lmms_eval(node):
        return group
    metrics = tuple(
        replace(metric, weight_by_size=False) if metric in unweighted else metric
        for metric in group.aggregate_metric_list
    )
    names = ", ".join(metric.metric for metric in unweighted if metric.aggregation == "mean")
    note = (
        f"{names}: the mean over tasks, each of which counts the same, as lmms-eval has it for its own groups; "
        "`weight_by_size: true` in the group's file gives the mean over docs."
    )
    return replace(group, aggregate_metric_list=metrics, note=note if names else "")


def _is_group_of_lmms_eval(node: GroupNode) -> bool:
    """Whether a group's file is lmms-eval's, or all of its tasks are and lie in its folder or below."""
    file = node.config.file
    if is_from_lmms_eval(node.config.source, file):
        return True
    tasks = [below.config for below in descendants(node) if isinstance(below, TaskNode)]
    return (
        file is not None
        and bool(tasks)
        and all(task.file is not None and task.file.is_relative_to(file.parent) and task.of_lmms_eval for task in tasks)
    )


# ------------------------------------------------------------------ data that a task's own function loads
# Habit: `process_docs` and `custom_dataset` call `datasets.load_dataset` for further data (GQA's pictures), with
# `token=True`. That data may be below --data_root, and there may be no token.


@contextmanager
def load_dataset_from(source: DataSource) -> Iterator[None]:
    """Inside, `datasets.load_dataset` looks below the data roots of `source` first.

    Cached rows of local files that have changed since are not used. `token=True` means "use a token if there is one". On the
    hub a data set that has moved is looked up under both of its ids; offline, and without network, in the hub's local cache.
    """
    import datasets.exceptions
    import datasets.load
    import huggingface_hub

    from mm_eval.data.data_files import content_cache
    from mm_eval.data.source import LOCAL_FILES, hub_answers, hub_cache_only, hub_ids

    original = datasets.load.load_dataset_builder

    def data_roots_first(path: str, name: str | None = None, *args: Any, **kwargs: Any) -> Any:
        found = source.found(path)
        folder = found[1] if found else None
        path = path if folder is None else str(folder)
        if folder is not None or Path(path).is_dir() or path in LOCAL_FILES:
            # load_dataset passes everything but path and name by keyword
            kwargs = {**kwargs, **content_cache(original, path, name, kwargs)}
        if kwargs.get("token") is True:
            kwargs["token"] = huggingface_hub.get_token() or None
        if Path(path).is_dir() or path in LOCAL_FILES:
            return original(path, name, *args, **kwargs)
        failures: list[Exception] = []
        with nullcontext() if not source.offline and hub_answers() else hub_cache_only():
            for hub_id in hub_ids(path):
                try:
                    return original(hub_id, name, *args, **kwargs)
                except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
                    failures.append(error)
        raise failures[0]

    datasets.load.load_dataset_builder = data_roots_first
    try:
        yield
    finally:
        datasets.load.load_dataset_builder = original


# ------------------------------------------------------------------ aggregation functions
# Habit: an aggregation function is written to be called once. It may take the command line (`args`), print, write a
# submission file, change the values that it gets and add to a dictionary of its module. A standard error calls it once
# for each doc that is left out, so every call is made to look like the first one.

AGAIN = "and a standard error would do so once for each doc that is left out"


class CommandLine(SimpleNamespace):
    """Stands for lmms-eval's command line: `output_path` is set, and every other option is None."""

    def __getattr__(self, name: str) -> None:
        return None


def as_called_once(function: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
    """The aggregation as a function of the values alone, which may be called any number of times.

    Files that it writes below `args.output_path` are deleted; what it prints is shown at the first call only. A function
    that declares how it may be called (`@stratified_by`, `@smooth`) is returned unchanged.
    """
    from mm_eval.scoring.metrics.traits import Traits, traits_of

    takes_args = "args" in _parameters(function)
    if not takes_args and traits_of(function) != Traits():
        return function
    called = [False]

    @wraps(function)
    def once(values: Sequence[Any]) -> Any:
        own = [dict(value) if type(value) is dict else value for value in values]
        with ExitStack() as around:
            around.enter_context(_same_state(function))
            around.enter_context(unchanged(generators_in(getattr(function, "__globals__", {}))))
            if takes_args or called[0]:  # with args, what it prints is the path of its file
                around.enter_context(_silent(function))
            again, called[0] = called[0], True
            around.enter_context(no_judge())
            if again:
                around.enter_context(_no_program())
            if not takes_args:
                return function(own)
            folder = around.enter_context(tempfile.TemporaryDirectory(prefix="mm-eval-"))
            return function(own, args=CommandLine(output_path=folder))

    return once


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return {}


@contextmanager
def _same_state(function: Callable[..., Any]) -> Iterator[None]:
    """Restores the lists, dictionaries and sets of its module that a function names: OCRBench's adds to its totals."""
    code, variables = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    named = [name for name in getattr(code, "co_names", ()) if type(variables.get(name)) in (dict, list, set)]
    before = {name: copy.deepcopy(variables[name]) for name in named}
    try:
        yield
    finally:
        variables.update(before)


@contextmanager
def _no_program() -> Iterator[None]:
    """Inside, starting a program is a ScoringError: COCO's captions run Java, seconds a call and hours a standard error."""
    original = subprocess.Popen

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ScoringError(f"it starts a program, {AGAIN}")

    setattr(subprocess, "Popen", refuse)  # noqa: B010  # an assignment to a class is what mypy refuses
    try:
        yield
    finally:
        setattr(subprocess, "Popen", original)  # noqa: B010


@contextmanager
def _silent(function: Callable[..., Any]) -> Iterator[None]:
    """Inside, what a function prints, or logs with loguru, is dropped."""
    loguru = sys.modules.get("loguru")
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        if loguru is None:
            yield
            return
        loguru.logger.disable(function.__module__)
        try:
            yield
        finally:
            loguru.logger.enable(function.__module__)


# ------------------------------------------------------------------ answers and metric names
# Habits: every generated answer is stripped before it is scored, a filter may give one text a doc in place of a list,
# and the task guide misspells a metric, so that files written after it have either spelling.

MISSPELT = {"mme_percetion_score": "mme_perception_score"}
"""Metric names that lmms-eval's task guide misspells, with the right spelling."""


def with_right_spelling(
    process_results: Callable[..., Any], pipelines: Iterable[Mapping[str, Any]]
) -> Callable[..., Any]:
    """The scoring function with misspelt metric names in its results replaced; replaces them in the pipelines, too."""
    for pipeline in pipelines:
        for metric in pipeline["metric_list"]:
            if isinstance(metric["metric"], str):
                metric["metric"] = MISSPELT.get(metric["metric"], metric["metric"])

    @wraps(process_results)
    def spelt(*args: Any, **kwargs: Any) -> Any:
        returned = process_results(*args, **kwargs)
        if not isinstance(returned, Mapping):
            return returned
        return {MISSPELT.get(name, name): value for name, value in returned.items()}

    return spelt


class BareAnswers:
    """The last filter of lmms-eval's generation tasks: answers without the white space around them.

    A filter of theirs may give one text a doc, as AI2D's does: that is its only answer.
    """

    extracts: ClassVar[bool] = False

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Doc]) -> Iterable[Sequence[Any]]:
        """The answers of each doc, stripped; each keeps the rule that found it."""
        from mm_eval.scoring.filters.base import like

        def bare(answer: Any) -> Any:
            return like(answer.strip(), answer) if isinstance(answer, str) else answer

        return [[bare(answer) for answer in ([found] if isinstance(found, str) else found)] for found in resps]
