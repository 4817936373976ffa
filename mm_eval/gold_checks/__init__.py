"""Checks of a task against its own gold answers: before a run, and for `mm-eval validate`."""
