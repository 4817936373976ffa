"""A run folder whose answers another suite logged: what it holds beside a run's own answers."""
