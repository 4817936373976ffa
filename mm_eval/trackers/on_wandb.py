"""Weights & Biases: `pip install mm-eval[wandb]`. The arguments are those of `wandb.init`; runs in the process of a tracker."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mm_eval.trackers.arguments import check_names
from mm_eval.trackers.tracked import Tracked

OURS = ("reinit", "resume", "id", "settings")
PAGE_LIMIT = 25 * 2**20
"""A larger page is only in the artifact: the site would not show it."""


def check(args: Mapping[str, object]) -> None:
    """ConfigError for an argument that `wandb.init` does not take."""
    import wandb

    check_names(args, wandb.init, OURS)


def send(tracked: Tracked, args: Mapping[str, Any]) -> str:
    """Logs numbers, table and page to the run of this folder. Returns where it is."""
    import wandb

    given = {"project": "mm-eval", "name": tracked.name, "job_type": "evaluation", **args}
    if tracked.offline:
        given["mode"] = "offline"
    given["config"] = {**dict(given.get("config") or {}), **tracked.config}
    run = wandb.init(**given, id=tracked.key, resume="allow")
    with run:
        run.log(dict(tracked.numbers))
        run.summary.update(dict(tracked.numbers))
        rows = [["" if value is None else str(value) for value in row] for row in tracked.rows]
        run.log({"results": wandb.Table(columns=list(tracked.columns), data=rows)})
        if tracked.page and os.path.getsize(tracked.page) <= PAGE_LIMIT:
            run.log({"report": wandb.Html(tracked.page)})
        artifact = wandb.Artifact(f"mm-eval-{tracked.key}", type="evaluation", metadata=dict(tracked.config))
        for path in filter(None, (tracked.results, tracked.page)):
            artifact.add_file(path)
        run.log_artifact(artifact)
        where = run.url or f"{run.dir.removesuffix('/files')} (wandb sync sends it)"
    return f"wandb: {where}"
