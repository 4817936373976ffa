"""Variants of a run, paired by document: prompts, other runs, the run without its pictures, one setting of a report at a time."""

import os
from collections.abc import Sequence
from typing import Any

VERBS = {
    "blind": ("blind_verb", "how much the pictures matter: a run again without them, and with those of other docs"),
    "compare": ("compare_verb", "two runs or more, paired by doc: differences with intervals, and which docs flipped"),
    "plan": ("deciding.plan_verb", "how many docs a difference takes, and what a release can tell"),
    "prompts": (
        "prompts_verb",
        "which prompt suits a model: the same model under several prompt blocks, compared doc by doc",
    ),
    "why": ("why_verb", "which setting explains the difference between a run and the number of a report"),
}
RUN_PARTS = {"deciding": "deciding.run_part:DecidingPart"}
OPTIONS = {"deciding": "deciding.options"}
MARKS = {"deciding": "deciding.record:cell_mark"}
RELEASE_NOTES = {"deciding": "deciding.design:what_it_tells"}
TOGETHER = {"anytime": "deciding.live_page:compared"}
AGAINST = {"deciding": "deciding.against:against"}
LINKS = {"deciding": "deciding.lockstep:linked"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    """A launch without the options, too, where one with them may have left its looks."""
    if request is None:
        return False
    left = [f"{request.output_path}/{name}" for name in ("looks", "looks.json")] if request.output_path else [os.curdir]
    return bool(request.stop_when or request.until_interval) or any(map(os.path.lexists, left))


NEEDED = {"deciding": _needed}
