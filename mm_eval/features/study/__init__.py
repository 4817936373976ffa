"""Variants of a run, paired by document: prompts, other runs, the run without its pictures, one setting of a report at a time."""

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
