"""Reports with published numbers, as `mm-eval why` uses them. The feature that knows reports brings them (`REPORTS`)."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Protocol, cast

from mm_eval.open_tasks import OpenedTasks
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import Results


class Difference(Protocol):
    """A setting that the run does not have. name: of the setting, or of a generation option. ours, theirs: the values.

    said: in words. setting: what the report states, with its `name` and `value`; None where it states nothing.
    """

    @property
    def name(self) -> str: ...
    @property
    def ours(self) -> Any: ...
    @property
    def theirs(self) -> Any: ...
    @property
    def said(self) -> str: ...
    @property
    def setting(self) -> Any: ...


class Report(Protocol):
    """A report: its benchmarks by task, each with its numbers (`reported`, with our `metrics`), and their settings."""

    @property
    def name(self) -> str: ...
    @property
    def benchmarks(self) -> Mapping[str, object]: ...
    def benchmark_of(self, path: str) -> Any: ...
    def settings_of(self, benchmark: object) -> Mapping[str, object]: ...


class Reports(Protocol):
    """Where reports are found. SETTINGS: the names of all settings that a report may state."""

    @property
    def SETTINGS(self) -> Container[str]: ...
    def named_by(self, request: RunRequest) -> str | None: ...
    def protocol_of(self, request: RunRequest) -> Report | None: ...
    def with_settings(self, request: RunRequest, report: object, settings: Sequence[str]) -> RunRequest: ...
    def compared_with(self, request: RunRequest, name: str | None) -> RunRequest: ...
    def differences(self, opened: OpenedTasks, report: object, task: str) -> Sequence[Difference]: ...
    def protocol_results(self, opened: OpenedTasks, results: Results) -> Mapping[str, Any] | None: ...


def reports() -> Reports:
    """The reports of this installation. ConfigError without a feature that knows any."""
    from mm_eval.protocols import reported

    return cast(Reports, reported)
