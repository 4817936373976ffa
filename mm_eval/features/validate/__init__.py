"""The checks of tasks without a model."""

VERBS = {
    "validate": ("verb", "check task configs completely; the gold answers must score full marks"),
}
