"""Logs of other suites, read as streams of rows: lm-evaluation-harness, lmms-eval, VLMEvalKit, inspect_ai, and plain tables."""
