"""The checks of `mm-eval protocols check`: a protocol against the tasks that it names, on the bundled sample data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from mm_eval.cli.say import TaskCheck
from mm_eval.config.manager import Loaded
from mm_eval.data.video.medium import full_rule
from mm_eval.engine.generation import GenerationOptions
from mm_eval.open_tasks import without_sample
from mm_eval.prepare import load_configs, prepare_without_model
from mm_eval.prompt.blocks import FRAMES_KEY
from mm_eval.protocols.protocol import Benchmark, Protocol
from mm_eval.protocols.protocol_file import protocol_names, read_protocol
from mm_eval.request import WITHOUT_JUDGE, RunRequest
from mm_eval.values.errors import ConfigError, MMEvalError, all_faults, did_you_mean
from mm_eval.values.words import counted


def check_protocols(names: list[str], include_path: str | None = None) -> Iterator[TaskCheck]:
    """One finding for each fault of each protocol, or one that says what was checked. names: all protocols if empty.

    Errors: ConfigError for an unknown name.
    """
    known = protocol_names([include_path] if include_path else [])
    for name in names:
        if name not in known:
            raise ConfigError(f"there is no protocol {name!r}.", hint=did_you_mean(name, known))
    for name in names or known:
        yield from check_protocol(name, known[name], include_path)


def check_protocol(name: str, file: Path, include_path: str | None = None) -> Iterator[TaskCheck]:
    """The faults of one protocol: its file, its tasks, its settings, and the prompt of each task's first sample doc."""
    try:
        protocol = read_protocol(file)
    except ConfigError as error:
        yield from (TaskCheck(name, False, str(fault)) for fault in all_faults(error))
        return
    faults = [
        fault
        for benchmark in protocol.benchmarks.values()
        for check in (partial(_settings, protocol, benchmark), partial(_task, protocol, benchmark, include_path))
        for fault in _faults(check)
    ]
    yield from (TaskCheck(name, False, str(fault)) for fault in faults)
    if not faults:
        numbers = sum(len(each.numbers) for row in protocol.benchmarks.values() for each in row.reported)
        settings = len(protocol.settings) + sum(len(row.settings) for row in protocol.benchmarks.values())
        counts = ((len(protocol.benchmarks), "benchmark"), (settings, "setting"), (numbers, "reported number"))
        said = ", ".join(counted(count, noun) for count, noun in counts)
        yield TaskCheck(name, True, f"{said}; every prompt renders on the sample data")


def _faults(check: Callable[[], None]) -> list[MMEvalError]:
    try:
        check()
    except MMEvalError as error:
        return list(all_faults(error))
    return []


def _settings(protocol: Protocol, benchmark: Benchmark) -> None:
    """ConfigError for generation options, or a rule of frames, that are invalid."""
    settings = protocol.settings_of(benchmark)
    if "gen_kwargs" in settings:
        try:
            GenerationOptions.from_kwargs(settings["gen_kwargs"].value)
        except ConfigError as error:
            raise ConfigError(error.what, where=settings["gen_kwargs"].where, hint=error.hint) from error
    if FRAMES_KEY in settings:
        full_rule(settings[FRAMES_KEY].value, settings[FRAMES_KEY].where)


def _task(protocol: Protocol, benchmark: Benchmark, include_path: str | None) -> None:
    """ConfigError if the task is unknown, its prompt can't be built, or it lacks a metric that was reported."""
    request = RunRequest((benchmark.task,), sample=True, offline=True, include_path=include_path)
    request = request.with_options(protocol=protocol.name, **WITHOUT_JUDGE)
    try:
        loaded = load_configs(request)
    except ConfigError as error:
        raise ConfigError(error.what, where=error.where or benchmark.where, hint=error.hint) from error
    known = _metrics(loaded)
    for reported in benchmark.reported:
        for metric in reported.metrics:
            if metric not in known:
                what = f"{benchmark.task} gives no metric {metric!r}."
                raise ConfigError(what, where=reported.where, hint=did_you_mean(metric, known))
            if known[metric] not in (None, reported.direction):
                what = f"{metric} of {benchmark.task} is better when {known[metric]}, not when {reported.direction}."
                raise ConfigError(
                    what, where=reported.where, hint="`direction` says which way a reported number is better."
                )
    without = without_sample(loaded, request)
    for name in loaded.tasks:
        if name not in without:
            try:
                prepare_without_model(replace(request, tasks=(benchmark.task,)), name, loaded)
            except MMEvalError as error:
                raise ConfigError(f"{name}: {error}", where=benchmark.where) from error


def _metrics(loaded: Loaded) -> dict[str, str | None]:
    """{metric of the benchmark's tasks and groups: whether "higher" or "lower" is better, None where they do not state it}."""
    found = dict[str, str | None]()
    for group in loaded.groups.values():
        found |= {entry.metric: None for entry in group.aggregate_metric_list if entry.of}
    for config in loaded.tasks.values():
        found |= dict.fromkeys(config.metrics_of_judge)
        for metric in (each for pipeline in config.pipelines() for each in pipeline["metric_list"]):
            higher = metric.get("higher_is_better")
            found[str(metric["metric"])] = None if higher is None else "higher" if higher else "lower"
    return found
