"""What lmms-eval's task files and functions rely on: its habits, and its way to ask a judge."""

PACKAGE = "lmms_eval"
"""The name that lmms-eval is imported by."""
SUITES = (PACKAGE, "lm_eval")
"""The names of the suites whose task code runs here."""

RUNNERS = {"suites": "runner:RUNNER"}
