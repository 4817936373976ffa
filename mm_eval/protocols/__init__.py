"""Runs under named protocols: their verdicts, and the check of the protocols themselves."""
