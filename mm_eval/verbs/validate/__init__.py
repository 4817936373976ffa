"""The checks of tasks without a model."""
