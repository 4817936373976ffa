"""Data sets copied for a machine without network."""

VERBS = {
    "bundle": ("verb", "copy the data sets of tasks to a data root, for a machine without network"),
}
