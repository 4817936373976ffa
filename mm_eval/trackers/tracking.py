"""The numbers of a run, sent to trackers."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mm_eval.request import RunRequest
from mm_eval.results.recorded import RecordedRun
from mm_eval.trackers.process import call
from mm_eval.trackers.tracked import Tracked
from mm_eval.values.errors import ConfigError, MMEvalError

_CHECKED: set[str] = set()
"""Trackers and arguments that were checked in this process: several models check once."""


@dataclass
class Tracking:
    """Sends the numbers of a run to each tracker of the request. A tracker that fails is a note; the results stand."""

    given: Mapping[str, Mapping[str, Any]]
    offline: bool
    include_path: str | None

    @classmethod
    def of(cls, request: RunRequest) -> Tracking | None:
        """The trackers of a request, packages and arguments checked; None without any. ConfigError says what to install."""
        stated = {
            "wandb": request.trackers.wandb,
            "mlflow": request.trackers.mlflow,
            "trackio": request.trackers.trackio,
        }
        given = {name: args for name, args in stated.items() if args is not None}
        for tracker, args in given.items():
            if importlib.util.find_spec(tracker) is None:
                what = f"the package {tracker} is not installed."
                raise ConfigError(what, where=f"--{tracker}_args", hint=f"Run: pip install 'mm-eval[{tracker}]'")
            if (checked := f"{tracker} {dict(args)}") not in _CHECKED:
                call(tracker, "check", args)
                _CHECKED.add(checked)
        return cls(given, request.offline, request.include_path) if given else None

    def send(self, folder: Path) -> list[str]:
        """Sends the values of the run; one note a tracker says where they are, or what failed and how to send them again."""
        try:
            tracked = Tracked.of(RecordedRun.read(folder, include_path=self.include_path), self.offline).to_json()
        except MMEvalError as error:
            return [f"nothing was sent to {', '.join(self.given)}: {error}"]
        return [self._sent(tracker, args, tracked, folder) for tracker, args in self.given.items()]

    def _sent(self, tracker: str, args: Mapping[str, object], tracked: Mapping[str, object], folder: Path) -> str:
        try:
            return call(tracker, "send", args, tracked)
        except MMEvalError as error:
            return f"{error} The results are kept; `mm-eval score {folder} --{tracker}_args ...` sends them again."
