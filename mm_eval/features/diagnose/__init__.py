"""What went wrong in a run, with counts, examples, causes and commands."""

VERBS = {
    "diagnose": ("verb", "what went wrong in a run, with counts, examples and the command that mends it"),
}
