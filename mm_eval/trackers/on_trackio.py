"""Trackio: `pip install mm-eval[trackio]`. The arguments are those of `trackio.init`; runs in the process of a tracker."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from mm_eval.trackers.arguments import check_names
from mm_eval.trackers.tracked import Tracked
from mm_eval.values.errors import ConfigError

OURS = ("resume", "embed", "auto_log_gpu", "auto_log_cpu", "gpu_log_interval", "cpu_log_interval")
REMOTE = ("space_id", "server_url", "dataset_id", "bucket_id", "webhook_url")


def check(args: Mapping[str, object]) -> None:
    """ConfigError for an argument that `trackio.init` does not take."""
    import trackio

    check_names(args, trackio.init, OURS)


def send(tracked: Tracked, args: Mapping[str, Any]) -> str:
    """Logs numbers, table and page to the run of this folder. Returns where it is."""
    if tracked.offline and (remote := [name for name in REMOTE if args.get(name)]):
        raise ConfigError(f"--offline, and {remote[0]} names a server.", hint="Leave it out.")
    import trackio

    given = {"project": "mm-eval", "name": f"{tracked.name}-{tracked.key[:6]}", **args}
    given["config"] = {**dict(given.get("config") or {}), **tracked.config}
    run = trackio.init(**given, resume="allow", embed=False, auto_log_gpu=False, auto_log_cpu=False)
    rows = [["" if value is None else value for value in row] for row in tracked.rows]
    run.log({**tracked.numbers, "results": trackio.Table(columns=list(tracked.columns), data=rows)})
    for path in filter(None, (tracked.results, tracked.page)):
        _attach(path)
    finish: Callable[[], None] = run.finish
    finish()
    return f"trackio: run {given['name']!r} of the project {given['project']!r} (trackio show --project {given['project']})"


def _attach(path: str) -> None:
    """A file of the run: the page opens in a browser from there."""
    import trackio

    artifact = trackio.Artifact(os.path.basename(path).replace(".", "-"), type="evaluation")
    artifact.add_file(path)
    trackio.log_artifact(artifact)
