"""Runs under named protocols: their verdicts, and the check of the protocols themselves."""

VERBS = {
    "protocols": (
        "verb",
        "named protocols of reports: settings with their provenance, and reported numbers; check them",
    ),
}
