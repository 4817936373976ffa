"""Task code of lmms-eval and lm-eval, in a process of its own: what its files and functions rely on."""

PACKAGE = "lmms_eval"
"""The name that lmms-eval is imported by."""
SUITES = (PACKAGE, "lm_eval")
"""The names of the suites whose task code runs here."""
