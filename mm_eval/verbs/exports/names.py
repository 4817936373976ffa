"""The model's name in files for other tools."""

from __future__ import annotations

import re

from mm_eval.results.recorded import RecordedRun

ON_THE_HUB = re.compile(r"(?P<owner>[\w-][\w.-]*)/[\w.-]+")


def full_name(run: RecordedRun) -> str:
    """The name in our tables, and before it the owner of a checkpoint of the hub, which other tools keep: "acme/tiny-vl"."""
    args = run.request.get("model_args") or {}
    match = ON_THE_HUB.fullmatch(str(args.get("pretrained") or args.get("model") or ""))
    if match is None or run.name or run.request.get("name"):
        return run.model
    return f"{match['owner']}/{run.model}"
