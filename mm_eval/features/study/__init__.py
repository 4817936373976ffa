"""Variants of a run, paired by document: prompts, other runs, the run without its pictures, one setting of a report at a time."""

import os
from collections.abc import Sequence
from typing import Any

from mm_eval.values.features import Option

_ENDING = (
    Option(
        "stop_when",
        "decided",
        "end the runs of a release (--config) when their comparisons are decided; the same command without it goes on",
        rule="options:ENDING",
    ),
    Option(
        "looks",
        "N",
        "after how many equal parts of the docs the comparisons are tested (default 20)",
        rule="options:LOOKS",
        default=20,
    ),
    Option(
        "alpha",
        "ALPHA",
        "false alarms that are allowed over all comparisons and looks together (default 0.05)",
        rule="options:ALPHA",
        default=0.05,
    ),
    Option(
        "margin",
        "POINTS",
        "a comparison also ends when the difference is surely within this margin, in the table's unit (default: none)",
        rule="ABOVE_0",
    ),
    Option(
        "until_interval",
        "POINTS",
        "end the run when half of the main number's interval is at most this, in the table's unit",
        rule="ABOVE_0",
    ),
)
"""Each launch states them: those of run.json are of the first one."""
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
OPTIONS = {
    "pairs": (
        (),
        Option(
            "pairs", "", "of a file of several models: all, or {reference: NAME}", rule="options:PAIRS", of_launch=True
        ),
        Option("linked", "", "what the runs of several models know of each other", rule=None, of_launch=True),
    ),
    "deciding": (
        ("run",),
        *(each._replace(of_launch=True) for each in _ENDING),
    ),
}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    """A launch without the options, too, where one with them may have left its looks."""
    if request is None:
        return False
    left = [f"{request.output_path}/{name}" for name in ("looks", "looks.json")] if request.output_path else [os.curdir]
    return bool(request.stop_when or request.until_interval) or any(map(os.path.lexists, left))


NEEDED = {"deciding": _needed}
