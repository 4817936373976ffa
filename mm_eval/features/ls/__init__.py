"""What there is to evaluate with, listed and searched: nothing of it is imported or executed."""

VERBS = {
    "ls": ("verb", "list and search tasks, groups, tags, models, metrics, filters, scorers, formats"),
}
