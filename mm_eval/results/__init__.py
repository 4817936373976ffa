"""Recorded runs as values, and what is done with them without a model."""
