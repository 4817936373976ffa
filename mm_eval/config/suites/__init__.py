"""Task files of lmms-eval and lm-eval: what their keys, functions and groups rely on, read and never run."""

PACKAGE = "lmms_eval"
"""The name that lmms-eval is imported by."""
SUITES = (PACKAGE, "lm_eval")
"""The names of the suites whose task files are read."""
